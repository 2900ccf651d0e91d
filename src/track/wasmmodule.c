// A module of WebAssembly, as its bytes are (WebAssembly Core Specification, 5: binary format; 7.4.1: the name section). Input: bytes that nobody vouches for. Output: how many
// functions it imports and has, and their names: of the name section, else that of an export.
// Invariant: what is malformed ends the reading; names that were read so far are right. Names are parts of the bytes.
#include "track/internal.h"

#define FUNCS_MAX 1000000u // of a module, in V8
#define NAME_MAX_BYTES 1024u
enum { SEC_CUSTOM, SEC_TYPE, SEC_IMPORT, SEC_FUNCTION, SEC_EXPORT = 7 };
enum { KIND_FUNC, KIND_TABLE, KIND_MEMORY, KIND_GLOBAL, KIND_TAG };

struct Wasm {
	const u8 *p, *end;
	bool bad;
};

static u8 byte_of(struct Wasm *w)
{
	if (w->p == w->end) {
		w->bad = true;
		return 0;
	}
	return *w->p++;
}

static u64 leb(struct Wasm *w)
{
	u64 v = 0;
	for (u32 shift = 0; shift < 64; shift += 7) {
		u8 b = byte_of(w);
		v |= (u64)(b & 127) << shift;
		if (!(b & 128))
			return v;
	}
	w->bad = true;
	return 0;
}

static struct WasmName name_of(struct Wasm *w)
{
	u64 n = leb(w);
	if (w->bad || n > (u64)(w->end - w->p)) {
		w->bad = true;
		return (struct WasmName){0};
	}
	struct WasmName name = {(const char *)w->p, (u32)MIN(n, (u64)NAME_MAX_BYTES)};
	w->p += n;
	return name;
}

static void limits(struct Wasm *w)
{
	u8 flags = byte_of(w);
	leb(w);
	if (flags & 1)
		leb(w);
}

// 0x63 and 0x64 (references to a type) have a type behind them.
static void value_type(struct Wasm *w)
{
	u8 t = byte_of(w);
	if (t == 0x63 || t == 0x64)
		leb(w);
}

static void imports(struct Wasm *w, struct WasmModule *m)
{
	for (u64 n = leb(w); n && !w->bad; n--) {
		name_of(w);
		name_of(w);
		switch (byte_of(w)) {
		case KIND_FUNC:
			leb(w);
			m->nimports++;
			break;
		case KIND_TABLE:
			value_type(w);
			limits(w);
			break;
		case KIND_MEMORY:
			limits(w);
			break;
		case KIND_GLOBAL:
			value_type(w);
			byte_of(w);
			break;
		case KIND_TAG:
			byte_of(w);
			leb(w);
			break;
		default:
			w->bad = true;
		}
	}
}

static void set_name(struct WasmModule *m, u64 index, struct WasmName name, bool over)
{
	if (m->names && index < m->nimports + m->nfuncs && name.n && (over || !m->names[index].n))
		m->names[index] = name;
}

static void exports(struct Wasm *w, struct WasmModule *m)
{
	for (u64 n = leb(w); n && !w->bad; n--) {
		struct WasmName name = name_of(w);
		u8 kind = byte_of(w);
		u64 index = leb(w);
		if (kind == KIND_FUNC && !w->bad)
			set_name(m, index, name, false);
	}
}

static void functions(struct Wasm w, struct WasmModule *m) // of the name section, from its name on
{
	struct WasmName is = name_of(&w);
	if (w.bad || is.n != 4 || memcmp(is.p, "name", 4))
		return;
	while (!w.bad && w.p < w.end) {
		u8 kind = byte_of(&w);
		u64 size = leb(&w);
		if (w.bad || size > (u64)(w.end - w.p))
			return;
		struct Wasm sub = {w.p, w.p + size, false};
		w.p += size;
		for (u64 n = kind == 1 ? leb(&sub) : 0; n && !sub.bad; n--) {
			u64 index = leb(&sub);
			struct WasmName name = name_of(&sub);
			if (!sub.bad)
				set_name(m, index, name, true);
		}
	}
}

bool wasmmodule_parse(const u8 *p, u64 size, struct WasmModule *m)
{
	struct Wasm w = {p + 8, p + size, false};
	*m = (struct WasmModule){0};
	if (size < 8 || memcmp(p, WASM_MAGIC, 8))
		return false;
	while (!w.bad && w.p < w.end) {
		u8 id = byte_of(&w);
		u64 n = leb(&w);
		if (w.bad || n > (u64)(w.end - w.p))
			break;
		struct Wasm sec = {w.p, w.p + n, false};
		w.p += n;
		if (id == SEC_IMPORT && !m->names) {
			imports(&sec, m);
			if (sec.bad || m->nimports > FUNCS_MAX)
				return false;
		} else if (id == SEC_FUNCTION && !m->names) {
			u64 funcs = leb(&sec);
			if (sec.bad || funcs > FUNCS_MAX || funcs > n)
				return false;
			m->nfuncs = (u32)funcs;
			m->names = xcalloc(m->nimports + funcs + 1, sizeof(*m->names));
		} else if (id == SEC_EXPORT) {
			exports(&sec, m);
		} else if (id == SEC_CUSTOM) {
			functions(sec, m);
		}
	}
	return m->nfuncs;
}

void wasmmodule_free(struct WasmModule *m)
{
	free(m->names);
	*m = (struct WasmModule){0};
}
