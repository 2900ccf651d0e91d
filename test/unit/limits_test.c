// What the kernel's verifier allows a program, counted without loading it: frames and bytes of stack along every chain of calls, functions, maps.
// In: scripts with every kind of stack in every kind of probe, loops within loops and iterators, through all passes but load, for new and old
// kernels. The counting itself is held against programs known to be too much, and, where this machine may load, against the verifier's own figures.
#include "need_bpf.h"
#include "bpf/internal.h"
#include "session/internal.h"
#include <linux/bpf.h>

// kernel/bpf/verifier.c, check_max_stack_depth_subprog(): MAX_CALL_FRAMES frames and MAX_BPF_STACK bytes in any chain, a callback of a helper being a
// call of the function that passes it, a global function one as any. Each frame is rounded up to 16 bytes; to 32, and at least that, where programs
// are not compiled and on older kernels: the rule here. A function that calls programs by bpf_tail_call lies below 256 bytes at most.
enum { MAX_FRAMES = 8, MAX_STACK = 512, FRAME_UNIT = 32, MAX_BELOW_TAIL_CALL = 256, MAX_FUNCS = 256, MAX_MAPS = 64, HELPER_TAIL_CALL = 12, HELPER_LOOP = 181, LOOP_SAVES = 24 };

struct Func {
	u32 first, end; // instructions
	u32 depth;      // bytes of stack
	bool tail_calls, loops, mays;
	VEC(u32) calls; // functions
};

struct Limits {
	struct Func *funcs;
	u32 nfuncs, nmaps;
	u32 frames, bytes; // of the longest and of the deepest chain
	u32 chain[MAX_FRAMES + 1]; // that of `why`, or the deepest
	u32 nchain;
	const char *why; // NULL: all is within bounds
};

// ---- stack of one function

struct Regs { // what is known of registers between two jumps: those that point into the frame
	bool frame[11];
	s32 off[11];
};

static void access_at(struct Func *f, s32 off)
{
	f->depth = MAX(f->depth, off < 0 ? (u32)-off : 0);
}

// Pointers into the frame are made by adding to r10; the lowest byte that anybody may reach through one is where it points.
static void step(struct Func *f, struct Regs *r, const struct BpfInsn *in)
{
	u8 dst = in->regs & 0xf, src = in->regs >> 4, class = BPF_CLASS(in->code);
	if (class == BPF_LDX || class == BPF_STX || class == BPF_ST) {
		u8 base = class == BPF_LDX ? src : dst;
		if (r->frame[base])
			access_at(f, r->off[base] + in->off);
		if (class == BPF_LDX)
			r->frame[dst] = false;
	} else if (in->code == (BPF_ALU64 | BPF_MOV | BPF_X) && !in->off) {
		r->frame[dst] = r->frame[src];
		r->off[dst] = r->off[src];
	} else if (in->code == (BPF_ALU64 | BPF_ADD | BPF_K)) {
		r->off[dst] += in->imm;
	} else if (class == BPF_ALU || class == BPF_ALU64 || class == BPF_LD) {
		r->frame[dst] = false;
	} else if (in->code == (BPF_JMP | BPF_CALL)) {
		for (u32 i = 1; i <= 5; i++) { // what is passed may be used from there on
			if (r->frame[i])
				access_at(f, r->off[i]);
			r->frame[i] = false;
		}
		r->frame[0] = false;
	} else if (in->code == (BPF_JMP | BPF_JA) || in->code == (BPF_JMP | BPF_EXIT)) {
		*r = (struct Regs){.frame[10] = true};
	}
}

static u32 func_at(const struct Limits *l, u32 insn)
{
	for (u32 i = 0; i < l->nfuncs; i++)
		if (insn >= l->funcs[i].first && insn < l->funcs[i].end)
			return i;
	T_FAIL("instruction %u is in no function", insn);
	return 0;
}

// What the kernel calls later begins a chain of its own (is_async_cb): the callbacks of task work.
static bool is_later(const struct Code *c, u32 fi)
{
	const char *name = c->funcs.n > fi ? c->funcs.p[fi].name : NULL;
	return fi && name && (!strcmp(name, "cold") || !strcmp(name, "late"));
}

static void read_func(struct Limits *l, struct Func *f, const struct Code *c)
{
	struct Regs r = {.frame[10] = true};
	for (u32 i = f->first; i < f->end; i++) {
		const struct BpfInsn *in = &c->insns.p[i];
		bool wide = in->code == (BPF_LD | BPF_IMM | BPF_DW);
		bool called = in->code == (BPF_JMP | BPF_CALL) && in->regs >> 4 == BPF_PSEUDO_CALL;
		if (called || (wide && in->regs >> 4 == BPF_PSEUDO_FUNC && !is_later(c, func_at(l, i + 1 + (u32)in->imm))))
			vec_push(&f->calls, func_at(l, i + 1 + (u32)in->imm));
		bool helper = in->code == (BPF_JMP | BPF_CALL) && !(in->regs >> 4);
		f->tail_calls |= helper && in->imm == HELPER_TAIL_CALL;
		f->loops |= helper && in->imm == HELPER_LOOP;
		f->mays |= in->code == (BPF_JMP | 0xe0); // may_goto
		step(f, &r, in);
		i += wide;
	}
}

// ---- chains

static u32 rounded(u32 depth)
{
	return (MAX(depth, 1u) + FRAME_UNIT - 1) / FRAME_UNIT * FRAME_UNIT;
}

static void follow(struct Limits *l, u32 fi, u32 *chain, u32 n, u32 above)
{
	const struct Func *f = &l->funcs[fi];
	u32 bytes = above + rounded(f->depth);
	if (l->why)
		return;
	if (n <= MAX_FRAMES)
		chain[n] = fi;
	n++;
	l->frames = MAX(l->frames, n);
	l->why = n > MAX_FRAMES ? "frames" : bytes > MAX_STACK ? "bytes" : f->tail_calls && fi && above >= MAX_BELOW_TAIL_CALL ? "tail call" : NULL;
	if (l->why || bytes > l->bytes) {
		memcpy(l->chain, chain, n * sizeof(*chain));
		l->nchain = n;
	}
	l->bytes = MAX(l->bytes, bytes);
	for (size_t i = 0; i < f->calls.n; i++)
		follow(l, f->calls.p[i], chain, n, bytes);
}

static u32 count_maps(const struct Code *c)
{
	u32 n = 0;
	for (size_t i = 0; i < c->relocs.n; i++) {
		const struct Reloc *r = &c->relocs.p[i];
		bool first = r->kind == REL_MAPFD || r->kind == REL_MAPVAL;
		for (size_t k = 0; first && k < i; k++)
			first = c->relocs.p[k].id != r->id || (c->relocs.p[k].kind != REL_MAPFD && c->relocs.p[k].kind != REL_MAPVAL);
		n += first;
	}
	return n;
}

static void limits_of(const struct Code *c, struct Limits *l)
{
	u32 chain[MAX_FRAMES + 1];
	*l = (struct Limits){.nfuncs = (u32)c->funcs.n, .nmaps = count_maps(c), .funcs = xcalloc(c->funcs.n, sizeof(*l->funcs))};
	for (u32 i = 0; i < l->nfuncs; i++)
		l->funcs[i] = (struct Func){.first = c->funcs.p[i].insn, .end = i + 1 < l->nfuncs ? c->funcs.p[i + 1].insn : (u32)c->insns.n};
	for (u32 i = 0; i < l->nfuncs; i++)
		read_func(l, &l->funcs[i], c);
	for (u32 i = 0; i < l->nfuncs; i++)
		if (!i || is_later(c, i))
			follow(l, i, chain, 0, 0);
	if (!l->why)
		l->why = l->nfuncs > MAX_FUNCS ? "functions" : l->nmaps > MAX_MAPS ? "maps" : NULL;
}

static void limits_deinit(struct Limits *l)
{
	for (u32 i = 0; i < l->nfuncs; i++)
		vec_deinit(&l->funcs[i].calls);
	free(l->funcs);
}

static void print_chain(const struct Limits *l, const struct Code *c)
{
	for (u32 i = 0; i < l->nchain; i++)
		printf("%s %s %u", i ? "," : "#  ", c->funcs.p[l->chain[i]].name, l->funcs[l->chain[i]].depth);
	printf("\n");
}

// ---- programs that are too much

static void put(struct Code *c, u8 code, u8 regs, s16 off, s32 imm)
{
	struct BpfInsn in = {code, regs, off, imm};
	vec_push(&c->insns, in);
}

// A chain of n functions with `bytes` of stack each; the last gives its frame's address to a helper.
static void make_chain(struct Code *c, u32 n, s32 bytes, s32 helper)
{
	static const char *const names[] = {"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9"};
	for (u32 i = 0; i < n; i++) {
		struct CodeFunc f = {(u32)c->insns.n, names[i], 0, false};
		vec_push(&c->funcs, f);
		if (i + 1 < n) {
			put(c, BPF_ST | BPF_MEM | BPF_DW, 10, (s16)-bytes, 0);
			put(c, BPF_JMP | BPF_CALL, BPF_PSEUDO_CALL << 4, 0, 2); // over mov and exit
		} else {
			put(c, BPF_ALU64 | BPF_MOV | BPF_X, 2 | 10 << 4, 0, 0);
			put(c, BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, -bytes);
			put(c, BPF_JMP | BPF_CALL, 0, 0, helper);
		}
		put(c, BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0);
		put(c, BPF_JMP | BPF_EXIT, 0, 0, 0);
	}
}

static void check_chain(u32 n, s32 bytes, s32 helper, const char *why)
{
	struct Code c = {0};
	struct Limits l;
	make_chain(&c, n, bytes, helper);
	limits_of(&c, &l);
	CHECK_STR(l.why ? l.why : "fine", why);
	if (!l.why) {
		CHECK_EQ(l.frames, n);
		CHECK_EQ(l.bytes, n * rounded((u32)bytes));
		CHECK_EQ(l.funcs[n - 1].depth, bytes);
	}
	limits_deinit(&l);
	code_deinit(&c);
}

TEST(too_much_is_found)
{
	check_chain(8, 64, 1, "fine");
	check_chain(9, 8, 1, "frames");
	check_chain(8, 65, 1, "bytes"); // 8 * 96
	check_chain(1, 512, 1, "fine");
	check_chain(1, 520, 1, "bytes");
	check_chain(3, 128, HELPER_TAIL_CALL, "tail call");
	check_chain(2, 224, HELPER_TAIL_CALL, "fine");
}

TEST(a_callback_is_a_call)
{
	struct Code c = {0};
	struct Limits l;
	make_chain(&c, 2, 300, 1);
	c.insns.p[1] = (struct BpfInsn){BPF_LD | BPF_IMM | BPF_DW, 2 | BPF_PSEUDO_FUNC << 4, 0, 2};
	c.insns.p[2] = (struct BpfInsn){0}; // the second half of the load
	limits_of(&c, &l);
	CHECK_STR(l.why, "bytes");
	limits_deinit(&l);
	code_deinit(&c);
}

// ---- scripts

static struct err *(*const passes[])(struct Session *) = {
#define SCRIPT_PASS(name, also, makes) pass_##name,
#include "base/passes.def"
};

// All passes but the last, which loads. False: this machine does not have what the script names.
static bool compile(struct Session *s)
{
	struct err *e = NULL;
	for (size_t i = 0; !e && i + 1 < ARRAY_LEN(passes) && !s->diags.nerrors; i++)
		e = passes[i](s);
	bool ok = !e && !s->diags.nerrors;
	if (!ok)
	err_free(e);
	return ok;
}

// ---- what scripts need

struct Most {
	u32 programs, frames, bytes;
};

static void check_program(const char *script, const struct ProbeProg *pp, const char *want, struct Most *most)
{
	struct Limits l;
	limits_of(&pp->code, &l);
	if (strcmp(l.why ? l.why : "", want)) {
		T_FAIL("too many %s, expected %s: %s", l.why ? l.why : "(none)", *want ? want : "(none)", script);
		print_chain(&l, &pp->code);
	}
	if (!l.why && l.bytes > most->bytes) {
		printf("# %u frames, %u bytes, %u functions, %u maps: %s\n", l.frames, l.bytes, l.nfuncs, l.nmaps, script);
		print_chain(&l, &pp->code);
	}
	most->frames = MAX(most->frames, l.why ? 0 : l.frames);
	most->bytes = MAX(most->bytes, l.why ? 0 : l.bytes);
	most->programs++;
	limits_deinit(&l);
}

// As a kernel has it that lacks what is named; the answers are put back.
struct Kernel {
	enum Feature lacks[3];
	u32 nlacks;
	bool swap;
};
static const struct Kernel kernels[] = {{.nlacks = 0}, {.swap = true}, {{FEAT_BPF_LOOP}, 1}, {{FEAT_BPF_LOOP, FEAT_V4_INSNS, FEAT_TASK_MEMORY}, 3}};

static void check_script(const char *text, const struct Kernel *k, const char *want, struct Most *most)
{
	struct Options o = {.text = text, .name = "limits", .unsafe = true, .swap = k->swap};
	struct Session s = {0};
	bool had[ARRAY_LEN(k->lacks)];
	for (u32 i = 0; i < k->nlacks; i++) {
		had[i] = feature_has(k->lacks[i]);
		feature_set(k->lacks[i], false);
	}
	session_init(&s, &o);
	if (compile(&s))
		for (size_t i = 0; i < s.prog.progs.n; i++)
			check_program(text, s.prog.progs.p[i], want, most);
	session_deinit(&s);
	for (u32 i = 0; i < k->nlacks; i++)
		feature_set(k->lacks[i], had[i]);
}

// Probes of kernel functions are left out where the kernel has none.
static const char *const probes[] = {
	"begin", "interval:s:1", "profile:hz:99", "tracepoint:sched:sched_switch", "tracepoint:syscalls:sys_enter_openat", "rawtracepoint:sched_switch",
	"software:faults:1", "hardware:cycles:1000000", "watchpoint:0x10000:8:w", "uprobe:libc:malloc", "uretprobe:libc:malloc", "kprobe:vfs_read",
	"kretprobe:vfs_read", "fentry:vfs_read", "fexit:vfs_read", "iter:task", "iter:task_file", "iter:task_vma",
};
#define NESTED_KEYS "@d[\"\", 1, ustack, kstack] = 1; @c[\"\", 1, 1, 1] = 1; @b[\"\", 1, 1, 1] = 1; "
static const char *const bodies[] = {
	"@[ustack] = count();",
	"@[ustack(fp, 5), ustack(raw), kstack(raw)] = count();",
	"@[ustack(perf), kstack(perf), comm, pid] = sum(nsecs);",
	"printf(\"%s %s %s\\n\", ustack, kstack(3), comm);",
	"print((1, ustack, kstack, comm)); @ = hist(len(ustack) + len(kstack));",
	"$k = 0; while ($k < 3) { @[ustack, kstack, $k] = count(); $k++; }",
	"for ($i : 0..9) { for ($j : 0..9) { @[ustack, ustack(perf), kstack, $i, $j] = count(); } }",
	"$n = pid; for ($i : 0..$n) { @[ustack, kstack, $i] = count(); }",
	"@a[1] = 1; @b[1, \"x\"] = 2; for ($x : @a) { for ($y : @b) { @[ustack(perf), $x.0, $y.1] = stats($y.1); } }",
	"for ($i : 0..3) { for ($j : 0..3) { for ($k : 0..3) { for ($l : 0..3) { @[$i + $j, comm] = lhist($l, 0, 10, 1); } } } }",
	"$a = str(uptr(1000), 60); $b = str(kptr(1000), 60); $c = (comm, $a == $b, comm); if ($c == (comm, true, $b)) { @[$c, $a, $b, ustack] = avg(1); }",
	"@[strftime(\"%H\", nsecs), usym(uptr(1)), ksym(kptr(1)), buf(uptr(1), 60), cgroup_path(cgroup), ustack] = tseries(1, 1s, 4);",
	NESTED_KEYS "for ($i : 0..3) { for ($j : 0..3) { $m = pid; $n = tid; $o = nsecs; "
	"@a[comm, @b[comm, $i, @c[comm, $j, @d[comm, 4, ustack, kstack], 5], 6], 7, $m, $n, $o, rand, uid, gid] = sum($m + $n + $o); } }",
	NESTED_KEYS "@a[comm, @b[comm, 1, @c[comm, 2, @d[comm, 4, ustack, kstack], 5], 6]] = 1;",
	"for ($i : 0..9) { @[lang_func, $i, ustack] = count(); }",
	"for ($i : 0..9) { for ($j : 0..9) { printf(\"%s %s\\n\", trace_id, span_id); @[trace_id, comm, span_id, $i, $j, ustack, kstack] = count(); } }",
	"unroll (4) { @[ustack, kstack] = max(rand); } @t[tid] = nsecs; delete(@t, tid); clear(@t); if (has_key(@t, tid)) { exit(); }",
};

// A task's stack takes more than the current thread's: with loops around keys in one another that is too much where frames are rounded to 32 bytes, and
// the script is told so.
static bool is_too_much(const char *probe, const char *body)
{
	return !strcmp(probe, "iter:task") && strstr(body, NESTED_KEYS "for");
}

static bool is_no_such(const char *probe, const char *body)
{
	return !strncmp(probe, "iter:", 5) && (strstr(body, "lang_func") || strstr(body, "trace_id"));
}

TEST(scripts_stay_within)
{
	struct Most most = {0};
	for (size_t i = 0; i < ARRAY_LEN(probes); i++)
		for (size_t k = 0; k < ARRAY_LEN(bodies) * ARRAY_LEN(kernels); k++) {
			char text[1024];
			if (is_too_much(probes[i], bodies[k / ARRAY_LEN(kernels)]) || is_no_such(probes[i], bodies[k / ARRAY_LEN(kernels)]))
				continue;
			snprintf(text, sizeof(text), "%s { %s }", probes[i], bodies[k / ARRAY_LEN(kernels)]);
			check_script(text, &kernels[k % ARRAY_LEN(kernels)], "", &most);
		}
	printf("# %u programs, at most %u frames and %u bytes\n", most.programs, most.frames, most.bytes);
	CHECK(most.programs >= 100);
	CHECK_EQ(most.frames, feature_has(FEAT_BPF_LOOP) ? MAX_FRAMES : 6); // two loops around ustack; a third is refused (bpf/vlog.c)
}

TEST(a_third_loop_around_a_user_stack_is_too_much)
{
	struct Most most = {0};
	if (!feature_has(FEAT_BPF_LOOP))
		SKIP("no bpf_loop: its loops are in the function");
	check_script("begin { for ($i : 0..3) { for ($j : 0..3) { for ($k : 0..3) { @[ustack] = count(); } } } }", &kernels[0], "frames", &most);
	CHECK_EQ(most.programs, 1);
}

// ---- the kernel's own figures

// "stack depth 8+8+0": of each function that the verifier has left (what constants switch off is removed), in units of 8, with what it then adds where it
// puts bpf_loop's code in place. In their order each is one of ours.
static void compare(const struct Limits *l, const struct Code *c, const char *log)
{
	const char *p = strstr(log, "stack depth ");
	u32 i = 0, matched = 0;
	p = p ? p + strlen("stack depth ") : "";
	for (; i < l->nfuncs && *p >= '0' && *p <= '9'; i++) {
		char *end;
		u32 theirs = (u32)strtoul(p, &end, 10);
		u32 more = theirs - ((l->funcs[i].depth + 7) / 8 * 8 + (l->funcs[i].loops ? LOOP_SAVES : 0)); // of may_goto a counter, since 6.15 with a time
		if (more && !(l->funcs[i].mays && (more == 8 || more == 16)))
			continue;
		matched++;
		p = *end == '+' ? end + 1 : end;
	}
	if (*p >= '0' && *p <= '9')
		T_FAIL("%s of %u functions: %.40s is not in its place", c->funcs.p[0].name, l->nfuncs, p);
	CHECK(matched > 10 && matched * 2 > l->nfuncs);
}

static void compare_script(const char *text)
{
	struct Options o = {.text = text, .name = "limits", .dump = passes_named("load", 4)};
	struct Session s = {0};
	struct Limits l;
	struct Code left; // by constants: the kernel counts no other
	char *log = NULL;
	size_t n;
	u32 yes = 1;
	session_init(&s, &o);
	CHECK(compile(&s));
	link_set_const(&s.prog, "rt_lang_func_asked", &yes, sizeof(yes)); // else the kernel counts less for what finds Go's functions
	s.out = open_memstream(&log, &n);
	no_error(pass_load(&s));
	fclose(s.out);
	code_reached(&s.prog, &s.prog.progs.p[0]->code, &left);
	limits_of(&left, &l);
	compare(&l, &left, log);
	free(log);
	code_deinit(&left);
	limits_deinit(&l);
	session_deinit(&s);
}

TEST(stack_is_counted_as_the_kernel_counts_it)
{
	NEED_BPF();
	compare_script("begin { @[ustack, kstack, comm] = count(); }");
	compare_script("profile:hz:99 { $a = str(uptr(1000), 60); $c = (comm, 1, comm); if ($c == (comm, 2, $a)) { @[$c, $a, ustack(perf)] = avg(1); } }");
	compare_script("begin { for ($i : 0..3) { for ($j : 0..3) { printf(\"%s %s\", ustack, comm); } } }");
}

T_MAIN()
