// V8 in files without symbols: Deno. Input: an ELF file that defines Node's functions for addons, its constants. Output: as v8.c's.
// Its builtins are found by their own table (elf/v8blob.c), its version by a text of rusty_v8, which Deno is built with. Structures are those of V8 14.6, as Node 26 tells of them
// (v8.c); types of objects, which differ from version to version, are in a table.
// Invariant: with other types than the file's nothing is taken for what it is not: the kernel side looks at the type of each object.
#include <elf.h>
#include "runtime/internal.h"

#define VERSION_TAIL "-rusty"
#define PIECE (256u << 10)
#define LIKE (14 << 8 | 6) // the version whose structures these are

static const char *const symbols[RUNTIME_SYMBOLS] = {"napi_create_function"};

static const struct RtV8 structures = {
	.map_type = 12, .t_no_string = 128, .f_shared = 32, .s_data = 8, .s_name = 24, .s_script = 40, .s_literal = 60, .p_source = 8, .p_name = 16, .p_ends = 56, .p_id = 64,
	.i_locals = 24, .i_first = 48, .b_positions = 24, .b_data = 64, .b_flags = 1, .str_len = 12, .str_chars = 16, .cons_first = 16, .cons_second = 24, .thin_actual = 16,
	.slice_parent = 16, .slice_offset = 24, .ext_data = 24, .str_shape = 7, .str_flat = 0, .str_cons = 1, .str_external = 2, .str_sliced = 3, .str_thin = 5, .str_latin = 8,
	.a_data = 16, .a_shift = 0, .c_deopt = 8, .c_start = 40, .c_flags = 52, .c_size = 56, .c_stream = 32, .kind_shift = 0, .kind_mask = 15, .kind_baseline = 11,
	.d_literals = 3, .d_id = 6, .d_shared = 7, .d_inlined = 1, .d_wrapped = 7,
};

static const struct Types {
	u32 version; // major << 8 | minor
	u16 function, functions, shared, script, scope, bytecode; // functions: how many types of them there are
} types[] = {
	{15 << 8 | 0, 2064, 18, 278, 166, 276, 185}, // Deno 2.9
};

// The number that ends at p[*at], before which is a dot or no number; ~0: none.
static u32 number_before(const u8 *p, size_t *at)
{
	u32 n = 0, mul = 1;
	size_t from = *at;
	while (*at && p[*at - 1] >= '0' && p[*at - 1] <= '9' && from - *at < 6) {
		n += (u32)(p[--*at] - '0') * mul;
		mul *= 10;
	}
	return from == *at ? ~0u : n;
}

// "15.0.245.2-rusty": 15 << 8; 0: there is none.
static u32 version_before(const u8 *p, size_t at)
{
	u32 n[4];
	for (u32 i = 4; i-- > 0; at -= i > 0) {
		n[i] = number_before(p, &at);
		if (n[i] == ~0u || (i && (!at || p[at - 1] != '.')))
			return 0;
	}
	return n[0] < 256 && n[1] < 256 ? n[0] << 8 | n[1] : 0;
}

static u32 version_of(struct ElfFile *f)
{
	u8 *p = xmalloc(PIECE);
	u32 version = 0;
	for (u32 i = 1; i < f->nsecs && !version; i++) {
		const struct ElfSec *s = &f->secs[i];
		if (!elffile_is_constant(s))
			continue;
		for (u64 off = 0; off < s->size && !version; off += PIECE - 64) {
			u64 n = MIN(s->size - off, (u64)PIECE);
			if (!elffile_read(f, s->off + off, p, n))
				break;
			for (const u8 *x = p; !version && (x = memmem(x, n - (u64)(x - p), VERSION_TAIL, sizeof(VERSION_TAIL) - 1)); x++)
				version = version_before(p, (size_t)(x - p));
		}
	}
	free(p);
	return version;
}

static bool find(struct ElfFile *f, const struct ElfSymbol *syms, struct RtLang *out, struct Str *version)
{
	u32 v = version_of(f);
	struct V8Blob blob;

	(void)syms;
	for (u32 i = 0; i < ARRAY_LEN(types) && f->machine == EM_X86_64; i++) {
		if (types[i].version != v || !v8blob_find(f, &blob))
			continue;
		str_addf(version, "%u.%u", v >> 8, v & 0xff);
		out->loop = blob.code;
		out->loop_end = blob.code + blob.size;
		vec_deinit(&blob.starts);
		out->v8 = structures;
		out->v8.t_function = types[i].function;
		out->v8.t_function_end = (u16)(types[i].function + types[i].functions);
		out->v8.t_shared = types[i].shared;
		out->v8.t_script = types[i].script;
		out->v8.t_scope = types[i].scope;
		out->v8.t_bytecode = types[i].bytecode;
		v8_compiled(LIKE, &out->v8);
		return true;
	}
	return false;
}

const struct Runtime v8_bare_runtime = {RT_LANG_V8, "v8", "[v8]", symbols, find, NULL, "a table of versions", v8_code_name, .if_found = true};
