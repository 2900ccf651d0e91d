// What the files of bpf/ share and nobody else sees.
#ifndef SONDE_BPF_INTERNAL_H
#define SONDE_BPF_INTERNAL_H
#include <elf.h>
#include <unistd.h>
#include "bpf/bpf.h"
#include "elf/elf.h"

// ---- cobj.c: an imported object
enum CObjSecKind { CSEC_OTHER, CSEC_TEXT, CSEC_DATA, CSEC_MAPS };
struct CObjSec {
	enum CObjSecKind kind;
	const char *name;
	u64 size;
	u8 *data; // TEXT, DATA: its bytes; NULL: zeros
	bool made;
	u32 id; // made: of the map that holds it
};
struct CObjFunc {
	const char *name;
	u32 start, n; // instructions, from the beginning of .text
	bool global;
	bool callable; // c says all that it takes
	bool core;     // it has relocations by the kernel's types
	struct CFunc c;
};
struct CObjMap {
	const char *name;
	u32 type, key_size, value_size, max_entries, flags;
	bool made;
	u32 id;
};
struct CObj {
	struct Arena *arena;
	const char *path;
	struct CObjSec *secs; // as in the file
	u32 nsecs, text;      // text: number of .text
	Elf64_Sym *syms;
	Elf64_Rel *rels; // of .text
	char *strs;
	u32 nsyms, nrels, nstrs;
	VEC(struct CObjFunc) funcs;
	VEC(struct CObjMap) maps;
};
struct err *cobj_damaged(const struct CObj *o, const char *what);
const char *cobj_symbol_name(const struct CObj *o, const Elf64_Sym *s);

void link_point_to(struct Code *code, u32 insn, u32 target); // link.c: a call, or a 16-byte load of a function's address, at `insn` to instruction `target`

// ---- loadmaps.c: what is in the kernel
struct Mapping {
	void *p;
	size_t n;
	struct MapDef *map;
};

struct Loaded {
	VEC(struct MapDef *) maps;
	VEC(struct ProbeProg *) progs;
	VEC(struct Mapping) mmaps;
};

// ---- programs written by hand: linux/bpf.h has the codes
#define INSN(code, dst, src, off, imm) ((struct BpfInsn){(code), (u8)((dst) | (src) << 4), (off), (s32)(imm)})
#define MOV_IMM(dst, v) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, v)
#define CALL(helper) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define EXIT() INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

// ---- trial.c: btf_id: what a program of type TRACING is for, 0 for other types. The descriptor or -errno.
int try_load(u32 btf_id, u32 type, u32 attach_type, const struct BpfInsn *insns, u32 n, char *log, u32 log_size);
static inline bool close_ok(int fd) // was it a descriptor?
{
	return fd >= 0 && (close(fd), true);
}

// ---- featurebtf.c: rows of feature.c
int try_load_iter(const struct BpfInsn *insns, u32 n, char *log, u32 log_size); // as try_load(), an iterator over tasks
bool try_fentry(u32), try_tp_btf(u32), try_iter(u32), try_task_memory(u32), try_task_work(u32);

// ---- btfgen.c
// A map whose keys are 8 bytes and whose values begin with a struct bpf_task_work. The descriptor or -errno.
int task_work_map(const struct SysMap *m);
// sys_prog_load with the BTF of pp attached, where the kernel takes it: func_info, and line_info with `lines`.
int load_with_btf(const struct ProbeProg *pp, struct SysProg *sp, bool lines);

#define MAY_GOTO (BPF_JMP | 0xe0) // headers before Linux 6.9 lack it

// ---- reach.c
// code, whose relocations are patched, without what is never run because of prog's constants. out has no relocations and no lines; the caller deinits it.
void code_reached(const struct Program *prog, const struct Code *code, struct Code *out);

// ---- rttab.c: the runtime's functions, one after the other, as tools/mkrt.c cut them; of RtFunc's pairs
// the first is an index into the table of that name, the second how many there are of it
enum RtRelocKind { RTK_CALL, RTK_CALLBACK, RTK_MAP, RTK_RODATA }; // as in tools/mkrt.c
struct RtReloc {
	u16 insn; // from the function's start
	u16 kind : 2, target : 14; // index in rt_funcs, rt_maps
	s32 addend; // RTK_RODATA: offset in rt_rodata
};
_Static_assert(sizeof(struct RtReloc) == 8, "there are more than a thousand, also in the small program");
struct RtLine {
	u16 insn, line; // how much more than those of the line before (modulo 65,536), a function's first begins at 0
};
struct RtFunc {
	const char *name, *file;
	u8 nparams;
	bool global; // generated code may call it
	u8 points; // of a function named rtg_* or rtp_* that is given pointers: its row of rt_points
	u32 insn0;
	u16 ninsns, reloc0, nrelocs;
	u32 line0;
	u16 nlines;
};
struct RtMapEntry {
	const char *name;
	u32 w[10]; // struct RtMapDef
};
struct RtConstEntry {
	const char *name;
	u32 off, size;
};
const struct BpfInsn *rt_insns(void); // all functions', one after the other
extern const struct RtReloc rt_relocs[];
extern const struct RtFunc rt_funcs[];
extern const u16 rt_points[][5]; // CodeFunc.points
extern const struct RtMapEntry rt_maps[];
extern const struct RtConstEntry rt_consts[];
extern const u8 rt_rodata[];
extern const u32 rt_nfuncs, rt_nconsts, rt_rodata_size;

// ---- vlog.c: the verifier's log of a rejected program, read for people
// sp->log holds the log of loading pp, which failed with r (-errno).
struct err *vlog_error(struct Program *p, struct ProbeProg *pp, const struct SysProg *sp, int r);
u32 vlog_processed(const char *log); // "processed N insns", 0 when absent
const char *prog_label(const struct ProbeProg *pp); // what users call it: its first attach point

// ---- feature.c: what info.c shows beyond enum Feature. Each tries once and does not remember.
bool helper_known(u32 prog_type, u32 helper);
bool map_type_known(u32 type);
bool prog_type_known(u32 type);
u32 verifier_insn_limit(void); // 0: unknown
bool bounded_loops(void);
#endif
