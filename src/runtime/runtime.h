// runtime: languages whose programs an interpreter runs, on the user side: which object holds one, where its structures keep what the kernel side
// (bpfrt/lang.bpf.c) follows, and what a code object that it has copied is called. In: files, copied code objects. No maps, no processes.
#ifndef SONDE_RUNTIME_H
#define SONDE_RUNTIME_H
#include "base/base.h"
#include "bpfrt/abi.h"
#include "bpfrt/stack.h"
#include "elf/elf.h"

struct Runtime {
	u32 kind;	      // enum RtLangKind
	const char *name;     // "python"
	const char *module;   // "[python]": what stands for the file its code is from
	const char *const *symbols; // RUNTIME_SYMBOLS, of .dynsym; the first one marks the runtime's object
	// The object's part of rt_langs, with addresses as in the file; syms: by those names, .name 0: there is none. False: this version is not known; version says which it is.
	bool (*find)(struct ElfFile *f, const struct ElfSymbol *syms, struct RtLang *out, struct Str *version);
	u32 (*line)(const struct RtCode *c, u32 pos); // at a position; 0: not known. NULL: its scripts tell (codes_line())
	const char *offsets; // where find() has them from, for people
	void (*code_name)(const struct RtCode *c, struct Str *out); // NULL: the names as they are
	void (*code_file)(const struct RtCode *c, struct Str *out);
	bool (*chain)(const struct RtLang *l, struct RtChain *out); // NULL: it has a file of its own in bpfrt/
	const char *lacks; // what its stacks do not have, for people; NULL: nothing
	const char *(*offsets_of)(const struct RtLang *l); // as `offsets`, where that depends on the object
	bool if_found; // others define the symbol, too: it is this runtime if find() says which version it is
	bool on_arm64; // its frames are known there, too, and not only on x86-64
};
#define RUNTIME_SYMBOLS 12
extern const struct Runtime python_runtime; // python.c
extern const struct Runtime java_runtime;   // java.c
extern const struct Runtime php_runtime;    // php.c
extern const struct Runtime ruby_runtime;   // ruby.c
extern const struct Runtime perl_runtime;   // perl.c
extern const struct Runtime v8_runtime;     // v8.c
extern const struct Runtime v8_bare_runtime; // v8bare.c
extern const struct Runtime lua_runtime;    // lua.c
extern const struct Runtime luajit_runtime; // luajit.c

const struct Runtime *runtime_of(u32 kind); // NULL: none

// Which runtime an object holds: out; NULL: none. version: of the runtime, as text; known: out is filled, and its frames are known on the object's machine.
const struct Runtime *runtime_in_file(struct ElfFile *f, struct RtLang *out, struct Str *version, bool *known);

// Why a runtime is not known on a machine (EM_*), whatever its version: "is not read ..."; NULL: it is not for that.
const char *runtime_not_on(const struct Runtime *rt, u16 machine);

bool runtime_go_file(struct ElfFile *f, struct RtLang *out); // go.c: where an object has its table of Go's functions; false: it has none

// The number that stands for a code's address in all objects' frames: a file offset, if the address were in the segment with code.
u64 runtime_place(const struct ElfFile *f, u64 vaddr);

// What an object offers by name: its .dynsym. False: nothing.
struct RuntimeNames {
	const struct ElfSec *tab;
	char *text; // to be freed
	u64 size;
};
bool runtime_names(struct ElfFile *f, struct RuntimeNames *out);
bool runtime_defines(struct ElfFile *f, const struct RuntimeNames *n, const char *symbol);

// ---- otel.c: where an object keeps the request that a thread works on
enum OtelHow {
	OTEL_NOT,
	OTEL_FIXED,	 // value: from the thread pointer
	OTEL_DISTANCE,	 // the word at got says how far from the thread pointer
	OTEL_MODULE,	 // ... the number of the module; value: in its block
	OTEL_DESCRIPTOR, // the second word at got is the distance or the address of {module, offset}
};
struct OtelSymbol {
	enum OtelHow how;
	u64 value, got; // got: address in the object
};
bool runtime_otel(struct ElfFile *f, struct OtelSymbol *out); // false: it has none

// ---- others.c: runtimes that are not walked
struct RuntimeOther {
	const char *name, *marker; // the symbol that tells
	const char *missing;	   // what its stacks lack, and what helps
	const char *known;	   // on x86-64 what they have all the same; NULL: nothing
	bool tables;		   // of its own tell of its code made at run time there
};
const struct RuntimeOther *runtime_other_in_file(struct ElfFile *f); // NULL: none
const char *runtime_made_hint(struct ElfFile *f); // why stacks through code that the object makes at run time are cut, and what helps; NULL: nothing known

// ---- codes.c: code objects by their numbers. One thread adds, others read.
struct Codes;
struct Codes *codes_create(void);
void codes_destroy(struct Codes *c);
void codes_add(struct Codes *c, const struct RtCodeNew *code, size_t bytes);
// late: called for a number that is not there, whose code may be on its way; waits for it.
void codes_set_late(struct Codes *c, void (*late)(void *), void *arg);
bool codes_get(struct Codes *c, u64 id, struct RtCode *out); // false: it was lost, or there are two of that number

// The line of a position, 0: not known
u32 codes_line(struct Codes *c, const struct RtCode *code, u32 pos);
// The same thread as codes_add(): a function of JavaScript whose script's lines are not known yet. True: where the script lies.
struct JavaMemory;
bool codes_wants_script(struct Codes *c, const struct RtCodeNew *code, size_t bytes, struct RtScriptAt *at);
void codes_read_script(struct Codes *c, const struct RtCodeNew *code, const struct JavaMemory *m, const struct RtV8 *v);

// ---- java.c: what only a process says of its Java VM
struct JavaMemory { // of the process; bias: what is to be added to addresses of RtLang
	bool (*read)(void *arg, u64 addr, void *buf, size_t n);
	void *arg;
	u64 bias;
};
enum JavaFound { JAVA_NOT_YET, JAVA_READY, JAVA_UNKNOWN };
// Fills lang->java (once) and jvm. Not yet: it has not begun to run. Unknown: it keeps things in another way; version says which it is, if it does.
enum JavaFound java_look(const struct JavaMemory *m, struct RtLang *lang, struct RtJvm *jvm, struct Str *version);

void runtime_code_name(const struct RtCode *c, struct Str *out);
void runtime_code_file(const struct RtCode *c, struct Str *out);
#endif
