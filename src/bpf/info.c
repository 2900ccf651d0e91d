// `sonde info`: what this system can do, for people and for scripts. Input: nothing; output: sections of "  name: yes" lines.
// Invariant: section titles and the names bpftrace --info has mean what they mean there, one on a line, so that scripts that grep for
// them go on working.
#include "bpf/internal.h"
#include "ctype/ctype.h"
#include "version.h" // made by package/version
#include <linux/bpf.h>
#include <sys/utsname.h>

static void yes_no(FILE *out, const char *name, bool yes)
{
	fprintf(out, "  %s: %s\n", name, yes ? "yes" : "no");
}

static void feature(FILE *out, enum Feature f)
{
	yes_no(out, feature_name(f), feature_has(f));
}

static void feature_as(FILE *out, enum Feature f, const char *name)
{
	yes_no(out, name, feature_has(f));
}

static void print_system(FILE *out)
{
	struct utsname u;
	uname(&u);
	fprintf(out, "System\n  OS: %s %s %s\n  Arch: %s\n", u.sysname, u.release, u.version, u.machine);
	struct err *e = feature_need_caps();
	fprintf(out, "  tracing allowed: %s%s\n", e ? "no: " : "yes", e ? err_text(e) : "");
	if (!e)
		caps_print(out);
	fputc('\n', out);
	err_free(e);
	fprintf(out, "Build\n  version: %s\n  LLVM: not needed\n  bfd: no\n  libdw (DWARF support): %s\n  libsystemd (systemd notify support): yes\n"
		     "  blazesym (advanced symbolization): no\n  dwunwind (DWARF stack unwinding): yes\n\n", SONDE_VERSION, ctype_has_dwarf() ? "yes" : "no");
}

static void print_helpers(FILE *out)
{
	static const struct {
		const char *name;
		u32 type, helper;
	} helpers[] = {
		{"probe_read", BPF_PROG_TYPE_TRACEPOINT, BPF_FUNC_probe_read},
		{"probe_read_str", BPF_PROG_TYPE_TRACEPOINT, BPF_FUNC_probe_read_str},
		{"probe_read_user", BPF_PROG_TYPE_TRACEPOINT, BPF_FUNC_probe_read_user},
		{"probe_read_user_str", BPF_PROG_TYPE_TRACEPOINT, BPF_FUNC_probe_read_user_str},
		{"probe_read_kernel", BPF_PROG_TYPE_TRACEPOINT, BPF_FUNC_probe_read_kernel},
		{"probe_read_kernel_str", BPF_PROG_TYPE_TRACEPOINT, BPF_FUNC_probe_read_kernel_str},
		{"get_current_cgroup_id", BPF_PROG_TYPE_TRACEPOINT, BPF_FUNC_get_current_cgroup_id},
		{"override_return", BPF_PROG_TYPE_KPROBE, BPF_FUNC_override_return},
		{"skboutput", BPF_PROG_TYPE_TRACING, BPF_FUNC_skb_output},
	};
	static const enum Feature feats[] = {
		FEAT_SIGNAL, FEAT_WRITE_USER, FEAT_KTIME_BOOT, FEAT_KTIME_TAI, FEAT_JIFFIES64, FEAT_D_PATH, FEAT_FUNC_IP, FEAT_FOR_EACH_MAP_ELEM,
		FEAT_MAP_LOOKUP_PERCPU, FEAT_GET_NS_PID, FEAT_BPF_LOOP, FEAT_STRNCMP, FEAT_TASK_PT_REGS, FEAT_TASK_MEMORY, FEAT_SLEEPABLE_UPROBES, FEAT_TASK_WORK, FEAT_GET_STACK,
	};
	fputs("Kernel helpers\n", out);
	for (u32 i = 0; i < ARRAY_LEN(helpers); i++)
		yes_no(out, helpers[i].name, helper_known(helpers[i].type, helpers[i].helper));
	for (u32 i = 0; i < ARRAY_LEN(feats); i++)
		feature(out, feats[i]);
	feature_as(out, FEAT_BPF_LOOP, "loop");
	fputc('\n', out);
}

static void print_features(FILE *out)
{
	fprintf(out, "Kernel features\n  Instruction limit: %u\n", verifier_insn_limit());
	yes_no(out, "Loop support", bounded_loops());
	static const enum Feature feats[] = {
		FEAT_BTF, FEAT_MODULE_BTF, FEAT_BATCH, FEAT_UPROBE_REFCTR, FEAT_PERF_LINK, FEAT_NO_PREALLOC, FEAT_V4_INSNS,
		FEAT_BIG_KEYS, FEAT_LOOP_ROUNDS, FEAT_MAY_GOTO, FEAT_ATOMICS, FEAT_GLOBAL_DATA_MMAP, FEAT_HW_EVENTS,
	};
	for (u32 i = 0; i < ARRAY_LEN(feats); i++)
		feature(out, feats[i]);
	fputc('\n', out);
}

static void print_maps(FILE *out)
{
	static const struct {
		const char *name;
		u32 type;
	} maps[] = {
		{"hash", BPF_MAP_TYPE_HASH},
		{"percpu hash", BPF_MAP_TYPE_PERCPU_HASH},
		{"array", BPF_MAP_TYPE_ARRAY},
		{"percpu array", BPF_MAP_TYPE_PERCPU_ARRAY},
		{"lru hash", BPF_MAP_TYPE_LRU_HASH},
		{"lpm trie", BPF_MAP_TYPE_LPM_TRIE},
		{"stack_trace", BPF_MAP_TYPE_STACK_TRACE},
		{"perf_event_array", BPF_MAP_TYPE_PERF_EVENT_ARRAY},
		{"ringbuf", BPF_MAP_TYPE_RINGBUF},
	};
	fputs("Map types\n", out);
	for (u32 i = 0; i < ARRAY_LEN(maps); i++)
		yes_no(out, maps[i].name, map_type_known(maps[i].type));
	fputc('\n', out);
}

static void print_probes(FILE *out)
{
	fputs("Probe types\n", out);
	feature(out, FEAT_KPROBE);
	yes_no(out, "tracepoint", prog_type_known(BPF_PROG_TYPE_TRACEPOINT));
	yes_no(out, "perf_event", prog_type_known(BPF_PROG_TYPE_PERF_EVENT));
	feature(out, FEAT_FENTRY);
	feature_as(out, FEAT_FENTRY, "kfunc"); // its name before 0.22
	feature(out, FEAT_KPROBE_MULTI);
	feature(out, FEAT_UPROBE_MULTI);
	feature(out, FEAT_KPROBE_SESSION);
	feature_as(out, FEAT_RAWTP, "raw_tp_special");
	feature(out, FEAT_RAWTP);
	feature(out, FEAT_TP_BTF);
	feature(out, FEAT_ITER);
}

void info_print(FILE *out)
{
	print_system(out);
	print_helpers(out);
	print_features(out);
	print_maps(out);
	print_probes(out);
	fputs("\nMissing\n", out);
	bool all = true;
	for (enum Feature f = 0; f < FEATURES; f++)
		if (!feature_has(f)) {
			fprintf(out, "  %s (%s)\n", feature_name(f), feature_note(f));
			all = false;
		}
	if (all)
		fputs("  nothing\n", out);
}
