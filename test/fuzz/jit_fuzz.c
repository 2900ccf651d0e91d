// Input: a letter, then what a process tells of the code it has made: 'e' an ELF file of GDB's JIT interface, 'b' Erlang's form of one, 'j' a jitdump, 'l' memory with the interface's list, 'w' a module of WebAssembly, 'c' code
// that V8 made of a function of one. What is
// made of it is in order: ranges apart and ascending, functions in them, rows in their object, names of the place asked for; lists end.
#include <fcntl.h>
#include <sys/mman.h>
#include "sym/internal.h"
#include "track/internal.h"
#include "unwind/unwind.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

struct Bytes {
	const u8 *p;
	size_t n;
};

static bool read_bytes(void *arg, u64 addr, void *buf, size_t n)
{
	const struct Bytes *b = arg;
	if (addr > b->n || n > b->n - addr)
		return false;
	memcpy(buf, b->p + addr, n);
	return true;
}

static void rows(const struct ElfCfi *cfi, u64 span)
{
	static struct RuleSet rules;
	struct UwTable t;
	ruleset_init(&rules, 512);
	uwtable_build(cfi, &rules, &t, NULL);
	for (size_t i = 0; i < t.rows.n; i++) {
		check(!i || UW_ROW_OFF(t.rows.p[i]) > UW_ROW_OFF(t.rows.p[i - 1]));
		check(UW_ROW_OFF(t.rows.p[i]) <= span && UW_ROW_RULE(t.rows.p[i]) < rules.v.n);
	}
	uwtable_deinit(&t);
	ruleset_deinit(&rules);
}

static void in_order(struct JitElf *e)
{
	u64 end = 0, base = e->cfi.segs.p[0].vaddr;
	size_t k = 0;
	for (size_t i = 0; i < e->cfi.segs.n; i++) {
		struct CfiSeg *s = &e->cfi.segs.p[i];
		check(s->vaddr >= end && s->size);
		end = s->vaddr + s->size;
		s->off = s->vaddr - base;
	}
	for (size_t i = 0; i < e->syms.n; i++) {
		const struct MadeSym *y = &e->syms.p[i];
		check(strlen(y->name) <= e->names_size + 64 && (!i || y->addr >= e->syms.p[i - 1].addr));
		while (k < e->cfi.segs.n && e->cfi.segs.p[k].vaddr + e->cfi.segs.p[k].size <= y->addr)
			k++;
		check(k < e->cfi.segs.n && y->addr >= e->cfi.segs.p[k].vaddr && y->size && y->addr + y->size <= e->cfi.segs.p[k].vaddr + e->cfi.segs.p[k].size);
	}
	for (size_t i = 0; i < e->lines.n; i++) {
		const struct MadeLine *l = &e->lines.p[i];
		check(i + 1 < e->lines.n ? !l->file || l[1].addr >= l->addr : !l->file);
		check(!l->file || (strlen(l->file) < 65536 && l->line));
	}
	if (end - base < 1ull << 40)
		rows(&e->cfi, end - base);
}

static void elf(const u8 *p, size_t n)
{
	struct Bytes b = {p, n};
	struct JitMemory m = {read_bytes, &b};
	struct JitElf e;
	if (gdbjit_parse(p, n, &m, &e))
		in_order(&e);
	gdbjit_free(&e);
	struct ElfFile f;
	struct err *bad = elffile_open(&f, -1, p, n);
	if (!bad) {
		u64 places[JIT_HIDDEN];
		gdbjit_descriptor(&f);
		check(jithidden_places(&f, places) <= JIT_HIDDEN);
		elffile_close(&f);
	}
	err_free(bad);
}

static void beam(const u8 *p, size_t n)
{
	struct JitElf e;
	u32 stop = n & 0xff;
	if (beamjit_parse(p, n, stop, &e))
		in_order(&e);
	gdbjit_free(&e);
}

static void dump(const u8 *p, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct Map names = {0};
	struct SymHit h;
	if (fd < 0 || write(fd, p, n / 2) != (ssize_t)(n / 2))
		abort();
	struct JitDump *d = jitdump_from_fd(fd);
	u32 before = jitdump_read(d);
	if (write(fd, p + n / 2, n - n / 2) != (ssize_t)(n - n / 2))
		abort();
	u32 all = jitdump_read(d);
	check(all >= before);
	for (u32 i = 0; i < MIN(all, 64u); i++) {
		struct JitCode c = *jitdump_code(d, i);
		check(c.start < c.end && c.name + c.name_len <= n && c.unwind + c.unwind_size <= n && c.unwind_hdr <= c.unwind_size);
		free(jitdump_name(d, i));
		free(jitdump_unwind(d, i));
		u64 at[] = {c.start, c.end - 1, (c.start + c.end) / 2};
		for (u32 k = 0; k < ARRAY_LEN(at); k++)
			check(jitdump_lookup(d, &names, at[k], true, &h) && h.start <= at[k] && at[k] - h.start < h.size && h.off == at[k] - h.start);
	}
	jitdump_destroy(d);
	map_deinit(&names);
	close(fd);
}

static void list(const u8 *p, size_t n)
{
	struct Bytes b = {p, n};
	struct JitMemory m = {read_bytes, &b};
	struct JitEntry out[16];
	u64 first;
	if (jithidden_begins(&m, 0))
		check(n >= RT_JIT_HEAD + RT_JIT_ENTRY);
	if (gdbjit_version(&m, 0, 1, &first))
		check(gdbjit_list(&m, first, out, ARRAY_LEN(out)) <= ARRAY_LEN(out));
}

static void wasm(const u8 *p, size_t n)
{
	struct WasmModule m;
	if (wasmmodule_parse(p, n, &m)) {
		check(m.nfuncs <= n && m.nimports <= n);
		for (u32 i = 0; i < m.nimports + m.nfuncs; i++)
			check(!m.names[i].n || ((const u8 *)m.names[i].p >= p && m.names[i].n <= n - (size_t)((const u8 *)m.names[i].p - p)));
	}
	wasmmodule_free(&m);
}

static void code(const u8 *p, size_t n)
{
	UwCodeRows v = {0};
	uwcode_rows(p, n, &v);
	check(!n == !v.n || v.n <= n);
	for (size_t i = 0; i < v.n; i++)
		check(v.p[i].off < n && (!i || v.p[i].off > v.p[i - 1].off) && !(v.p[i].rule.saved & ~1u));
	vec_deinit(&v);
	if (n >= 64)
		wasmmem_is_table(p, 64, 0x10000, 0x10000 + n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	char kind = (char)*data++;
	size--;
	u8 *copy = xmalloc(size + !size); // exact, so that the sanitizer sees one byte too many
	memcpy(copy, data, size);
	if (kind == 'e')
		elf(copy, size);
	else if (kind == 'b')
		beam(copy, size);
	else if (kind == 'j')
		dump(copy, size);
	else if (kind == 'l')
		list(copy, size);
	else if (kind == 'w')
		wasm(copy, size);
	else if (kind == 'c')
		code(copy, size);
	free(copy);
	return 0;
}
