// Input: a letter, then an ELF image, or one of Windows' form with .NET's tables ('f'; 'p': of which parts are read, and the rows of some of its pages made), or the bytes of .eh_frame ('e') or .debug_frame ('d') of an object with one segment ('E', 'D': of a 32-bit
// one). Out of it come rows and the kernel side's records: rows ascend and lie in a segment, and the kernel side's search finds in the records what a plain search finds in the rows.
#include <elf.h>
#include <sys/mman.h>
#include "rt_host.h"
#include "walk_files.h"
#include "unwind/internal.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static u32 plain_search(const struct UwTable *t, u64 off)
{
	u64 lo = 0, hi = t->rows.n;
	while (lo < hi) {
		u64 mid = (lo + hi) / 2;
		if (UW_ROW_OFF(t->rows.p[mid]) <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? UW_ROW_RULE(t->rows.p[lo - 1]) : 0;
}

// The page of each row as table.c makes it, asked at each row and on both sides of it.
static void check_records(const struct UwTable *t)
{
	static u8 val[RT_UW_VAL_SIZE];
	u32 carry = 0, pages = 0;
	for (size_t i = 0, end; i < t->rows.n && pages < 8; i = end, pages++) {
		u64 page = UW_ROW_OFF(t->rows.p[i]) >> RT_UW_PAGE_BITS, mask = (1 << RT_UW_PAGE_BITS) - 1;
		for (end = i; end < t->rows.n && UW_ROW_OFF(t->rows.p[end]) >> RT_UW_PAGE_BITS == page;)
			end++;
		u32 size = uwrec_build(t->rows.p + i, end - i, carry, val);
		check(size && size <= sizeof(val));
		for (size_t k = i; k < end && k < i + 256; k++) {
			u64 off = UW_ROW_OFF(t->rows.p[k]);
			for (u64 at = off - (off & mask ? 1 : 0); at <= off + 1; at++)
				check(at >> RT_UW_PAGE_BITS != page || record_search(val, 0, (u32)(at & mask)) == plain_search(t, at));
		}
		carry = UW_ROW_RULE(t->rows.p[end - 1]);
	}
}

static void check_rows(const struct UwTable *t, const struct ElfCfi *e, const struct RuleSet *rules)
{
	check(rules->v.n <= 512);
	for (size_t i = 0; i < t->rows.n; i++) {
		check(UW_ROW_RULE(t->rows.p[i]) < MAX(rules->v.n, 1));
		check(!i || UW_ROW_OFF(t->rows.p[i]) > UW_ROW_OFF(t->rows.p[i - 1]));
		bool inside = !UW_ROW_RULE(t->rows.p[i]); // the end of a range may be a segment's end
		for (size_t k = 0; k < e->segs.n; k++)
			inside |= UW_ROW_OFF(t->rows.p[i]) - e->segs.p[k].off < e->segs.p[k].size;
		check(inside);
	}
	check_records(t);
}

static struct err *read_part(const u8 *p, size_t n, struct ElfCfi *e)
{
	int fd = memfd_create("image", MFD_CLOEXEC);
	check(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	struct err *bad = elfcfi_read_part(fd, e);
	if (bad)
		close(fd);
	return bad;
}

static bool read_image(void *f, u64 at, void *buf, u64 n)
{
	return elffile_read(f, at, buf, n);
}

static void check_names(struct ElfFile *f)
{
	const struct PeBytes b = {read_image, f, 0};
	PeFunctions v = {0};
	u64 addr;
	u32 size;
	pe_exports(f, &v);
	for (size_t i = 0; i < v.n; i++)
		free(v.p[i].name);
	v.n = 0;
	r2r_functions(f, &v);
	for (size_t i = 0; i < v.n; i++) {
		check(v.p[i].size && *v.p[i].name && (!i || v.p[i].addr >= v.p[i - 1].addr));
		free(v.p[i].name);
	}
	vec_deinit(&v);
	pe_metadata(&b, &addr, &size);
}

static void check_parts(const struct ElfCfi *e, struct RuleSet *rules)
{
	u32 pages[2] = {e->segs.n ? (u32)(e->segs.p[0].off >> RT_UW_PAGE_BITS) : 0};
	struct UwTable t;
	pages[1] = pages[0] + 2;
	uwtable_part(e, rules, pages, 2, &t);
	check_rows(&t, e, rules);
	uwtable_deinit(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ElfCfi e = {.machine = EM_X86_64};
	static struct RuleSet rules;
	struct UwTable t = {0};

	if (!size)
		return 0;
	char kind = (char)*data++;
	size--;
	u8 *copy = xmalloc(size + 1); // exact but for the empty one, so that the sanitizer sees one byte too many
	memcpy(copy, data, size);
	if (kind == 'f' || kind == 'p') {
		struct err *bad = kind == 'f' ? elfcfi_read_mem(copy, size, &e) : read_part(copy, size, &e);
		if (bad) {
			free(copy);
			err_free(bad);
			return 0;
		}
	} else {
		if (kind == 'E' || kind == 'D') {
			e.machine = EM_386;
			kind |= 32;
		}
		struct CfiSeg seg = {0, 1ull << 32, 0};
		vec_push(&e.segs, seg);
		*(kind == 'd' ? &e.debug_frame : &e.eh_frame) = (struct CfiSec){.data = copy, .size = size, .vaddr = 0x300000};
	}
	if (kind == 'f' && e.file.is_pe)
		check_names(&e.file);
	struct V8Blob v8 = {0};
	if (kind == 'f' && v8blob_find(&e.file, &v8))
		vec_deinit(&v8.starts);
	ruleset_init(&rules, 512);
	if (kind == 'p')
		check_parts(&e, &rules);
	uwtable_build(&e, &rules, &t, NULL);
	check_rows(&t, &e, &rules);
	uwtable_deinit(&t);
	ruleset_deinit(&rules);
	int fd = e.file.fd;
	elfcfi_deinit(&e); // frees the sections
	if (kind == 'f' || kind == 'p')
		free(copy); // uwtable_build reads code from it
	if (kind == 'p')
		close(fd);
	return 0;
}
