// Kernel functions by name and pattern. In: tracefs' available_filter_functions (what ftrace can patch) or the file that stands for it, /proc/kallsyms, the list of what
// kprobes must not touch. Out: names with module and, from kallsyms, addresses.
#include <errno.h>
#include "probe/internal.h"

static int by_name(const void *a, const void *b)
{
	const struct KFunc *x = a, *y = b;
	int c = strcmp(x->name, y->name);
	if (!c)
		c = strcmp(x->module, y->module);
	return c ? c : x->addr < y->addr ? -1 : x->addr > y->addr;
}

void kfuncs_sort(KFuncList *l)
{
	if (l->n)
		qsort(l->p, l->n, sizeof(l->p[0]), by_name);
}

// "tcp_sendmsg" or "nft_do_chain [nf_tables]" a line. Names of removed init code read "__ftrace_invalid_address___123".
static bool read_tracefs(struct ProbeEnv *env, struct ProbeCache *c)
{
	const char *root = NULL;
	struct Str s = {0};
	struct err *e = env->traceable ? NULL : tracefs_path(&root);
	if (!e)
		e = read_file(env->traceable ? env->traceable : arena_printf(env->arena, "%s/available_filter_functions", root), &s, 256 << 20);
	if (e) {
		err_free(e);
		str_deinit(&s);
		return false;
	}
	char *text = arena_strndup(env->arena, str_text(&s), s.n);
	str_deinit(&s);
	for (char *line = text, *next; *line; line = next) {
		struct KFunc f = {line, "vmlinux", 0};
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = 0;
		char *mod = strchr(line, '[');
		if (mod) {
			line[strcspn(line, " \t")] = 0;
			mod[strcspn(mod, "]")] = 0;
			f.module = mod + 1;
		}
		if (*line && strncmp(line, "__ftrace_invalid_address", 24))
			vec_push(&c->kfuncs, f);
	}
	return c->kfuncs.n > 0;
}

// Copies that the compiler split off or that tools generate: no function of the source is meant by them.
static bool is_noise(const char *name)
{
	return strstr(name, ".cold") || !strncmp(name, "__pfx_", 6) || !strncmp(name, "__cfi_", 6) || !strncmp(name, "bpf_prog_", 9) ||
	       !strncmp(name, "bpf_trampoline_", 15) || !strncmp(name, "__SCT__", 7) || !strncmp(name, "__SCK__", 7) ||
	       !strncmp(name, "__traceiter_", 12) || !strncmp(name, "__bpf_trace_", 12);
}

static bool take_symbol(void *arg, const char *name, const char *module, u64 addr, char type)
{
	struct ProbeCache *c = arg;
	struct KFunc f = {name, module ? module : "vmlinux", addr};
	// Only functions: weak and global and local text, not what the BPF JIT and ftrace put there.
	if (!is_noise(name) && !(module && (!strcmp(module, "bpf") || !strncmp(module, "__builtin__", 11))))
		vec_push(&c->kfuncs, f);
	return true;
}

void kfuncs_read(struct ProbeEnv *env)
{
	struct ProbeCache *c = probe_cache(env);
	if (c->kfuncs_read)
		return;
	c->kfuncs_read = true;
	c->kfuncs_from_tracefs = read_tracefs(env, c);
	if (!c->kfuncs_from_tracefs)
		sym_kernel_each(env->syms, take_symbol, c);
}

// /sys/kernel/debug/kprobes/blacklist: "0xffff...-0xffff...\tname" a line. Unreadable: nothing is known to be forbidden.
static const NameList *blacklist(struct ProbeEnv *env)
{
	struct ProbeCache *c = probe_cache(env);
	if (c->blacklist_read)
		return &c->blacklist;
	c->blacklist_read = true;
	struct Str s = {0};
	err_free(read_file("/sys/kernel/debug/kprobes/blacklist", &s, 16 << 20));
	char *text = arena_strndup(env->arena, str_text(&s), s.n), *save = NULL;
	str_deinit(&s);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *tab = strpbrk(line, "\t ");
		if (tab && tab[1])
			vec_push(&c->blacklist, tab + 1);
	}
	names_sort(&c->blacklist);
	return &c->blacklist;
}

bool kfunc_blacklisted(struct ProbeEnv *env, const char *name)
{
	const NameList *l = blacklist(env);
	return l->n && bsearch(&name, l->p, l->n, sizeof(*l->p), cmp_str);
}

// ---- one name: plain symbols, duplicates, and the compiler's copies
// "name.isra.0", "name.constprop.1", "name.isra.0.constprop.3"; *part when a ".part.N" is among them. Not ".cold", ".llvm.123" is a plain rename.
static bool is_copy(const char *sym, const char *name, size_t len, bool *part)
{
	static const char *const tags[] = {".isra.", ".constprop.", ".part.", ".llvm."};
	*part = false;
	if (strncmp(sym, name, len) || sym[len] != '.')
		return false;
	for (const char *s = sym + len; *s;) {
		size_t n = 0;
		for (u32 i = 0; i < ARRAY_LEN(tags) && !n; i++)
			if (!strncmp(s, tags[i], strlen(tags[i]))) {
				n = strlen(tags[i]);
				*part |= i == 2;
			}
		if (!n || s[n] < '0' || s[n] > '9')
			return false;
		s += n;
		s += strspn(s, "0123456789");
	}
	return true;
}

struct ByName {
	const char *name, *module;
	size_t len;
	KFuncList *whole, *parts;
};

static bool take_named(void *arg, const char *name, const char *module, u64 addr, char type)
{
	struct ByName *b = arg;
	bool part = false;
	if (name[0] != b->name[0] || (strcmp(name, b->name) && !is_copy(name, b->name, b->len, &part)))
		return true;
	if (!module)
		module = "vmlinux";
	if (b->module && strcmp(b->module, module))
		return true;
	struct KFunc f = {name, module, addr};
	vec_push(part ? b->parts : b->whole, f);
	return true;
}

// A .part.N holds the rest of a function whose head was inlined; the head, if it is a symbol of its own, calls it. To count a call once, parts
// are taken only when there is nothing else.
void kfuncs_named(struct ProbeEnv *env, const char *module, const char *name, KFuncList *out)
{
	KFuncList parts = {0};
	struct ByName b = {name, module, strlen(name), out, &parts};
	sym_kernel_each(env->syms, take_named, &b);
	if (!out->n)
		for (size_t i = 0; i < parts.n; i++)
			vec_push(out, parts.p[i]);
	vec_deinit(&parts);
	if (out->n || sym_kernel_addr(env->syms, "_stext", NULL, &(u64){0}))
		return;
	// Addresses are hidden (kptr_restrict): tracefs still knows the names, and the kernel resolves them itself.
	kfuncs_read(env);
	struct ProbeCache *c = probe_cache(env);
	for (size_t i = 0; i < c->kfuncs.n; i++)
		take_named(&b, c->kfuncs.p[i].name, c->kfuncs.p[i].module, 0, 't');
}
