// Verifier log -> error. Input: the kernel's log text and the program it is about; output: an error that names what the kernel lacks,
// or the script line, the log's end and that sonde is at fault. Invariant: the log is only searched, never trusted to be complete.
// Formats: kernel/bpf/verifier.c (check_helper_call, verbose_linfo, print_verification_stats), stable since 5.10 except where noted.
#include "bpf/internal.h"
#include <ctype.h>
#include <errno.h>
#include <linux/bpf.h>

#define TAIL_LINES 15

u32 vlog_processed(const char *log)
{
	const char *p = log, *last = NULL;
	while ((p = strstr(p, "processed ")))
		last = p++;
	return last ? (u32)strtoul(last + strlen("processed "), NULL, 10) : 0;
}

// "12: (85) call ..." or "12: R1=..." at the start of a line: the number, else -1.
static long insn_of_line(const char *line)
{
	if (!isdigit((unsigned char)*line))
		return -1;
	char *end;
	long n = strtol(line, &end, 10);
	return end[0] == ':' && end[1] == ' ' ? n : -1;
}

// The instruction the verifier looked at last; -1 when it did not get to any.
static long last_insn(const char *log)
{
	long last = -1;
	for (const char *p = log; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
		long n = insn_of_line(p);
		if (n >= 0)
			last = n;
	}
	return last;
}

// A line that says what is wrong: neither an instruction, a comment, a register state, nor statistics.
static bool is_message(const char *line, size_t n)
{
	static const char *const noise[] = {"; ", "from ", "processed ", "verification time", "stack depth", "max_states", "mark_precise",
					    "peak_states", "returning from callee", "caller:", "to caller at", "callee:", "func#", "frame",
					    "propagating", "regs=", "last_idx", "first_idx", "parent "};
	if (!n || insn_of_line(line) >= 0 || isspace((unsigned char)*line))
		return false;
	for (u32 i = 0; i < ARRAY_LEN(noise); i++)
		if (n >= strlen(noise[i]) && !memcmp(line, noise[i], strlen(noise[i])))
			return false;
	// " R1=ctx() R10=fp0" on a line of its own begins with a register
	return !(line[0] == 'R' && isdigit((unsigned char)line[1]) && memchr(line, '=', MIN(n, (size_t)8)));
}

// The last message, into out.
static void last_message(const char *log, struct Str *out)
{
	for (const char *p = log; p && *p;) {
		const char *nl = strchr(p, '\n');
		size_t n = nl ? (size_t)(nl - p) : strlen(p);
		if (is_message(p, n)) {
			str_reset(out);
			str_addn(out, p, n);
		}
		p = nl ? nl + 1 : NULL;
	}
}

// Where each instruction comes from: a script line, or a function of the runtime.
struct Origin {
	const struct IrLoc *loc; // NULL: none known
	const char *rt;		 // name of the runtime function, NULL: generated code
};

static struct Origin *origins(const struct ProbeProg *pp)
{
	const struct Code *c = &pp->code;
	struct Origin *o = xcalloc(c->insns.n + 1, sizeof(*o));
	bool *begins = xcalloc(c->insns.n + 1, 1);
	for (size_t i = 0; i < c->funcs.n; i++)
		begins[c->funcs.p[i].insn] = true;
	for (size_t i = 0; i < c->lines.n; i++)
		if (c->lines.p[i].loc < pp->ir.locs.n)
			o[c->lines.p[i].insn].loc = &pp->ir.locs.p[c->lines.p[i].loc];
	for (size_t i = 0; i < c->funcs.n; i++) {
		const char *file;
		u32 line;
		if (rt_line(c->funcs.p[i].name, 0, &file, &line))
			o[c->funcs.p[i].insn].rt = c->funcs.p[i].name;
	}
	for (size_t i = 1; i < c->insns.n; i++) {
		if (begins[i])
			continue;
		o[i].rt = o[i - 1].rt;
		if (!o[i].loc)
			o[i].loc = o[i - 1].loc;
	}
	free(begins);
	return o;
}

// The script line the verifier looked at last: where it failed, or where it went into the runtime function it failed in.
static const struct IrLoc *last_script_line(const struct Origin *o, size_t ninsns, const char *log)
{
	const struct IrLoc *found = NULL;
	for (const char *p = log; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
		long n = insn_of_line(p);
		if (n >= 0 && n < (long)ninsns && o[n].loc)
			found = o[n].loc;
	}
	return found;
}

static void add_place(const struct ProbeProg *pp, const struct IrLoc *loc, struct Str *out)
{
	if (!pp->ir.diags || loc->file >= pp->ir.diags->sources.n)
		return;
	const struct Source *src = &pp->ir.diags->sources.p[loc->file];
	const char *p = src->text, *end = src->text + src->len;
	for (u32 line = 1; line < loc->line && p; line++) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p ? p + 1 : NULL;
	}
	str_addf(out, "\n%s:%u: ", src->name, loc->line);
	if (p && p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		str_addn(out, p, (size_t)((nl ? nl : end) - p));
	}
}

static void add_tail(const char *log, struct Str *out)
{
	const char *p = log + strlen(log);
	while (p > log && p[-1] == '\n')
		p--;
	const char *end = p;
	for (int n = 0; p > log; p--)
		if (p[-1] == '\n' && ++n == TAIL_LINES)
			break;
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;
		str_addf(out, "\n    %.*s", (int)MIN(stop - p, 300), p);
		p = stop + 1;
	}
}

// "unknown func bpf_loop#181" (5.10..6.9), "program of this type cannot use helper bpf_loop#181" (6.10+), "invalid func unknown#999";
// "helper call is not allowed in probe" (a function's own allowed(), 5.10) follows the line of the call: "10: (85) call bpf_d_path#147".
static bool missing_helper(const char *msg, const char *log, char *name, size_t size)
{
	if (strstr(msg, "helper call is not allowed in probe")) {
		const char *call = NULL;
		for (const char *p = log; (p = strstr(p, "(85) call bpf_")); p++)
			call = p + strlen("(85) call ");
		snprintf(name, size, "%.*s", call ? (int)strcspn(call, "#\n") : 0, call ? call : "");
		return call != NULL;
	}
	static const char *const forms[] = {"unknown func ", "program of this type cannot use helper ", "invalid func ",
					    "helper call is not allowed in "};
	for (u32 i = 0; i < ARRAY_LEN(forms); i++) {
		const char *p = strstr(msg, forms[i]);
		if (!p)
			continue;
		p += strlen(forms[i]);
		snprintf(name, size, "%.*s", (int)strcspn(p, strstr(p, "unknown#") == p ? "\n" : "#\n"), p); // "bpf_loop#181"
		return true;
	}
	return false;
}

const char *prog_label(const struct ProbeProg *pp)
{
	return pp->points.v.n ? pp->points.v.p[0]->name : pp->ir.name;
}

static struct err *permission_error(const struct ProbeProg *pp, const struct SysProg *sp, int r)
{
	struct err *e = feature_need_caps();
	if (e)
		return e;
	return err_errno(-r,
			 "the kernel does not permit the program of %s (type %u, attach type %u); 'sonde info' shows which kinds it does",
			 prog_label(pp), sp->type, sp->expected_attach_type);
}

static const char *error_name(int r)
{
	return r == -524 ? "not supported" : strerror(-r); // ENOTSUPP, which is only the kernel's
}

static struct err *bug_error(const struct ProbeProg *pp, const char *log, int r)
{
	struct Str s = {0};
	long insn = last_insn(log);
	struct Origin *o = origins(pp);
	const char *rt = insn >= 0 && insn < (long)pp->code.insns.n ? o[insn].rt : NULL;
	const struct IrLoc *loc = last_script_line(o, pp->code.insns.n, log);
	free(o);
	str_addf(&s, "the kernel's verifier rejected the program of %s", prog_label(pp));
	if (rt)
		str_addf(&s, ", in sonde's own function %s", rt);
	str_addf(&s, " (%s)", error_name(r));
	if (loc)
		add_place(pp, loc, &s);
	str_add(&s, "\n  The verifier said:");
	add_tail(log, &s);
	str_add(&s, "\n  This is a bug in sonde; please report it with the output of -d bpf.");
	struct err *e = err_new("%s", s.p);
	str_deinit(&s);
	return e;
}

static struct err *loop_error(const struct ProbeProg *pp, const char *log)
{
	struct Str s = {0};
	struct Origin *o = origins(pp);
	const struct IrLoc *loc = last_script_line(o, pp->code.insns.n, log);
	free(o);
	str_addf(&s, "the program of %s has a loop whose end this kernel's verifier does not see (it walks each round, as the kernel has no bpf_loop, Linux 5.17): "
		     "use for ($i : first..last), or a counter that each round adds to", prog_label(pp));
	if (loc)
		add_place(pp, loc, &s);
	struct err *e = err_new("%s", s.p);
	str_deinit(&s);
	return e;
}

// The kernel interprets programs (net.core.bpf_jit_enable is 0: the default where the architecture has not asked for another, as riscv64 in Linux 6.12). Loops by
// callback, and may_goto, it takes only of compiled ones.
static bool is_interpreted(const char *log)
{
	struct Str text = {0};
	struct err *e = read_file("/proc/sys/net/core/bpf_jit_enable", &text, 16);
	bool off = !e && str_text(&text)[0] == '0';
	err_free(e);
	str_deinit(&text);
	return off || strstr(log, "non-JITed");
}

#define MAPS_MAX 64 // a program (kernel/bpf/verifier.c, MAX_USED_MAPS); more are refused with E2BIG, as what is too large is

static u32 count_maps(const struct Program *p, const struct Code *code)
{
	u32 n = 0;
	for (size_t m = 0; m < p->maps.n; m++) {
		bool used = false;
		for (size_t i = 0; i < code->relocs.n && !used; i++)
			used = (code->relocs.p[i].kind == REL_MAPFD || code->relocs.p[i].kind == REL_MAPVAL) && code->relocs.p[i].id == m;
		n += used;
	}
	return n;
}

struct err *vlog_error(struct Program *p, struct ProbeProg *pp, const struct SysProg *sp, int r)
{
	const char *log = sp->log;
	struct Str msg = {0};
	char helper[100];
	struct err *e;
	last_message(log, &msg);
	if (missing_helper(str_text(&msg), log, helper, sizeof(helper)))
		e = err_new("%s needs the BPF helper %s, which this kernel does not offer to this kind of probe "
			    "('sonde info' lists helpers and probe types)",
			    prog_label(pp), helper);
	else if (strstr(log, "GPL-restricted function") || strstr(log, "GPL compatible"))
		e = err_new("%s uses helpers that the kernel gives only to programs with a GPL-compatible licence, "
			    "but the script's license is \"%s\"",
			    prog_label(pp), sp->license);
	else if (strstr(log, "frames is too deep"))
		e = err_new("the program of %s has more functions in one another than the kernel takes (8), and each loop is one: "
			    "use fewer loops in one another, take user stacks outside of loops",
			    prog_label(pp));
	else if (strstr(log, "combined stack size"))
		e = err_new("the program of %s and the functions it calls need more stack than the kernel gives them (512 bytes): "
			    "work out long expressions in steps, use fewer loops in one another, or config = { on_stack_limit = 8 }",
			    prog_label(pp));
	else if (strstr(log, "infinite loop detected"))
		e = loop_error(pp, log);
	else if (r == -E2BIG && count_maps(p, &pp->code) > MAPS_MAX)
		e = err_new("the program of %s uses %u maps, some of them sonde's own, and the kernel takes %d in one: keep several values in one map under keys (@[\"name\"])",
			    prog_label(pp), count_maps(p, &pp->code), MAPS_MAX);
	else if (strstr(log, "BPF program is too large") || strstr(log, "jumps is too complex") || (r == -E2BIG && last_insn(log) < 0))
		e = err_new("the program of %s is too large for the kernel's verifier (%u instructions, %u visits; the limit is 1000000): "
			    "use fewer or shorter loops (unroll), or smaller strings (max_strlen)",
			    prog_label(pp), sp->ninsns, vlog_processed(log));
	else if (r == -EPERM)
		e = permission_error(pp, sp, r);
	else if (is_interpreted(log))
		e = err_new("the program of %s needs a kernel that compiles BPF programs, and this one interprets them: sysctl net.core.bpf_jit_enable=1", prog_label(pp));
	else if (last_insn(log) < 0 && (sp->attach_btf_id || sp->expected_attach_type))
		e = err_errno(-r, "the kernel does not take the program of %s%s%s", prog_label(pp), msg.n ? ": " : "", str_text(&msg));
	else if (r == -ENOMEM)
		e = err_errno(-r, "no memory to load the program of %s", prog_label(pp));
	else
		e = bug_error(pp, log, r);
	str_deinit(&msg);
	return e;
}
