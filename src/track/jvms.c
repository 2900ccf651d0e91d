// Java VMs of processes. Input: who maps what; memory of processes that map an object with a Java VM. Output: rt_jvms, and the rest of such an object's row
// in rt_langs, which only a process that has loaded it can tell.
// Invariant: while no process is known to map such an object nothing is looked at. An entry is of a process that maps the object where the entry says.
#include <sys/uio.h>
#include "runtime/runtime.h"
#include "track/internal.h"

#define AGAIN_NS 1000000000ull // its heaps of code come one after the other: they are looked at once more
struct Vm {
	int tgid;
	u32 lang;
	u32 serial;
	u64 bias;
	u32 ready; // so often its heaps were found
	bool unknown;
	u64 not_before; // ns
};
struct Jvms {
	int fd; // rt_jvms, borrowed as is
	struct Tables *tables;
	VEC(struct Vm) v;
	u32 serial; // of the last one
	u32 told[RT_LANGS / 32]; // objects that were said not to be known
};

struct Jvms *jvms_create(int fd, struct Tables *t)
{
	struct Jvms *j = xcalloc(1, sizeof(*j));
	j->fd = fd;
	j->tables = t;
	return j;
}

void jvms_destroy(struct Jvms *j)
{
	if (!j)
		return;
	vec_deinit(&j->v);
	free(j);
}

static struct Vm *vm_of(struct Jvms *j, int tgid)
{
	for (size_t i = 0; i < j->v.n; i++)
		if (j->v.p[i].tgid == tgid)
			return &j->v.p[i];
	return NULL;
}

bool jvms_has(struct Jvms *j, int tgid)
{
	return j && vm_of(j, tgid);
}

void jvms_gone(struct Jvms *j, int tgid)
{
	struct Vm *vm = j ? vm_of(j, tgid) : NULL;
	if (!vm)
		return;
	sys_map_delete(j->fd, &(u32){(u32)tgid});
	*vm = vec_last(&j->v);
	j->v.n--;
}

static bool read_memory(void *arg, u64 addr, void *buf, size_t n)
{
	struct iovec to = {buf, n}, from = {(void *)addr, n};
	return process_vm_readv(*(int *)arg, &to, 1, &from, 1, 0) == (ssize_t)n;
}

void jvms_script(struct Jvms *j, int tgid, struct Codes *codes, const struct RtCodeNew *code)
{
	struct Vm *vm = vm_of(j, tgid);
	if (!vm || tablemaps_row(tables_maps(j->tables), vm->lang)->kind != RT_LANG_V8)
		return;
	struct JavaMemory m = {read_memory, &vm->tgid, vm->bias};
	codes_read_script(codes, code, &m, &tablemaps_row(tables_maps(j->tables), vm->lang)->v8);
}

static void tell_unknown(struct Jvms *j, u32 lang, const char *path, const struct Str *version)
{
	if (j->told[lang / 32] & 1u << lang % 32)
		return;
	j->told[lang / 32] |= 1u << lang % 32;
	fprintf(stderr, "sonde: %s: java%s%s is not known here: its stacks are cut at code that it has made\n", path, version->n ? " " : "", str_text(version));
}

static void look(struct Jvms *j, struct Vm *vm, const char *path)
{
	struct JavaMemory m = {read_memory, &vm->tgid, vm->bias};
	struct RtLang *row = tablemaps_row(tables_maps(j->tables), vm->lang), lang = *row;
	struct Str version = {0};
	struct RtJvm jvm = {.lang = vm->lang, .serial = vm->serial};
	u32 key = (u32)vm->tgid;

	if (row->kind == RT_LANG_V8) { // it is known of its file
		sys_map_update(j->fd, &key, &jvm, 0);
		vm->ready = 2;
		return;
	}
	enum JavaFound is = java_look(&m, &lang, &jvm, &version);
	if (is == JAVA_READY) {
		if (memcmp(&row->java, &lang.java, sizeof(lang.java))) // the rest of the row is read by threads that build tables
			row->java = lang.java;
		vm->ready++;
		vm->not_before = now_ns() + AGAIN_NS;
		sys_map_update(j->fd, &key, &jvm, 0);
	} else if (is == JAVA_UNKNOWN) {
		vm->unknown = true;
		tell_unknown(j, vm->lang, path, &version);
	}
	str_deinit(&version);
}

bool jvms_look(void *arg, int tgid, const struct ProcMap *maps, size_t n)
{
	struct Jvms *j = arg;
	const struct ProcMap *at = NULL;
	bool pending = false;
	u32 lang = 0;

	for (size_t i = 0; i < n && !lang; i++) {
		u32 nr = maps[i].obj ? tablemaps_lang(tables_maps(j->tables), maps[i].obj->id, &pending) : 0;
		if (nr && (tablemaps_row(tables_maps(j->tables), nr)->kind == RT_LANG_JAVA || tablemaps_row(tables_maps(j->tables), nr)->kind == RT_LANG_V8)) {
			lang = nr;
			at = &maps[i];
		}
	}
	struct Vm *vm = vm_of(j, tgid);
	if (vm && (!lang || vm->lang != lang || vm->bias != at->start - at->file_off)) { // another program
		jvms_gone(j, tgid);
		vm = NULL;
	}
	if (!lang)
		return !pending;
	if (!vm) {
		struct Vm new = {.tgid = tgid, .lang = lang, .serial = ++j->serial, .bias = at->start - at->file_off};
		vec_push(&j->v, new);
		vm = &vec_last(&j->v);
	}
	if (!vm->unknown && vm->ready < 2 && now_ns() >= vm->not_before)
		look(j, vm, at->obj->path);
	return vm->unknown || vm->ready >= 2;
}
