// stackcount: the row of the stack counter, and how its patterns become attach points.
// Patterns: func, lib:func, p:lib:func, p::func, t:category:event, u:lib:probe; * wildcards, or with -r a POSIX extended regular expression that a
// name must match from its beginning.
#include "bpf/bpf.h"
#include "ctype/ctype.h"
#include "sym/sym.h"
#include "tool/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <regex.h>

static const u8 stackcount_bt[] = {
#include "tool/stackcount.bt.gz.h"
};

struct Pattern {
	char type;	  // p t u
	char *lib, *name; // lib "": kernel
	char *buf;
};

static int fail(const char *fmt, ...) PRINTF_LIKE(1, 2);
static int fail(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 1;
}

// Splits at colons outside brackets ("a[[:alpha:]]" and C++'s "::" within a third part stay whole).
static int split(const struct ToolOpts *o, struct Pattern *p)
{
	char *part[4] = {0};
	u32 n = 0;
	p->buf = xstrdup(o->pattern);
	part[n++] = p->buf;
	for (char *c = p->buf; *c; c++) {
		if (o->regex && *c == '[') {
			for (c++; *c && *c != ']'; c++)
				if (*c == '[' && c[1] == ':' && strstr(c, ":]"))
					c = strstr(c, ":]") + 1;
			if (!*c)
				break;
		}
		if (*c != ':')
			continue;
		if (n == 3)
			return fail("Too many ':'-separated components in pattern %s", o->pattern);
		*c = 0;
		part[n++] = c + 1;
	}
	p->type = 'p';
	if (n == 3 && *part[0]) {
		if (strlen(part[0]) != 1 || !strchr("ptu", *part[0]))
			return fail("Type must be 'p', 't', or 'u', but got %s", part[0]);
		p->type = *part[0];
	}
	p->lib = n >= 2 ? part[n - 2] : (char *)(o->lib ? o->lib : "");
	p->name = part[n - 1];
	if (!*p->name)
		return fail("No functions matched by pattern %s", o->pattern);
	return 0;
}

// ---- listing

struct Names {
	const struct Pattern *p;
	const regex_t *re; // NULL: glob
	const char *prefix;
	struct Str *out;
	u32 n;
	struct Map seen; // names and, of functions, addresses: aliases are one
};

static bool matches(const struct Names *n, const char *name)
{
	return n->re ? !regexec(n->re, name, 0, NULL, 0) : glob_match(n->p->name, name);
}

static bool take(struct Names *n, const char *name)
{
	if (!matches(n, name) || map_has(&n->seen, name))
		return false;
	map_put(&n->seen, name, n);
	n->n++;
	str_addf(n->out, "%s%s:%s", n->out->n ? "," : "", n->prefix, name);
	return true;
}

static bool take_symbol(void *arg, const struct SymDef *d)
{
	struct Names *n = arg;
	char addr[24];
	snprintf(addr, sizeof(addr), "0x%llx", (unsigned long long)d->addr);
	if (!d->is_func || d->name[strcspn(d->name, "@\"*?[ ")] || map_has(&n->seen, addr) || !take(n, d->name))
		return true;
	map_put(&n->seen, addr, n);
	return true;
}

// Tracepoints and kernel functions: lines of tracefs. category NULL: the line's first word is the name.
static int take_lines(struct Names *n, const char *path, const char *category)
{
	struct Str text = {0};
	struct err *e = read_file(path, &text, 64 << 20);
	if (e) {
		fprintf(stderr, "ERROR: %s\n", err_text(e));
		err_free(e);
		return 1;
	}
	for (char *line = (char *)str_text(&text), *next; *line; line = next) {
		size_t len = strcspn(line, "\n");
		next = line + len + (line[len] == '\n');
		line[len] = 0;
		line[strcspn(line, " ")] = 0;
		char *colon = strchr(line, ':');
		if (category && colon) {
			*colon = 0;
			if (glob_match(category, line))
				take(n, colon + 1);
		} else if (!category && *line)
			take(n, line);
	}
	str_deinit(&text);
	return 0;
}

static int list_names(struct Syms *syms, struct Names *n, const char *path)
{
	char file[128];
	struct SymObject *obj = path ? sym_object_path(syms, path) : NULL;
	const char *tracefs;
	struct err *e = n->p->type == 't' || !path ? tracefs_path(&tracefs) : NULL;
	if (!e && n->p->type == 't') {
		snprintf(file, sizeof(file), "%s/available_events", tracefs);
		return take_lines(n, file, n->p->lib);
	}
	if (!e && !path) {
		snprintf(file, sizeof(file), "%s/available_filter_functions", tracefs);
		return take_lines(n, file, NULL);
	}
	if (e)
		; // told below
	else if (!obj)
		e = err_new("cannot read %s", path);
	else if (n->p->type == 'p')
		e = sym_object_each(syms, obj, take_symbol, n);
	else {
		struct UsdtNote *notes = NULL;
		u32 count = 0;
		e = sym_object_usdt(syms, obj, &notes, &count);
		for (u32 i = 0; !e && i < count; i++) {
			if (map_has(&n->seen, notes[i].name) || !matches(n, notes[i].name))
				continue;
			map_put(&n->seen, notes[i].name, n);
			n->n++;
			str_addf(n->out, "%s%s:%s:%s", n->out->n ? "," : "", n->prefix, notes[i].provider, notes[i].name);
		}
	}
	if (!e)
		return 0;
	fprintf(stderr, "ERROR: %s\n", err_text(e));
	err_free(e);
	return 1;
}

// ---- attach points

// The library's file: bcc's "c" is libc.so.6; a path as it is; else a program in $PATH. NULL: not found.
static char *find_library(const char *lib, int pid)
{
	char *path = NULL;
	struct err *e = NULL;
	if (!strchr(lib, '/') && strncmp(lib, "lib", 3) && !strstr(lib, ".so")) {
		char *with = xasprintf("lib%s", lib);
		e = sym_resolve_path(with, pid, &path);
		free(with);
		if (!e)
			return path;
		err_free(e);
	}
	e = sym_resolve_path(lib, pid, &path);
	err_free(e);
	return path;
}

static int resolve(struct ToolOpts *o, struct Pattern *p, const regex_t *re, struct Syms *syms)
{
	int pid = o->pids.n ? atoi(o->pids.p) : 0, rc = 0;
	bool user = p->type != 't' && *p->lib, plain = false;
	struct Names n = {.p = p, .re = re, .out = &o->probes};
	char *path = NULL, *prefix = NULL;
	if (p->type == 'u' && !*p->lib)
		return fail("unable to find library %s", p->lib);
	for (int try = 0; try < 2 && !rc && !o->probes.n; try++) {
		if (try && (!user || !sym_moved_to_libc(p->lib)))
			break;
		free(path);
		free(prefix);
		path = user ? find_library(try ? "c" : p->lib, pid) : NULL;
		if (user && !path && try == 0 && sym_moved_to_libc(p->lib))
			path = find_library("c", pid);
		prefix = user ? xasprintf("%s:%s", p->type == 'u' ? "usdt" : "uprobe", path ? path : "") :
			 p->type == 't' ? xasprintf("tracepoint:%s", p->lib) : xstrdup("kprobe");
		n.prefix = prefix;
		if (user && !path)
			rc = fail("unable to find library %s", p->lib);
		else if (re || glob_has_wild(p->name) || user || p->type == 't') {
			char *at = strchr(p->name, '@');
			if (at) // versioned symbols: sym@@VERS
				*at = 0;
			rc = list_names(syms, &n, path);
		} else
			str_addf(&o->probes, "%s:%s", prefix, p->name);
		plain = !user && p->type == 'p' && !re && !glob_has_wild(p->name);
		if (!rc && plain && kernel_lacks(syms, p->name))
			str_reset(&o->probes);
	}
	if (n.n > 1 && !re) { // the language's own wildcards: names of one function count once, what cannot be probed is left out
		str_reset(&o->probes);
		str_addf(&o->probes, p->type == 'u' ? "%s:*:%s" : "%s:%s", prefix, p->name);
	}
	o->many = n.n > 1;
	map_deinit(&n.seen);
	free(path);
	free(prefix);
	if (!rc && !o->probes.n)
		rc = fail("No functions matched by pattern %s", o->pattern);
	if (rc)
		propose_pattern(syms, p->name, plain);
	return rc;
}

static int prepare(struct ToolOpts *o)
{
	struct Pattern p = {0};
	regex_t re;
	bool have = false;
	struct Syms *syms = syms_create(&(struct SymOpts){0});
	if (!o->pattern) {
		fprintf(stderr, "sonde stackcount: error: the following arguments are required: pattern\nTry 'sonde stackcount --help'.\n");
		syms_destroy(syms);
		return 2;
	}
	int rc = split(o, &p);
	if (!rc && o->regex) {
		char *text = xasprintf("^(%s)", p.name);
		int bad = regcomp(&re, text, REG_EXTENDED | REG_NOSUB);
		have = !bad;
		if (bad) {
			char why[128];
			regerror(bad, &re, why, sizeof(why));
			rc = fail("Invalid regular expression %s: %s", p.name, why);
		}
		free(text);
	}
	if (!rc)
		rc = resolve(o, &p, have ? &re : NULL, syms);
	if (*(p.lib ? p.lib : "") && p.type != 't')
		vec_push(&o->params, ((struct Param){"perpid", NULL}));
	if (o->many)
		vec_push(&o->params, ((struct Param){"several", NULL}));
	vec_push(&o->params, ((struct Param){"probe", str_text(&o->probes)}));
	if (have)
		regfree(&re);
	free(p.buf);
	syms_destroy(syms);
	return rc;
}

// ---- script and report

static const char *check(struct ToolOpts *o)
{
	o->idle = true; // what is counted happens in the idle thread too
	return NULL;
}

static void header(const struct ToolOpts *o, struct RunCtx *rc, FILE *out)
{
	u64 all = 0, n = rc->attached - (o->tree ? 2 : 0); // without the forks and ends of processes
	for (size_t i = 0; i < rc->prog->progs.n; i++)
		all += rc->prog->progs.p[i]->kind != PK_BEGIN && rc->prog->progs.p[i]->kind != PK_END ? rc->prog->progs.p[i]->points.v.n : 0;
	if (all > rc->attached)
		fprintf(stderr, "WARNING: %llu functions cannot be probed\n", (unsigned long long)(all - rc->attached));
	fprintf(out, "Tracing %llu functions for \"%s\"", (unsigned long long)n, o->pattern);
}

void print_calls(const struct StackProfile *p, const struct ToolOpts *o, FILE *out)
{
	u64 total = profile_total(p);
	for (u32 i = 0; i < p->n; i++) {
		const struct StackSample *s = &p->samples[i];
		for (u32 k = 0; k < s->nkern; k++)
			frame_line(p, &s->kern[k], o, "  ", out);
		if (s->kern_note)
			fprintf(out, "  %s\n", s->kern_note);
		if (o->delim && s->nkern && s->nuser)
			fputs("    --\n", out);
		for (u32 k = 0; k < s->nuser; k++)
			frame_line(p, &s->user[k], o, "  ", out);
		if (s->user_note)
			fprintf(out, "  %s\n", s->user_note);
		if (s->comm) {
			struct Str comm = {0};
			str_add_shown(&comm, s->comm, strlen(s->comm));
			fprintf(out, "    %s [%u]\n", str_text(&comm), s->pid);
			str_deinit(&comm);
		}
		labels_line(p, s, "    ", out);
		fprintf(out, "    %llu\n", (unsigned long long)s->value);
		share_line(s->value, total, "    ", out);
		fputc('\n', out);
	}
}

const struct Tool tool_stackcount = {
	.name = "stackcount",
	.own_stacks = true,
	.summary = "how often functions, tracepoints or user probes are reached, by stack",
	.options = (const char *const[]){"c/cpu", "u", "k", "D/duration", "T", "r", "l", "s", "P", "K", "U", "v", "d", "per-thread", "unwind", "native", "async", NULL},
	.text = {stackcount_bt, sizeof(stackcount_bt)},
	.positional = "PATTERN",
	.untimed = true,
	.end = "Detaching...",
	.check = check,
	.prepare = prepare,
	.header = header,
	.examples = "    sonde stackcount t:sched:sched_process_fork   # who makes processes and threads: a tracepoint\n"
		    "    sonde stackcount -K t:sched:sched_switch      # kernel stacks only\n"
		    "    sonde stackcount -U t:sched:sched_switch      # user stacks only\n"
		    "    sonde stackcount -d t:syscalls:sys_enter_openat   # a line between user and kernel stack\n"
		    "    sonde stackcount c:malloc                     # malloc of the C library, in every process\n"
		    "    sonde stackcount -p 185 c:malloc              # in process 185 only\n"
		    "    sonde stackcount -p 185 'c:mem*'              # functions whose name begins so\n"
		    "    sonde stackcount -p 185 -r 'c:(m|c)alloc'     # a regular expression\n"
		    "    sonde stackcount -sv -p 185 c:malloc          # offsets within functions, and addresses\n"
		    "    sonde stackcount -Ti 5 t:sched:sched_switch   # a report every 5 seconds, with the time\n"
		    "    sonde stackcount -c 1 t:sched:sched_switch    # on CPU 1 only\n"
		    "  where the kernel has kprobes, which 'sonde info' tells:\n"
		    "    sonde stackcount ip_output                    # a kernel function\n"
		    "    sonde stackcount 'tcp_send*'                  # those whose name begins so\n"
		    "    sonde stackcount -r '^tcp_send.*'             # the same as a regular expression\n",
};
