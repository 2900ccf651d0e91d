// Symbols: what loading and looking up costs. Prints one line per object: symbols file, load ms, ns for each random look-up (after the
// names that will be hit were read once), and for the kernel.  usage: sym_bench [FILE...]
//        sym_bench --addresses FILE      100,000 random addresses of its functions, a line each, as others' tools take them
#include <time.h>
#include "sym/sym.h"

#define LOOKUPS 100000

// Of our own CPU time: other programs' load does not count.
static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

struct Funcs {
	u64 *off, *addr; // in the file; as its headers have it
	u32 n, cap;
};

static bool add(void *arg, const struct SymDef *d)
{
	struct Funcs *f = arg;
	if (!d->is_func || !d->size)
		return true;
	if (f->n == f->cap) {
		f->cap = f->cap ? f->cap * 2 : 1024;
		f->off = xrealloc(f->off, f->cap * sizeof(*f->off));
		f->addr = xrealloc(f->addr, f->cap * sizeof(*f->addr));
	}
	f->addr[f->n] = d->addr + d->size / 2;
	f->off[f->n++] = d->file_off + d->size / 2;
	return true;
}

static u64 rss_kb(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long size, rss = 0;
	if (f && fscanf(f, "%lu %lu", &size, &rss) != 2)
		rss = 0;
	if (f)
		fclose(f);
	return rss * 4;
}

static void bench_object(const char *path)
{
	struct Syms *names = syms_create(NULL), *s = syms_create(NULL);
	struct SymObject *o = sym_object_path(names, path);
	struct Funcs f = {0};
	struct err *e = o ? sym_object_each(names, o, add, &f) : err_new("cannot open %s", path);
	if (e || !f.n) {
		printf("%-48s %s\n", path, e ? err_text(e) : "no functions");
		err_free(e);
		return;
	}
	u64 *at = xmalloc(LOOKUPS * sizeof(*at));
	srandom(1);
	for (u32 i = 0; i < LOOKUPS; i++)
		at[i] = f.off[random() % f.n];
	syms_destroy(names);
	o = sym_object_path(s, path);
	u64 rss = rss_kb();
	double t0 = now_ms();
	sym_object_off(s, o, at[0]);
	double t1 = now_ms();
	u64 load_rss = rss_kb();
	for (u32 i = 0; i < LOOKUPS; i++)
		sym_object_off(s, o, at[i]);
	double t2 = now_ms();
	u32 hits = 0;
	for (u32 i = 0; i < LOOKUPS; i++)
		hits += sym_object_off(s, o, at[i]).name != NULL;
	double t3 = now_ms();
	printf("%-48s %7u functions  load %6.2f ms %5lu KB  first look-ups %5.0f ns  look-up %5.0f ns  resolved %.2f %%\n", path, f.n,
	       t1 - t0, (unsigned long)(load_rss - rss), (t2 - t1) * 1e6 / LOOKUPS, (t3 - t2) * 1e6 / LOOKUPS, hits * 100.0 / LOOKUPS);
	free(at);
	free(f.off);
	free(f.addr);
	syms_destroy(s);
}

static int print_addresses(const char *path)
{
	struct Syms *s = syms_create(NULL);
	struct SymObject *o = sym_object_path(s, path);
	struct Funcs f = {0};
	struct err *e = o ? sym_object_each(s, o, add, &f) : err_new("cannot open %s", path);
	if (!e && !f.n)
		e = err_new("%s: no functions", path);
	if (e)
		fprintf(stderr, "%s\n", err_text(e));
	srandom(1);
	for (u32 i = 0; !e && i < LOOKUPS; i++)
		printf("0x%llx\n", (unsigned long long)f.addr[random() % f.n]);
	free(f.off);
	free(f.addr);
	syms_destroy(s);
	int status = e != NULL;
	err_free(e);
	return status;
}

static void bench_kernel(void)
{
	struct Syms *s = syms_create(NULL);
	u64 addr = 0, base = 0, end = 0;
	double t0 = now_ms();
	bool ok = sym_kernel_addr(s, "vfs_read", NULL, &addr);
	double t1 = now_ms();
	sym_kernel(s, addr);
	double t2 = now_ms();
	if (!ok || !sym_kernel_addr(s, "_stext", NULL, &base) || !sym_kernel_addr(s, "_etext", NULL, &end) || end <= base) {
		printf("kernel: %s\n", sym_kernel_why(s) ? sym_kernel_why(s) : "no _stext");
		syms_destroy(s);
		return;
	}
	srandom(1);
	u32 hits = 0;
	double t3 = now_ms();
	for (u32 i = 0; i < LOOKUPS; i++)
		hits += sym_kernel(s, base + (u64)random() % (end - base)).name != NULL;
	double t4 = now_ms();
	printf("%-48s one name %6.2f ms  load %6.2f ms  look-up %5.0f ns  resolved %.2f %%\n", "kernel", t1 - t0, t2 - t1,
	       (t4 - t3) * 1e6 / LOOKUPS, hits * 100.0 / LOOKUPS);
	syms_destroy(s);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = {"/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/python3.11", "/usr/bin/node",
					    "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"};
	if (argc == 3 && !strcmp(argv[1], "--addresses"))
		return print_addresses(argv[2]);
	bench_kernel();
	for (int i = 1; i < argc; i++)
		bench_object(argv[i]);
	for (u32 i = 0; argc == 1 && i < ARRAY_LEN(usual); i++)
		if (!access(usual[i], R_OK))
			bench_object(usual[i]);
	struct Syms *s = syms_create(NULL);
	struct ProcMap *m;
	u32 n;
	double t0 = now_ms();
	struct err *e = sym_proc_maps(s, getpid(), &m, &n);
	double t1 = now_ms();
	free(e ? NULL : m);
	err_free(e);
	e = sym_proc_maps(s, getpid(), &m, &n);
	double t2 = now_ms();
	printf("%-48s %u mappings: first %.3f ms, again %.3f ms\n", "mappings of a process", n, t1 - t0, t2 - t1);
	free(e ? NULL : m);
	err_free(e);
	syms_destroy(s);
	return 0;
}
