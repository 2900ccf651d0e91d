// .NET: files and processes (clr_fix.h).
#include <elf.h>
#include <unistd.h>
#include "clr_fix.h"
#include "elf/elf.h"
#include "t.h"
#include "track/internal.h"

TEST(names_of_methods)
{
	struct ClrMeta m;
	make(0x20b);
	CHECK(clrmeta_open(&m, section(META), 0x300));
	static const char *const want[] = {"My.Space.Outer`1.First", "My.Space.Outer`1.Second", "My.Space.Outer`1.Inner.Third", "My.Space.Outer`1.Inner..ctor"};
	for (u32 i = 0; i < 4; i++) {
		struct Str name = {0};
		CHECK(clrmeta_method(&m, i + 1, &name));
		CHECK_STR(str_text(&name), want[i]);
		str_deinit(&name);
	}
	struct Str none = {0};
	CHECK(!clrmeta_method(&m, 0, &none) && !clrmeta_method(&m, 5, &none) && !none.n);
	str_deinit(&none);
	for (u64 n = 0; n < 0x300; n++) // cut short anywhere
		if (clrmeta_open(&m, section(META), n)) {
			struct Str name = {0};
			clrmeta_method(&m, 3, &name);
			str_deinit(&name);
		}
}

TEST(compiled_ahead)
{
	struct ElfFile f;
	PeFunctions v = {0};
	make(0x20b);
	CHECK(!elffile_open(&f, -1, file, sizeof(file)));
	CHECK(f.is_pe && f.machine == EM_X86_64 && f.nsegs == 1 && f.segs[0].vaddr == RVA && f.segs[0].off == OFF && f.segs[0].flags == (PF_R | PF_X));
	r2r_functions(&f, &v);
	static const struct {
		u32 at, size;
		const char *name;
	} want[] = {{0, 64 + 50, "My.Space.Outer`1.Second"}, {128, 50, "My.Space.Outer`1.First"}, {192, 50, "My.Space.Outer`1.Inner.Third"}};
	CHECK_EQ(v.n, ARRAY_LEN(want));
	for (size_t i = 0; i < v.n && i < ARRAY_LEN(want); i++) {
		CHECK_EQ(v.p[i].addr, RVA + 0x800 + want[i].at);
		CHECK_EQ(v.p[i].size, want[i].size);
		CHECK_STR(v.p[i].name, want[i].name);
		free(v.p[i].name);
	}
	vec_deinit(&v);
	elffile_close(&f);
}

TEST(exported)
{
	struct ElfFile f;
	PeFunctions v = {0};
	make(0x20b);
	CHECK(!elffile_open(&f, -1, file, sizeof(file)));
	pe_exports(&f, &v);
	CHECK_EQ(v.n, 1);
	if (v.n == 1) {
		CHECK_EQ(v.p[0].addr, RVA + 0x880);
		CHECK_EQ(v.p[0].size, 50);
		CHECK_STR(v.p[0].name, "Large");
	}
	for (size_t i = 0; i < v.n; i++)
		free(v.p[i].name);
	vec_deinit(&v);
	elffile_close(&f);
}

static bool read_image(void *arg, u64 at, void *buf, u64 n)
{
	bool mapped = *(bool *)arg;
	if (mapped && at >= RVA)
		at = at - RVA + OFF;
	if (at > sizeof(file) || n > sizeof(file) - at)
		return false;
	memcpy(buf, file + at, n);
	return true;
}

TEST(images_in_memory)
{
	for (u32 i = 0; i < 4; i++) { // as the file, or section by section; of the form without 64-bit addresses, too
		bool mapped = i & 1;
		const struct PeBytes b = {read_image, &mapped, 0};
		u64 addr = 0;
		u32 size = 0;
		make(i & 2 ? 0x10b : 0x20b);
		CHECK(pe_metadata(&b, &addr, &size));
		CHECK_EQ(addr, mapped ? RVA + META : OFF + META);
		CHECK_EQ(size, 0x300);
	}
}

TEST(structures_by_their_text)
{
	u32 v[5];
	CHECK(clrnames_shape_of("{\"types\":{\"Module\":{\"Assembly\":248,\"Base\":224},\"MethodTable\":{\"!\":64,\"Module\":24},\"MethodDesc\":{\"!\":16,\"ChunkIndex\":[2,\"uint8\"]},"
			       "\"MethodDescChunk\":{\"!\":24,\"FlagsAndTokenRange\":18}}}", v));
	CHECK(v[0] == 2 && v[1] == 24 && v[2] == 18 && v[3] == 24 && v[4] == 224);
	CHECK(!clrnames_shape_of("{\"types\":{\"Module\":{\"Assembly\":248},\"Other\":{\"Base\":224},\"MethodTable\":{\"Module\":24},\"MethodDesc\":{\"ChunkIndex\":2},"
				"\"MethodDescChunk\":{\"!\":24,\"FlagsAndTokenRange\":18}}}", v)); // Base of another type
	CHECK(!clrnames_shape_of("", v));
}

// ---- code compiled at run time
#define A 0x40u
#define B 0x1d4u

static u32 found(struct Jit *t, const char *name, u64 at, u32 rows)
{
	struct Pieces v = {0};
	usleep(5000); // looks are apart
	clrcode_find(t, &v);
	u32 n = (u32)v.syms.n;
	if (n == 1) {
		CHECK_STR(v.syms.p[0].name, name);
		CHECK_EQ(v.syms.p[0].addr, at);
		CHECK_EQ(v.made.p[0]->rows.n, rows);
	}
	for (size_t i = 0; i < v.syms.n; i++) {
		free((char *)v.syms.p[i].name);
		uwmade_free(v.made.p[i]);
	}
	vec_deinit(&v.syms);
	vec_deinit(&v.made);
	return n;
}

TEST(compiled_at_run_time)
{
	run_time(0x1c0);
	struct Jit t = {.tgid = getpid(), .clr = clrcode_create(getpid(), (u64)clr.table, (u64)&clr.contract)};
	CHECK_EQ(found(&t, "", 0, 0), 0);
	compile(0, A, 1);
	CHECK_EQ(found(&t, "", 0, 0), 0); // the map tells of it, and nothing is written before it yet
	begins(A, (u64)&clr.header[0]);
	CHECK_EQ(found(&t, "My.Space.Outer`1.Second", (u64)code + A, 4), 1);
	CHECK_EQ(found(&t, "", 0, 0), 0);
	compile(1, B, 2);
	begins(B, (u64)&clr.header[1]);
	CHECK_EQ(found(&t, "", 0, 0), 0); // it lies behind what was the heap's end a moment ago
	clr.heap.end = (u64)code + 0x400;
	CHECK_EQ(found(&t, "My.Space.Outer`1.Inner.Third", (u64)code + B, 4), 1);
	compile(2, 0x300, 1);
	begins(0x300, 6); // no method: what jumps to some
	CHECK_EQ(found(&t, "dotnet-stub", (u64)code + 0x300, 4), 1);
	CHECK_EQ(t.maps.n, 0);
	clr.map[0] &= ~bit(A); // it was dropped
	CHECK_EQ(found(&t, "", 0, 0), 0);
	CHECK_EQ(t.maps.n, 1);
	CHECK(t.maps.n == 1 && t.maps.p[0].start == (u64)code + A && t.maps.p[0].end == (u64)code + B - 8 && !t.maps.p[0].obj);
	clrcode_destroy(t.clr);
	vec_deinit(&t.maps);
}

// A list of heaps that never ends: each look sees others, whose places were used again. What is kept of them is bounded.
TEST(list_of_heaps_without_end)
{
	enum { NODES = 4100, LOOKS = 6 };
	run_time(0x1c0);
	__typeof__(clr.heap) *nodes = xcalloc(NODES, sizeof(*nodes));
	struct Jit t = {.tgid = getpid(), .clr = clrcode_create(getpid(), (u64)clr.table, (u64)&clr.contract)};
	size_t most = 0;
	for (u64 look = 0; look < LOOKS; look++) {
		for (u32 i = 0; i < NODES; i++) {
			nodes[i] = clr.heap;
			nodes[i].next = (u64)&nodes[(i + 1) % NODES];
			nodes[i].map += 4 * (look % 8);
		}
		clr.manages[2] = (u64)nodes;
		usleep(look ? 1000000 : 0); // a long list is looked at less often
		CHECK_EQ(found(&t, "", 0, 0), 0);
		most = MAX(most, clrcode_heaps(t.clr));
	}
	CHECK(most >= 4096 && most <= 2 * 4096);
	clrcode_destroy(t.clr);
	vec_deinit(&t.maps);
	free(nodes);
}

// Two methods four bytes apart, as a map can say: the first one's piece has no room.
TEST(methods_too_close)
{
	run_time(0x1c0);
	struct Jit t = {.tgid = getpid(), .clr = clrcode_create(getpid(), (u64)clr.table, (u64)&clr.contract)};
	clr.map[0] = 8u << (28 - 4 * 2) | 1u << (28 - 4 * 3);
	begins(0x5c, 6);
	begins(0x60, 0);
	CHECK_EQ(found(&t, "", 0, 0), 0);
	clrcode_destroy(t.clr);
	vec_deinit(&t.maps);
}

T_MAIN()
