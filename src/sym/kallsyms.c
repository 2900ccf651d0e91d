// Kernel symbols. Input: /proc/kallsyms, lines of "ADDRESS TYPE NAME[\t[MODULE]]": vmlinux ascending by address, then modules, ftrace and
// BPF. Output: a sorted index for look-ups by address; a streaming scan for a few look-ups by name. Invariant: names of look-ups are copies that live as long
// as Syms; those that sym_kernel_each() tells stay valid until kallsyms_trim or kallsyms_destroy: a reload keeps the old text.
//
// Reading the file whole costs the kernel 30-60 ms (it unpacks every name), so nothing is read before the first question that the kernel does not answer
// by itself (kernask.c), the first two questions by name stop at the line they look for, and only then the index is built.
#include "base/base.h"
#include <errno.h>
#include <fcntl.h>
#include "sym/internal.h"

struct Ksym {
	u64 addr;
	u32 name; // in Kallsyms.text
	u16 module;
	char type;
};

struct Kallsyms {
	struct Ksym *syms; // by address; equal addresses in the file's order
	u32 n;
	struct Str text;     // names, NUL-terminated
	VEC(char *) old;     // texts of earlier loads
	VEC(char *) modules; // [0] is vmlinux
	u32 last_module;     // of the line before: modules come in runs
	bool loaded, dropped; // it is there; it was, and is read again only for what the kernel does not answer
	u32 streamed;		    // questions by name answered without the index
	u64 reload_at, reload_wait; // ns: when an unknown address may cause the next reload
	char *why;
	struct SymHit last; // stacks repeat
	u64 last_end;
};

struct KLine {
	u64 addr;
	char type;
	const char *name, *module; // not terminated; module NULL: vmlinux
	u32 name_len, module_len;
};

static bool parse_line(const char *p, const char *end, struct KLine *l)
{
	u64 v = 0;
	const char *s = p;
	for (; s < end && *s != ' '; s++) {
		unsigned c = (unsigned char)*s, d = c - '0';
		if (d > 9) {
			d = (c | 32) - 'a' + 10;
			if (d < 10 || d > 15)
				return false;
		}
		v = v << 4 | d;
	}
	if (s == p || end - s < 4 || s[2] != ' ')
		return false;
	l->addr = v;
	l->type = s[1];
	l->name = s + 3;
	const char *tab = memchr(l->name, '\t', end - l->name);
	const char *name_end = tab ? tab : end;
	l->name_len = name_end - l->name;
	l->module = NULL;
	l->module_len = 0;
	if (tab && end - tab >= 4 && tab[1] == '[' && end[-1] == ']') {
		l->module = tab + 2;
		l->module_len = end - 1 - l->module;
	}
	return l->name_len > 0 && strncmp(l->name, ".L", 2); // labels of the assembler, which modules of riscv64 have by the thousand (".L0 "), are no functions
}

// Calls fn for each line; false stops.
static struct err *scan(bool (*fn)(void *, const struct KLine *), void *arg)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(errno, "cannot open /proc/kallsyms");
	size_t cap = 256 << 10, have = 0;
	char *buf = xmalloc(cap);
	struct err *e = NULL;
	bool more = true;
	while (more) {
		ssize_t got = read(fd, buf + have, cap - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			e = err_errno(errno, "cannot read /proc/kallsyms");
		if (got <= 0)
			break;
		have += got;
		char *p = buf, *end = buf + have, *nl;
		for (; more && (nl = memchr(p, '\n', end - p)); p = nl + 1) {
			struct KLine l;
			if (parse_line(p, nl, &l))
				more = fn(arg, &l);
		}
		have = end - p;
		memmove(buf, p, have);
		if (have == cap) // a line of 256 KB is none of the kernel's
			have = 0;
	}
	free(buf);
	close(fd);
	return e;
}

static bool is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static u16 module_id(struct Kallsyms *k, const char *m, u32 len)
{
	if (!k->modules.n)
		vec_push(&k->modules, xstrdup(""));
	if (!m)
		return 0;
	if (k->last_module && strlen(k->modules.p[k->last_module]) == len && !memcmp(k->modules.p[k->last_module], m, len))
		return k->last_module;
	for (u32 i = 1; i < k->modules.n; i++)
		if (strlen(k->modules.p[i]) == len && !memcmp(k->modules.p[i], m, len))
			return k->last_module = i;
	if (k->modules.n > UINT16_MAX)
		return 0;
	vec_push(&k->modules, xasprintf("%.*s", (int)len, m));
	return k->last_module = k->modules.n - 1;
}

struct Load {
	struct Kallsyms *k;
	VEC(struct Ksym) v;
	bool nonzero;
};

static bool load_line(void *arg, const struct KLine *l)
{
	struct Load *ld = arg;
	struct Kallsyms *k = ld->k;
	ld->nonzero |= l->addr != 0;
	if (!l->addr)
		return true;
	vec_push(&ld->v, ((struct Ksym){l->addr, k->text.n, module_id(k, l->module, l->module_len), l->type}));
	str_addn(&k->text, l->name, l->name_len);
	str_addc(&k->text, 0);
	return true;
}

static int by_addr(const void *a, const void *b)
{
	const struct Ksym *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

// vmlinux (most lines) comes sorted: only the tail from the first descent on is sorted, then both are merged.
static void sort(struct Ksym *v, u32 n)
{
	u32 m = 1;
	while (m < n && v[m - 1].addr <= v[m].addr)
		m++;
	if (m >= n)
		return;
	qsort(v + m, n - m, sizeof(*v), by_addr);
	struct Ksym *tail = xmalloc((n - m) * sizeof(*v));
	memcpy(tail, v + m, (n - m) * sizeof(*v));
	for (u32 i = m, j = n - m, o = n; j;)
		v[--o] = i && by_addr(&v[i - 1], &tail[j - 1]) > 0 ? v[--i] : tail[--j];
	free(tail);
}

static void set_why(struct Kallsyms *k, char *why)
{
	free(k->why);
	k->why = why;
}

static void load(struct Kallsyms *k)
{
	struct Load ld = {.k = k};
	if (k->text.p)
		vec_push(&k->old, k->text.p);
	k->text = (struct Str){0};
	struct err *e = scan(load_line, &ld);
	sort(ld.v.p, ld.v.n);
	free(k->syms);
	k->syms = ld.v.p;
	k->n = ld.v.n;
	k->last = (struct SymHit){0};
	k->last_end = 0;
	if (e)
		set_why(k, xstrdup(err_text(e)));
	else if (!ld.nonzero)
		set_why(k, xasprintf("kernel addresses are hidden, so some kernel frames may have no name: /proc/kallsyms shows only zeros%s",
				     cap_have(CAP_SYSLOG_BIT) ? " (/proc/sys/kernel/kptr_restrict must be 0 or 1)" : cap_lacking(CAP_SYSLOG_BIT)));
	else
		set_why(k, NULL);
	err_free(e);
	k->loaded = true;
	k->reload_wait = k->reload_wait ? k->reload_wait * 2 : 1000000000u;
	k->reload_at = now_ns() + k->reload_wait;
}

static struct Kallsyms *kernel(struct Syms *s, bool index)
{
	if (!s->kernel)
		s->kernel = xcalloc(1, sizeof(*s->kernel));
	if (index && !s->kernel->loaded)
		load(s->kernel);
	return s->kernel;
}

static void free_texts(struct Kallsyms *k)
{
	for (u32 i = 0; i < k->old.n; i++)
		free(k->old.p[i]);
	k->old.n = 0;
	str_deinit(&k->text);
	free(k->syms);
	k->syms = NULL;
	k->n = 0;
}

void kallsyms_trim(struct Syms *s)
{
	struct Kallsyms *k = s->kernel;
	if (!k || !k->loaded || k->why || !s->ask.symbol)
		return;
	free_texts(k);
	k->loaded = false;
	k->dropped = true;
	k->reload_wait = 0;
	s->asked = 0;
}

void kallsyms_destroy(struct Kallsyms *k)
{
	if (!k)
		return;
	free_texts(k);
	for (u32 i = 0; i < k->modules.n; i++)
		free(k->modules.p[i]);
	vec_deinit(&k->old);
	vec_deinit(&k->modules);
	free(k->why);
	free(k);
}

bool sym_kernel_asked(struct Syms *s)
{
	syms_lock(s);
	bool asked = s->kernel && s->kernel->loaded;
	syms_unlock(s);
	return asked;
}

bool sym_kernel_quick(struct Syms *s)
{
	u64 addr;
	syms_lock(s);
	bool quick = !sym_kernel_asked(s) && !s->prefetching && ask_addr(s, "bpf_trace_run1", &addr) == 1;
	syms_unlock(s);
	return quick;
}

const char *sym_kernel_why(struct Syms *s)
{
	syms_lock(s);
	const char *why = kernel(s, true)->why;
	syms_unlock(s);
	return why;
}

static void *prefetch(void *arg)
{
	err_free(privs_drop());
	sym_kernel_why(arg);
	return NULL;
}

void sym_kernel_prefetch(struct Syms *s)
{
	syms_lock(s);
	if (!s->prefetching && !kernel(s, false)->loaded)
		s->prefetching = !thread_start(&s->prefetcher, NULL, prefetch, s);
	syms_unlock(s);
}

static const char *module_name(const struct Kallsyms *k, u16 id)
{
	return id ? k->modules.p[id] : NULL;
}

// Index of the last symbol at or below addr, or -1.
static s64 floor_index(const struct Kallsyms *k, u64 addr)
{
	if (!k->n || addr < k->syms[0].addr)
		return -1;
	const struct Ksym *base = k->syms;
	for (u32 n = k->n; n > 1;) {
		u32 half = n / 2;
		base += base[half].addr <= addr ? half : 0;
		n -= half;
	}
	return base - k->syms;
}

// A gap follows the last function of a module or BPF program, and its size is not known: kallsyms has no sizes.
#define LAST_FUNC_MAX (64u << 10)

static bool lookup(struct Kallsyms *k, u64 addr, struct SymHit *hit)
{
	s64 i = addr >> 32 ? floor_index(k, addr) : -1; // small ones are per-CPU offsets and absolute values, no addresses
	if (i < 0)
		return false;
	u64 start = k->syms[i].addr;
	u32 last = i;
	// Of several names of one address the kernel itself takes the first (kernel/kallsyms.c, get_symbol_pos); text before data.
	while (i > 0 && k->syms[i - 1].addr == start)
		i--;
	u32 best = i;
	while (best < last && !is_text(k->syms[best].type))
		best++;
	if (!is_text(k->syms[best].type))
		best = i;
	const struct Ksym *sym = &k->syms[best];
	u64 end = start + LAST_FUNC_MAX;
	if (last + 1 < k->n) {
		u64 next = k->syms[last + 1].addr;
		end = k->syms[last + 1].module == sym->module && !(next - start > 1u << 24) ? next : MIN(next, end);
	}
	if (addr >= end)
		return false;
	*hit = (struct SymHit){.name = k->text.p + sym->name, .start = start, .size = end - start, .module = module_name(k, sym->module)};
	return true;
}

struct SymHit sym_kernel(struct Syms *s, u64 addr)
{
	syms_lock(s);
	struct Kallsyms *k = kernel(s, false);
	struct SymHit h;
	// Trampolines of ftrace are in the table only: it is read for an address without a symbol.
	if ((!k->loaded || k->why) && (!s->prefetching || k->dropped) && ask_symbol(s, addr, &h) && (h.name || !(addr >> 63) || k->why)) {
		syms_unlock(s);
		return h;
	}
	k = kernel(s, true);
	h = k->last;
	if (!h.name || addr < h.start || addr >= k->last_end) {
		bool ok = lookup(k, addr, &h);
		if (!ok && addr >> 63 && !k->why && now_ns() >= k->reload_at) { // a module or BPF program loaded since
			load(k);
			ok = lookup(k, addr, &h);
		}
		if (ok)
			h.name = map_keep(&s->kept, h.name);
		else
			h = (struct SymHit){0};
		k->last = h;
		k->last_end = h.start + h.size;
	}
	h.off = h.name ? addr - h.start : 0;
	syms_unlock(s);
	return h;
}

struct ByName {
	const char *name, *module;
	size_t len, module_len;
	u64 addr;
	bool found, nonzero;
};

static bool by_name_line(void *arg, const struct KLine *l)
{
	struct ByName *b = arg;
	b->nonzero |= l->addr != 0;
	if (l->name_len != b->len || memcmp(l->name, b->name, b->len))
		return true;
	if (b->module && (b->module[0] ? l->module_len != b->module_len || memcmp(l->module, b->module, b->module_len) : l->module != NULL))
		return true;
	b->addr = l->addr;
	b->found = true;
	return false;
}

bool sym_kernel_addr(struct Syms *s, const char *name, const char *module, u64 *addr)
{
	if (module && !strcmp(module, "vmlinux"))
		module = "";
	struct ByName b = {.name = name, .module = module, .len = strlen(name), .module_len = module ? strlen(module) : 0};
	syms_lock(s);
	struct Kallsyms *k = kernel(s, false);
	int told = k->loaded || module ? -1 : ask_addr(s, name, &b.addr);
	if (told >= 0) {
		b.found = told;
	} else if (!k->loaded && k->streamed < 2) {
		k->streamed++;
		struct err *e = scan(by_name_line, &b);
		if (e)
			set_why(k, xstrdup(err_text(e)));
		err_free(e);
	} else {
		k = kernel(s, true);
		// The first in the file wins, and names lie in text in the file's order.
		const struct Ksym *best = NULL;
		for (u32 i = 0; i < k->n; i++) {
			const struct Ksym *y = &k->syms[i];
			const char *m = module_name(k, y->module);
			if (strcmp(k->text.p + y->name, name) || (best && best->name < y->name))
				continue;
			if (!module || (module[0] ? m && !strcmp(m, module) : !m))
				best = y;
		}
		b.found = best != NULL;
		b.addr = best ? best->addr : 0;
	}
	syms_unlock(s);
	*addr = b.addr;
	return b.found && b.addr;
}

void sym_kernel_each(struct Syms *s, bool (*fn)(void *, const char *name, const char *module, u64 addr, char type), void *arg)
{
	syms_lock(s);
	struct Kallsyms *k = kernel(s, true);
	for (u32 i = 0; i < k->n; i++) {
		const struct Ksym *y = &k->syms[i];
		if (is_text(y->type) && !fn(arg, k->text.p + y->name, module_name(k, y->module), y->addr, y->type))
			break;
	}
	syms_unlock(s);
}

u32 sym_kernel_build_id(const char *module, u8 out[20])
{
	char *path = module ? xasprintf("/sys/module/%s/notes/.note.gnu.build-id", module) : xstrdup("/sys/kernel/notes");
	struct Str notes = {0};
	struct err *e = read_file(path, &notes, 64 << 10);
	u32 len = !e && notes.n ? elf_notes_build_id((const u8 *)notes.p, notes.n, out) : 0;
	err_free(e);
	str_deinit(&notes);
	free(path);
	return len;
}
