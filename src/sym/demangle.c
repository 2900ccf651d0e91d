// Demangling: C++ (Itanium), Rust (legacy and v0), D. Input: a name a stranger chose. Output: readable text of at most MAX_OUT bytes.
// Invariant: bounded work. A mangled name of 300 bytes can stand for 2^40 bytes of text (substitutions nest), and libiberty's printers
// cannot be told to stop, so they are left by longjmp from their output callback: it is the only place in sonde that jumps, and
// nothing of ours lies between the two ends.
#include <setjmp.h>
#include <libiberty/demangle.h>
#include "sym/internal.h"

#define MAX_IN 4096
#define MAX_OUT 65536

struct Sink {
	jmp_buf stop;
	size_t n;
	char text[MAX_OUT];
};

static void sink(const char *text, size_t n, void *arg)
{
	struct Sink *k = arg;
	if (n >= sizeof(k->text) - k->n)
		longjmp(k->stop, 1);
	if (n) // text may be NULL then
		memcpy(k->text + k->n, text, n);
	k->n += n;
}

typedef int (*Demangler)(const char *mangled, int options, demangle_callbackref cb, void *opaque);

// Text of mangled, malloced; NULL when fn does not know it or the text is too long.
static char *run(Demangler fn, const char *mangled)
{
	struct Sink *k = xmalloc(sizeof(*k));
	k->n = 0;
	char *text = NULL;
	// libiberty's recursion limit refuses any C++ name over 1024 bytes, which templates often have: MAX_IN bounds the depth instead. In Rust's names
	// references back make any depth of a few bytes.
	int options = DMGL_PARAMS | DMGL_ANSI | (fn == rust_demangle_callback ? 0 : DMGL_NO_RECURSE_LIMIT);
	if (!setjmp(k->stop) && fn(mangled, options, sink, k) && k->n) {
		text = xmalloc(k->n + 1);
		memcpy(text, k->text, k->n);
		text[k->n] = 0;
	}
	free(k);
	return text;
}

// Where a Rust name's own part ends: v0 has no dots, a legacy name ends with its hash, "17h0123456789abcdefE".
static const char *rust_end(const char *raw)
{
	if (raw[1] == 'R')
		return strchrnul(raw, '.');
	for (const char *p = raw; (p = strstr(p, "17h")); p++)
		if (strspn(p + 3, "0123456789abcdef") == 16 && p[19] == 'E' && (!p[20] || p[20] == '.'))
			return p + 20;
	return NULL;
}

// libiberty's Rust printer drops what GCC's and LLVM's passes append; its C++ printer writes " [clone .cold]", so do the same.
static char *rust(const char *raw)
{
	const char *end = rust_end(raw);
	if (!end)
		return NULL;
	char *head = xasprintf("%.*s", (int)(end - raw), raw), *text = run(rust_demangle_callback, head);
	if (text && *end && strncmp(end, ".llvm.", 6)) {
		char *whole = xasprintf("%s [clone %s]", text, end);
		free(text);
		text = whole;
	}
	free(head);
	return text;
}

// dlang_demangle gives its text whole: bound its work by the number of back references ('Q'), each pair of which may double it.
static char *dlang(const char *raw)
{
	u32 refs = 0;
	for (const char *p = raw; *p; p++)
		refs += *p == 'Q';
	return refs <= 24 && strlen(raw) <= 4096 ? dlang_demangle(raw, DMGL_PARAMS | DMGL_ANSI) : NULL;
}

char *demangle(const char *raw)
{
	if (raw[0] != '_' || strnlen(raw, MAX_IN) == MAX_IN)
		return NULL;
	char *text = NULL;
	if (raw[1] == 'R')
		return rust(raw);
	if (raw[1] == 'D')
		return dlang(raw);
	if (raw[1] != 'Z' && strncmp(raw, "_GLOBAL_", 8))
		return NULL;
	if (raw[1] == 'Z')
		text = rust(raw);
	return text ? text : run(cplus_demangle_v3_callback, raw);
}

void symbol_clean(char *name)
{
	char *at = name[0] ? strchr(name + 1, '@') : NULL;
	if (at && strcmp(at, "@plt"))
		*at = 0;
	static const char *const marks[] = {".lto_priv.", ".llvm."};
	for (u32 i = 0; i < ARRAY_LEN(marks); i++) {
		for (char *p = name; (p = strstr(p, marks[i]));) {
			char *end = p + strlen(marks[i]);
			end += strspn(end, "0123456789");
			if (p > name && (!*end || *end == '.'))
				memmove(p, end, strlen(end) + 1); // "foo.lto_priv.0.cold" -> "foo.cold"
			else
				p = end;
		}
	}
}
