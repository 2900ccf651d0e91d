// Code that LuaJIT compiles: its traces. Input: who maps what; the rule of most of its machine, which is assembly (tablemaps.c); memory of processes. Output: an object for
// each of its areas of code.
// A trace is jumped to from within the machine and runs on the machine's frame, which it lowers by what it needs. So a place there is left by the machine's frame, which the
// thread tells (RT_UW_LUAJIT), and stands for the machine: the program's functions are shown there (runtime/luajit.c).
// An area is private memory without a file that may run and begins with {address of the area before it or 0, its own size}; several may lie side by side in one mapping. While
// LuaJIT writes code there it may not be run.
// Invariant: what does not begin so is left alone.
#include "runtime/runtime.h"
#include "track/internal.h"

#define AREA_MAX (64u << 20)
#define R14 14 // DWARF

static u32 lua_of(struct Jits *j, const struct ProcMap *maps, size_t n)
{
	bool pending = false; // of no interest here
	for (size_t i = 0; i < n; i++) {
		u32 lang = maps[i].obj ? tablemaps_lang(tables_maps(j->tables), maps[i].obj->id, &pending) : 0;
		const struct RtLang *l = lang ? tablemaps_row(tables_maps(j->tables), lang) : NULL;
		if (l && l->kind == RT_LANG_LUAJIT && l->luajit.cur_l)
			return lang;
	}
	return 0;
}

bool luatraces_has(struct Jits *j, const struct ProcMap *maps, size_t n)
{
	return lua_of(j, maps, n) != 0;
}

static void take_area(struct Jit *t, u64 start, u64 size)
{
	for (size_t i = 0; i < t->lua.v.n; i++)
		if (t->lua.v.p[i].start == start && t->lua.v.p[i].size == size) {
			t->lua.v.p[i].here = true;
			return;
		}
	struct LuaArea a = {start, size, NULL, true};
	vec_push(&t->lua.v, a);
}

void luatraces_look(struct Jits *j, struct Jit *t, const struct ProcMap *maps, size_t n)
{
	u64 head[2];
	size_t kept = 0;

	t->lua.lang = lua_of(j, maps, n);
	for (size_t i = 0; i < t->lua.v.n; i++)
		t->lua.v.p[i].here = false;
	for (size_t i = 0; i < n; i++) {
		if (maps[i].obj || maps[i].ino)
			continue;
		for (u64 at = maps[i].start; at < maps[i].end; at += head[1]) {
			u64 left = maps[i].end - at;
			if (!jit_read_memory(&t->tgid, at, head, sizeof(head)) || head[0] & 4095 || !head[1] || head[1] & 4095 || head[1] > MIN(left, (u64)AREA_MAX))
				break;
			take_area(t, at, head[1]);
		}
	}
	for (size_t i = 0; i < t->lua.v.n; i++) { // one that is being written to now is not in the list
		if (t->lua.v.p[i].here || t->lua.v.p[i].obj)
			t->lua.v.p[kept++] = t->lua.v.p[i];
	}
	t->lua.v.n = kept;
}

void luatraces_read(struct Jits *j, struct Jit *t)
{
	const struct RtLang *l = tablemaps_row(tables_maps(j->tables), t->lua.lang);
	struct RtUwRule rule;

	if (!tablemaps_body(tables_maps(j->tables), t->lua.lang, &rule) || rule.kind != RT_UW_LUAVM)
		return;
	rule.kind = RT_UW_LUAJIT;
	rule.off2 = rule.off;
	rule.reg = R14;
	rule.off = l->luajit.cur_l;
	for (size_t i = 0; i < t->lua.v.n; i++) {
		struct LuaArea *a = &t->lua.v.p[i];
		struct MadeSym all = {0, a->size, "trace of LuaJIT"};
		if (a->obj)
			continue;
		struct UwMade *made = xcalloc(1, sizeof(*made));
		vec_push(&made->rows, ((struct MadeRow){0, rule}));
		vec_push(&made->rows, ((struct MadeRow){a->size, {0}}));
		made->lang = t->lua.lang;
		a->obj = jit_object(j, a->start, a->size, &(struct MadeNames){&all, 1}, made);
		if (a->obj)
			jit_put(t, a->start, a->size, 0, a->obj, PROC_MADE_STAYS);
	}
}
