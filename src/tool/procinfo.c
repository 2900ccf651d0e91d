// `sonde info -p PID`: what stacks of a process will show. In: its mappings and their files. Out: its runtimes, their versions, where sonde knows their
// structures from, and what is missing. Nothing is traced. Invariant: what files hold is printed escaped.
#include <elf.h>
#include <sys/stat.h>
#include "elf/elf.h"
#include "runtime/runtime.h"
#include "sym/sym.h"
#include "track/track.h"
#include "tool/internal.h"

struct ProcInfo {
	FILE *out;
	VEC(const struct SymObject *) seen;
	u32 runtimes, unreadable;
	bool jit; // of a runtime whose own tables tell of its code in no file
	u64 bare, bare_bytes; // executable mappings of no file
	int files; // that it tells of by GDB's JIT interface; -1: it does not do so
	bool dump; // it has a jitdump
};

static void print_head(struct ProcInfo *p, const char *name, const struct Str *version, const char *path)
{
	struct Str text = {0};
	str_add_escaped(&text, path, strlen(path), false);
	fprintf(p->out, "  %s%s%s: %s\n", name, version->n ? " " : "", str_text(version), str_text(&text));
	str_deinit(&text);
	p->runtimes++;
}

// Runtimes with a compiler whose code is known without a perf map.
static bool makes_code(u32 kind)
{
	return kind == RT_LANG_JAVA || kind == RT_LANG_V8 || kind == RT_LANG_PHP || kind == RT_LANG_LUAJIT;
}

static bool print_walked(struct ProcInfo *p, struct ElfFile *f, const char *path)
{
	struct Str version = {0};
	struct RtLang lang;
	bool known;
	const struct Runtime *rt = runtime_in_file(f, &lang, &version, &known);
	if (rt) {
		const char *why = runtime_not_on(rt, f->machine);
		print_head(p, rt->name, &version, path);
		if (known)
			fprintf(p->out, "    functions and lines: yes%s%s\n", rt->lacks ? "; " : "", rt->lacks ? rt->lacks : "");
		else
			fprintf(p->out, "    functions and lines: no: %s%s, stacks show the interpreter\n", why ? "it " : "this version ", why ? why : "is not known");
		p->jit |= known && makes_code(rt->kind);
		if (known && (rt->offsets || rt->offsets_of))
			fprintf(p->out, "    offsets: %s\n", rt->offsets_of ? rt->offsets_of(&lang) : rt->offsets);
	}
	str_deinit(&version);
	return rt;
}

static void print_go(struct ProcInfo *p, struct ElfFile *f, const char *path)
{
	struct Str version = {0};
	struct GoTab t;
	elffile_go_version(f, &version);
	print_head(p, "go", &version, path);
	bool tables = gotab_open(f, &t);
	if (tables)
		gotab_close(&t);
	fprintf(p->out, "    functions and lines: %s\n", tables ? "yes" : "no: its tables are of a form that is not known (before 1.16), as a program in C");
	if (tables)
		fputs("    offsets: the program's own table (.gopclntab)\n", p->out);
	if (f->machine != EM_X86_64 && f->machine != EM_AARCH64 && !elffile_section(f, ".debug_frame")) // Go keeps no frame pointers there
		fputs("    stacks: cut, as it is stripped of .debug_frame, and its own table is not read on this processor\n", p->out);
	str_deinit(&version);
}

static void print_object(struct ProcInfo *p, const struct SymObject *o)
{
	struct ElfFile f;
	struct stat st;
	for (size_t i = 0; i < p->seen.n; i++)
		if (p->seen.p[i] == o)
			return;
	vec_push(&p->seen, o);
	if (o->fd < 0 && strcmp(o->path, "[vdso]")) {
		struct Str text = {0};
		str_add_escaped(&text, o->path, strlen(o->path), false);
		fprintf(p->out, "  %s: not read: %s\n", str_text(&text), o->why ? o->why : "no file");
		str_deinit(&text);
		p->unreadable++;
	}
	if (o->fd < 0 || fstat(o->fd, &st))
		return;
	struct err *e = elffile_open(&f, o->fd, NULL, st.st_size);
	if (e) {
		err_free(e);
		return;
	}
	const struct RuntimeOther *other;
	if (elffile_is_go(&f)) {
		print_go(p, &f, o->path);
	} else if (!print_walked(p, &f, o->path) && (other = runtime_other_in_file(&f))) {
		print_head(p, other->name, &(struct Str){0}, o->path);
		bool known = other->known && f.machine == EM_X86_64;
		fprintf(p->out, "    functions and lines: %s%s\n", known ? "" : "no: ", known ? other->known : other->missing);
		p->jit |= known && other->tables;
	}
	elffile_close(&f);
}

static void print_bare(const struct ProcInfo *p, bool names)
{
	if (!p->bare) {
		fputs("  none\n", p->out);
		return;
	}
	fprintf(p->out, "  mappings: %llu, %llu KB\n", (unsigned long long)p->bare, (unsigned long long)p->bare_bytes >> 10);
	if (p->jit)
		fputs("    stacks and names: of the runtime's code by its own tables; of other code:\n", p->out);
	if (p->files > 0)
		fprintf(p->out, "    names, and stacks where it tells how: of %d piece%s by the JIT interface of GDB; of other code:\n", p->files, p->files == 1 ? "" : "s");
	else if (!p->files)
		fputs("    it has the JIT interface of GDB, but tells of no code\n", p->out);
	fprintf(p->out, "    stacks: %sby frame pointers\n", p->dump ? "by unwinding information of its jitdump where there is any, else " : "");
	fprintf(p->out, "    names: %s\n", names && p->dump ? "from its perf map and its jitdump" : names ? "from its perf map" : p->dump ? "from its jitdump"
									  : "none: there is no /tmp/perf-PID.map of its own");
}

struct err *procinfo_print(FILE *out, int pid)
{
	struct ProcInfo p = {.out = out};
	struct ProcMap *maps;
	u32 n;
	struct Syms *s = syms_create(&(struct SymOpts){0});
	struct err *e = sym_proc_maps(s, pid, &maps, &n);
	if (!e)
		fprintf(out, "Runtimes of process %d\n", pid);
	for (u32 i = 0; !e && i < n; i++) {
		p.dump |= maps[i].obj && jitdump_is_name(maps[i].obj->path);
		if (maps[i].obj) {
			print_object(&p, maps[i].obj);
		} else if (!(maps[i].start >> 63)) { // the highest is [vsyscall]
			p.bare++;
			p.bare_bytes += maps[i].end - maps[i].start;
		}
	}
	if (!e && !p.runtimes)
		fprintf(out, "  none%s: stacks are of its files' own functions\n", p.unreadable ? " that is known" : "");
	if (!e) {
		p.files = track_jit_files(s, pid, maps, n);
		fputs("\nCode in no file\n", out);
		print_bare(&p, sym_pid_perf_map(s, pid));
	}
	free(maps);
	vec_deinit(&p.seen);
	syms_destroy(s);
	return e;
}
