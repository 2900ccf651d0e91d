// Names of methods that .NET's runtime (CoreCLR) has compiled. Input: addresses of MethodDescs, memory of their process. Output: names, as StackTrace has them.
// A MethodDesc says its number in its module, and of what type it is; the type, which module defines it; the module, where its image lies, whose metadata has the names (elf/clrmeta.c).
// Where these are the runtime says itself from .NET 9 on, in a text. (.NET: src/coreclr/vm/method.hpp, methodtable.h; docs/design/datacontracts.)
// Invariant: nothing in that memory is trusted; what is not understood has a name that says so.
#include "elf/elf.h"
#include "track/internal.h"

#define METADATA_MAX (64u << 20)  // of a module
#define METADATA_ALL (256u << 20) // of all that are kept at a time
#define MODULES_MAX 65536u	  // which are kept at a time
#define NAME_MAX_BYTES 256u
#define DYNAMIC 7u // kind of a method without metadata

struct Module { // of methods: its metadata
	u64 at;
	u8 *bytes; // owned; NULL: it cannot be read
	struct ClrMeta meta;
};
// Where things are in the runtime's structures
struct Shape {
	u32 chunk_size, chunk_tokens, module, dynamic_name;
	u32 base; // in a module: its image's address; 0: by the next four, one after the other
	u32 image[4];
	bool loader; // `module` is what loaded the type, which is not always what defines it
};
struct ClrNames {
	int tgid;
	u64 contract; // DotNetRuntimeContractDescriptor; 0: it has none
	bool shape_read;
	struct Shape shape; // chunk_size 0: not known
	VEC(struct Module) modules;
	u64 metadata; // bytes of theirs
};

struct ClrNames *clrnames_create(int tgid, u64 contract)
{
	struct ClrNames *n = xcalloc(1, sizeof(*n));
	n->tgid = tgid;
	n->contract = contract;
	return n;
}

void clrnames_drop(struct ClrNames *n)
{
	for (size_t i = 0; i < n->modules.n; i++)
		free(n->modules.p[i].bytes);
	vec_deinit(&n->modules);
	n->metadata = 0;
}

void clrnames_destroy(struct ClrNames *n)
{
	if (!n)
		return;
	clrnames_drop(n);
	free(n);
}

// ---- the runtime's structures
// The number at "type":{... "field": in the text that the runtime has of its structures. (docs/design/datacontracts/data_descriptor.md, the compact form.)
static bool field(const char *text, const char *type, const char *name, u32 *out)
{
	char key[64];
	snprintf(key, sizeof(key), "\"%s\":{", type);
	const char *at = strstr(text, key), *end = at ? strchr(at, '}') : NULL;
	snprintf(key, sizeof(key), "\"%s\":", name);
	at = at ? strstr(at, key) : NULL;
	if (!at || !end || at > end)
		return false;
	at += strlen(key);
	at += *at == '[';
	*out = (u32)strtoul(at, NULL, 10);
	return *at >= '0' && *at <= '9' && *out < 65536;
}

bool clrnames_shape_of(const char *text, u32 out[5])
{
	static const char *const fields[5][2] = {{"MethodDesc", "ChunkIndex"}, {"MethodDescChunk", "!"}, {"MethodDescChunk", "FlagsAndTokenRange"}, {"MethodTable", "Module"}, {"Module", "Base"}};
	bool all = true;
	for (u32 i = 0; i < 5; i++)
		all &= field(text, fields[i][0], fields[i][1], &out[i]);
	return all && out[0] == 2;
}

static void read_shape(struct ClrNames *n)
{
	struct {
		char magic[8];
		u32 flags, size;
		u64 text;
	} head;
	u32 says[5];
	char *text = NULL;
	n->shape_read = true;
	if (!n->contract) { // .NET 8 says nothing of itself
		n->shape = (struct Shape){.chunk_size = 24, .chunk_tokens = 18, .module = 24, .dynamic_name = 24, .image = {272, 8, 120, 8}, .loader = true};
		return;
	}
	if (jit_read_memory(&n->tgid, n->contract, &head, sizeof(head)) && !memcmp(head.magic, "DNCCDAC", 7) && head.size < 1u << 20) {
		text = xcalloc(head.size + 1, 1);
		if (jit_read_memory(&n->tgid, head.text, text, head.size) && clrnames_shape_of(text, says)) {
			n->shape = (struct Shape){.chunk_size = says[1], .chunk_tokens = says[2], .module = says[3], .base = says[4]};
			if (!field(text, "DynamicMethodDesc", "MethodName", &n->shape.dynamic_name))
				n->shape.dynamic_name = 0;
		}
	}
	free(text);
}

// ---- methods
// Where the module's image lies.
static u64 image_of(struct ClrNames *n, u64 module)
{
	const struct Shape *s = &n->shape;
	u64 at = module;
	if (s->base)
		return jit_read_memory(&n->tgid, module + s->base, &at, sizeof(at)) ? at : 0;
	for (u32 i = 0; i < ARRAY_LEN(s->image); i++)
		if (!jit_read_memory(&n->tgid, at + s->image[i], &at, sizeof(at)))
			return 0;
	return at;
}

static struct Module *module_at(struct ClrNames *n, u64 at)
{
	struct Module m = {.at = at};
	u64 addr;
	u32 size;
	for (size_t i = 0; i < n->modules.n; i++)
		if (n->modules.p[i].at == at)
			return &n->modules.p[i];
	if (n->modules.n == MODULES_MAX)
		clrnames_drop(n);
	const struct PeBytes b = {jit_read_memory, &n->tgid, image_of(n, at)};
	if (pe_metadata(&b, &addr, &size) && size <= METADATA_MAX && n->metadata + size <= METADATA_ALL) {
		n->metadata += size;
		m.bytes = xmalloc(size);
		if (!jit_read_memory(&n->tgid, addr, m.bytes, size) || !clrmeta_open(&m.meta, m.bytes, size)) {
			free(m.bytes);
			m.bytes = NULL;
		}
	}
	vec_push(&n->modules, m);
	return &vec_last(&n->modules);
}

// .NET 8: a type that was made of a generic one belongs to what asked for it, and says elsewhere what defines it: behind the slots of its methods, if other things are there too.
static u64 defining_module(struct ClrNames *n, u64 type)
{
	struct {
		u32 flags, size;
		u16 flags2, token, nvirtuals, ninterfaces;
		u64 parent, module, aux, canonical, slot1, slot2;
	} mt;
	_Static_assert(sizeof(mt) == 64, "MethodTable");
	enum { HAS_COMPONENTS_OR_GENERIC = 0x80000030, HAS_OVERRIDE = 0x10, SLOTS_A_CHUNK = 8 };
	u64 module;
	if (!jit_read_memory(&n->tgid, type, &mt, sizeof(mt)))
		return 0;
	if (mt.flags & HAS_COMPONENTS_OR_GENERIC && mt.canonical & 1) { // what is shared by several
		type = mt.canonical & ~3ull;
		if (!jit_read_memory(&n->tgid, type, &mt, sizeof(mt)))
			return 0;
	}
	u32 before = (u32)__builtin_popcount(mt.flags2 & (HAS_OVERRIDE - 1));
	if (!(mt.flags & HAS_COMPONENTS_OR_GENERIC) || !(mt.flags2 & HAS_OVERRIDE))
		return mt.module;
	if (before < 2)
		return before ? mt.slot2 : mt.slot1;
	u64 chunks = (mt.nvirtuals + SLOTS_A_CHUNK - 1) / SLOTS_A_CHUNK;
	return jit_read_memory(&n->tgid, type + sizeof(mt) + (chunks + before - 2) * 8, &module, sizeof(module)) ? module : 0;
}

static u64 module_of(struct ClrNames *n, u64 type)
{
	u64 module;
	if (n->shape.loader)
		return defining_module(n, type);
	return jit_read_memory(&n->tgid, type + n->shape.module, &module, sizeof(module)) ? module : 0;
}

// Of what the program or the runtime made at run time.
static char *dynamic_name(struct ClrNames *n, u64 method)
{
	char name[NAME_MAX_BYTES] = "";
	u64 at = 0;
	u32 len = 0;
	if (n->shape.dynamic_name && jit_read_memory(&n->tgid, method + n->shape.dynamic_name, &at, sizeof(at)))
		for (; len + 1 < sizeof(name) && jit_read_memory(&n->tgid, at + len, name + len, 1) && name[len]; len++)
			;
	name[len] = 0;
	return xstrdup(len ? name : "[dynamic method]");
}

char *clrnames_method(struct ClrNames *n, u64 method)
{
	struct {
		u16 flags3, chunk_index_and_flags, slot, flags;
	} desc;
	const struct Shape *s = &n->shape;
	struct Str out = {0};
	u64 type, module;
	u16 tokens;
	if (!n->shape_read)
		read_shape(n);
	if (!s->chunk_size || !jit_read_memory(&n->tgid, method, &desc, sizeof(desc)))
		return xstrdup("[method]");
	if ((desc.flags & 7) == DYNAMIC)
		return dynamic_name(n, method);
	u64 chunk = method - (desc.chunk_index_and_flags & 255u) * 8u - s->chunk_size;
	if (jit_read_memory(&n->tgid, chunk, &type, sizeof(type)) && jit_read_memory(&n->tgid, chunk + s->chunk_tokens, &tokens, sizeof(tokens)) && (module = module_of(n, type))) {
		const struct Module *m = module_at(n, module);
		if (m->bytes && clrmeta_method(&m->meta, (tokens & 0xfffu) << 12 | (desc.flags3 & 0xfffu), &out)) {
			char *name = xstrdup(str_text(&out));
			str_deinit(&out);
			return name;
		}
	}
	str_deinit(&out);
	return xstrdup("[method]");
}
