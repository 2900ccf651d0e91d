// Input: what is changed in the memory of a .NET process: its lists of heaps, maps of code, headers, metadata. The walker ends, with pieces that have names of some
// length and whose rows go up, and reads nothing that is not there.
#include <unistd.h>
#include "clr_fix.h"
#include "cursor.h"
#include "elf/elf.h"
#include "t.h"
#include "track/internal.h"

static const struct {
	void *at;
	u32 size;
} places[] = {{&clr, sizeof(clr)}, {code, sizeof(code)}, {file, sizeof(file)}, {&clr.heap, sizeof(clr.heap)}, {clr.map, sizeof(clr.map)}, {clr.header, sizeof(clr.header)}, {&clr.chunk, sizeof(clr.chunk)}, {file + OFF + META, 0x300}};

static void change(struct Input *in)
{
	u32 op = (u32)take(in, 1), k = op % ARRAY_LEN(places), to = (u32)take(in, 2) % places[k].size, n = 1u << (op >> 3 & 3);
	u64 v;
	if (op & 0x80) { // an address of one of them
		u32 other = (u32)take(in, 1) % ARRAY_LEN(places);
		v = (u64)places[other].at + take(in, 2) % places[other].size;
		n = 8;
	} else
		v = take(in, n);
	memcpy((u8 *)places[k].at + to, &v, MIN(n, places[k].size - to));
}

static void look(struct Jit *t)
{
	struct Pieces v = {0};
	clrcode_find(t, &v);
	check(v.syms.n == v.made.n);
	for (size_t i = 0; i < v.syms.n; i++) {
		const char *name = v.syms.p[i].name;
		check(*name && strlen(name) < 65536);
		for (size_t k = 1; k < v.made.p[i]->rows.n; k++)
			check(v.made.p[i]->rows.p[k - 1].off <= v.made.p[i]->rows.p[k].off);
		free((char *)name);
		uwmade_free(v.made.p[i]);
	}
	vec_deinit(&v.syms);
	vec_deinit(&v.made);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct Input in = {data, data + size};
	bool contract = take(&in, 1) & 1;
	run_time(0x400);
	for (u32 i = 0; i < 3; i++) {
		compile(i, 0x40 + i * 0x60, 1 + i % 2);
		begins(0x40 + i * 0x60, (u64)&clr.header[i]);
	}
	struct Jit t = {.tgid = getpid(), .clr = clrcode_create(getpid(), (u64)clr.table, contract ? (u64)&clr.contract : 0)};
	for (u32 looks = 0; looks < 2; looks++) {
		for (u32 i = (u32)take(&in, 1) % 16; i; i--)
			change(&in);
		look(&t);
		if (in.p < in.end)
			usleep(1100); // looks are apart
	}
	clrcode_destroy(t.clr);
	vec_deinit(&t.maps);
	return 0;
}
