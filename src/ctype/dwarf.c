// Functions and types of user binaries from their debug information (DWARF, in the binary or in its separate debug file).
// Input: the path of an executable or library. Output: args records whose fields say in which argument register each value is.
// Invariant: a Dwfl stays open as long as Ctypes: records refer to its entries.
#include "arch/arch.h"
#include "base/base.h"
#define CTYPE_DWARF
#include "ctype/internal.h"
#include <errno.h>

// ---- files

static void file_close(struct DwFile *f)
{
	if (f->dwfl)
		dwfl_end(f->dwfl);
	dwp_close(f->dwp);
	free(f->dirs);
	free(f->path);
	free(f);
}

bool ctype_has_dwarf(void)
{
	return true;
}

void dwarfset_destroy(struct DwarfSet *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->files.n; i++)
		file_close(s->files.p[i]);
	vec_deinit(&s->files);
	map_deinit(&s->memo);
	free(s->debug_path);
	free(s);
}

static struct DwarfSet *dwarfset(struct Ctypes *c)
{
	if (c->dwarf)
		return c->dwarf;
	c->dwarf = xcalloc(1, sizeof(*c->dwarf));
	c->dwarf->callbacks = (Dwfl_Callbacks){
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &c->dwarf->debug_path, // NULL: libdwfl's own
	};
	return c->dwarf;
}

// An empty part is the binary's own directory, one that does not begin with a slash lies below that.
void ctype_debug_dirs(struct Ctypes *c, const char *const *dirs, u32 n)
{
	struct Str s = {0};
	for (u32 i = 0; i < n; i++)
		str_addf(&s, "%s:", dirs[i]);
	if (n)
		dwarfset(c)->debug_path = xasprintf("%s:.debug:/usr/lib/debug", s.p);
	str_deinit(&s);
}

// Where parts of split debug information of the binary at path are looked for: the directories of --debuginfo, as whole paths. NULL: none.
static char *whole_dirs(const char *path, const char *dirs)
{
	struct Str s = {0};
	const char *slash = strrchr(path, '/');
	for (size_t n; dirs && *dirs; dirs += n + (dirs[n] == ':')) {
		n = strcspn(dirs, ":");
		if (n && *dirs != '/')
			str_addf(&s, "%.*s/", slash ? (int)(slash - path) : 1, slash ? path : ".");
		if (n)
			str_addf(&s, "%.*s:", (int)n, dirs);
	}
	return s.p;
}

// A package is named after the binary, or after the file that its debug information is in.
static void find_package(struct DwFile *f)
{
	const char *dirs = f->dirs, *main, *debug = NULL, *slash = strrchr(f->path, '/');
	const char *name = slash ? slash + 1 : f->path;
	char *path = xasprintf("%s.dwp", f->path);
	f->dwp = dwp_open(path);
	dwfl_module_info(f->mod, NULL, NULL, NULL, NULL, NULL, &main, &debug);
	if (!f->dwp && debug) {
		free(path);
		f->dwp = dwp_open(path = xasprintf("%s.dwp", debug));
	}
	for (size_t n; !f->dwp && dirs && *dirs; dirs += n + (dirs[n] == ':')) {
		n = strcspn(dirs, ":");
		free(path);
		f->dwp = dwp_open(path = xasprintf("%.*s/%s.dwp", (int)n, dirs, name));
	}
	free(path);
}

// libdwfl looks for .gnu_debuglink and build-id files, and asks debuginfod when DEBUGINFOD_URLS is set.
static struct err *open_dwarf(struct DwFile *f, const Dwfl_Callbacks *callbacks, const char *dirs)
{
	if (!can_access(f->path, R_OK))
		return err_errno(errno, "cannot read %s", f->path);
	f->dwfl = dwfl_begin(callbacks);
	if (!f->dwfl)
		return err_new("cannot read %s: %s", f->path, dwfl_errmsg(-1));
	dwfl_report_begin(f->dwfl);
	f->mod = dwfl_report_offline(f->dwfl, "", f->path, -1);
	dwfl_report_end(f->dwfl, NULL, NULL);
	if (!f->mod)
		return err_new("%s is no ELF file that can be read: %s", f->path, dwfl_errmsg(-1));
	f->dw = dwfl_module_getdwarf(f->mod, &f->bias);
	Dwarf_Off off = 0, next;
	size_t header;
	if (!f->dw || dwarf_next_unit(f->dw, off, &next, &header, NULL, NULL, NULL, NULL, NULL, NULL))
		return err_new("%s has no debug information (DWARF), neither inside nor in a separate file: install its debug package", f->path);
	f->dirs = whole_dirs(f->path, dirs);
	find_package(f);
	return NULL;
}

static struct err *dwarf_file(struct Ctypes *c, const char *path, struct DwFile **out)
{
	dwarfset(c);
	for (size_t i = 0; i < c->dwarf->files.n; i++) {
		*out = c->dwarf->files.p[i];
		if (!strcmp((*out)->path, path))
			return NULL;
	}
	struct DwFile *f = xcalloc(1, sizeof(*f));
	f->path = xstrdup(path);
	struct err *e = open_dwarf(f, &c->dwarf->callbacks, c->dwarf->debug_path);
	if (e) {
		file_close(f);
		return e;
	}
	vec_push(&c->dwarf->files, f);
	*out = f;
	return NULL;
}

struct err *ctype_add_dwarf(struct Ctypes *c, const char *path)
{
	struct DwFile *f;
	return dwarf_file(c, path, &f);
}

// A skeleton's entries are in a .dwo file, which libdw has found, in the package, or in a .dwo file below --debuginfo.
static Dwarf_Die *split_unit(struct DwFile *f, Dwarf_CU *cu, Dwarf_Die *skeleton, Dwarf_Die *dwo)
{
	uint64_t id = 0;
	if (dwo->addr)
		return dwo;
	bool known = !dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &id, NULL, NULL);
	Dwarf_Attribute a;
	const char *name = dwarf_attr(skeleton, DW_AT_dwo_name, &a) || dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &a) ? dwarf_formstring(&a) : NULL;
	Dwarf_Die *die = known && f->dwp ? dwp_unit(f->dwp, id, skeleton) : NULL;
	if (!die && known && name && f->dirs) {
		f->dwp = f->dwp ? f->dwp : dwp_empty();
		die = dwp_search(f->dwp, f->dirs, name, id, skeleton);
	}
	if (!die && !f->missing)
		f->missing = name;
	return die ? die : skeleton;
}

bool dw_each_cu(struct DwFile *f, bool (*fn)(struct DwFile *f, Dwarf_Die *cu, void *arg), void *arg)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, sub;
	uint8_t unit;
	while (!dwarf_get_units(f->dw, cu, &cu, NULL, &unit, &die, &sub)) {
		Dwarf_Die *entries = unit == DW_UT_skeleton ? split_unit(f, cu, &die, &sub) : &die;
		if (unit != DW_UT_type && unit != DW_UT_split_type && fn(f, entries, arg))
			return true;
	}
	return false;
}

// ---- types by name

struct TypeSearch {
	int tag; // 0: typedefs, records, enums
	const char *name;
	Dwarf_Die *out;
};

static bool same_tag(int want, int tag)
{
	if (want == DW_TAG_structure_type || want == DW_TAG_class_type)
		return tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
	if (want)
		return tag == want;
	return tag == DW_TAG_typedef || tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_enumeration_type;
}

static bool search_children(Dwarf_Die *parent, const struct TypeSearch *s, int depth)
{
	Dwarf_Die child;
	for (bool more = !dwarf_child(parent, &child); more; more = !dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);
		const char *name = same_tag(s->tag, tag) && !dwarf_hasattr(&child, DW_AT_declaration) ? dwarf_diename(&child) : NULL;
		if (name && !strcmp(name, s->name)) {
			*s->out = child;
			return true;
		}
		if (tag == DW_TAG_namespace && depth < 8 && search_children(&child, s, depth + 1))
			return true;
	}
	return false;
}

static bool search_cu(struct DwFile *f, Dwarf_Die *cu, void *arg)
{
	return search_children(cu, arg, 0);
}

bool dw_find_type(struct DwFile *f, int tag, const char *name, Dwarf_Die *out)
{
	struct TypeSearch s = {tag, name, out};
	return dw_each_cu(f, search_cu, &s);
}

const struct Type *dwarf_lookup(struct Ctypes *c, const char *name)
{
	int tag = 0;
	if (!strncmp(name, "struct ", 7))
		tag = DW_TAG_structure_type;
	else if (!strncmp(name, "union ", 6))
		tag = DW_TAG_union_type;
	else if (!strncmp(name, "enum ", 5))
		tag = DW_TAG_enumeration_type;
	const char *bare = tag ? strchr(name, ' ') + 1 : name;
	for (size_t i = 0; c->dwarf && i < c->dwarf->files.n; i++) {
		Dwarf_Die die;
		if (dw_find_type(c->dwarf->files.p[i], tag, bare, &die))
			return dw_to_type(c, c->dwarf->files.p[i], &die);
	}
	return NULL;
}

// ---- functions

struct FuncSearch {
	struct DwFile *file;
	const char *name;
	Dwarf_Addr addr; // 0: by name
	Dwarf_Die die;
	bool found, inlined;
};

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a) || dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
		return dwarf_formstring(&a);
	return NULL;
}

static int check_func(Dwarf_Die *die, void *arg)
{
	struct FuncSearch *s = arg;
	Dwarf_Addr low = 0;
	bool code = !dwarf_entrypc(die, &low) || (s->file->dwp && dwp_entry(s->file->dwp, die, &low));
	if (s->addr) {
		s->found = code && low == s->addr;
	} else {
		const char *name = dwarf_diename(die), *linkage = linkage_name(die);
		if ((name && !strcmp(name, s->name)) || (linkage && !strcmp(linkage, s->name))) {
			s->found = code;
			s->inlined |= !code && dwarf_hasattr(die, DW_AT_inline);
		}
	}
	if (!s->found)
		return DWARF_CB_OK;
	s->die = *die;
	return DWARF_CB_ABORT;
}

static bool search_funcs(struct DwFile *f, Dwarf_Die *cu, void *arg)
{
	struct FuncSearch *s = arg;
	s->file = f;
	return dwarf_getfuncs(cu, check_func, s, 0) > 0 && s->found;
}

// The symbol table knows the address at once, and from the address the unit is found without walking all of them.
static bool find_by_symbol(struct DwFile *f, struct FuncSearch *s)
{
	int n = dwfl_module_getsymtab(f->mod);
	for (int i = 1; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		Dwarf_Addr bias = 0;
		const char *name = dwfl_module_getsym_info(f->mod, i, &sym, &addr, NULL, NULL, NULL);
		if (!name || GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF || strcmp(name, s->name))
			continue;
		Dwarf_Die sub, *cu = dwfl_module_addrdie(f->mod, addr, &bias);
		uint8_t unit;
		if (cu && !dwarf_cu_info(cu->cu, NULL, &unit, NULL, &sub, NULL, NULL, NULL) && unit == DW_UT_skeleton)
			cu = split_unit(f, cu->cu, cu, &sub);
		s->addr = addr - (cu ? bias : f->bias);
		if (s->addr && (cu ? search_funcs(f, cu, s) : dw_each_cu(f, search_funcs, s)))
			return true;
	}
	s->addr = 0;
	return false;
}

// ---- arguments

struct ArgPlan {
	u32 next;    // general register
	bool listed; // the value is a scalar in one register
	u32 reg;
	u32 floats;  // so far
};

// Does this member function make its class "non-trivial for the purposes of calls" (Itanium C++ ABI, 1.1)? A destructor or a
// copy or move constructor somebody wrote, a virtual function.
static bool makes_nontrivial(Dwarf_Die *func, const char *class_name)
{
	Dwarf_Die child, type;
	const char *name = dwarf_diename(func);
	u32 n = 0;
	if (dwarf_hasattr(func, DW_AT_virtuality))
		return true;
	if (!name || dwarf_hasattr(func, DW_AT_artificial) || dwarf_hasattr(func, DW_AT_defaulted))
		return false;
	if (*name == '~')
		return true;
	if (!class_name || strcmp(name, class_name))
		return false;
	for (bool more = !dwarf_child(func, &child); more; more = !dwarf_siblingof(&child, &child)) {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter || n++ != 1 || !dw_type_of(&child, &type))
			continue;
		int tag = dwarf_tag(&type);
		Dwarf_Die to, bare;
		const char *arg = (tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) && dw_type_of(&type, &to) && dw_peel(&to, &bare)
					  ? dwarf_diename(&bare)
					  : NULL;
		return arg && !strcmp(arg, class_name);
	}
	return false;
}

// Passed by a pointer to a copy: what the compiler says (DWARF 5), else what the class's members mean.
static bool by_reference(Dwarf_Die *type, int depth)
{
	Dwarf_Attribute a;
	Dwarf_Word v;
	Dwarf_Die child, member, bare;
	if (dwarf_attr(type, DW_AT_calling_convention, &a) && !dwarf_formudata(&a, &v))
		return v == DW_CC_pass_by_reference;
	for (bool more = depth < 8 && !dwarf_child(type, &child); more; more = !dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_subprogram && makes_nontrivial(&child, dwarf_diename(type)))
			return true;
		if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) && dw_type_of(&child, &member) && dw_peel(&member, &bare) &&
		    (dwarf_tag(&bare) == DW_TAG_structure_type || dwarf_tag(&bare) == DW_TAG_class_type) && by_reference(&bare, depth + 1))
			return true;
	}
	return false;
}

static u32 take_regs(struct ArgPlan *p, u32 n)
{
	if (p->next + n > HOST_ARG_REGS)
		return HOST_ARG_REGS; // on the stack; later smaller ones may still get a register on x86-64
	u32 reg = p->next;
	p->next += n;
	return reg;
}

// Where the calling convention puts one argument of type t (peeled; NULL: unknown).
static void plan_arg(struct ArgPlan *p, Dwarf_Die *t, const struct Type *ty)
{
	p->listed = false;
	if (ty->kind == TY_NONE) { // floating point has its own registers
#if defined(__riscv) // eight; then they take what is left of the others
		if (++p->floats > 8)
			p->next = HOST_ARG_REGS;
#endif
		return;
	}
	if (ty->kind == TY_RECORD && t && !by_reference(t, 0)) {
		u32 regs = dw_int_eightbytes(t, ty->size);
#if defined(__x86_64__)
		if (ty->size <= 16)
			take_regs(p, (regs & 1) + (regs >> 1 & 1));
#elif defined(__riscv)
		// RISC-V ELF psABI: up to 16 bytes in a registers, one and the stack if only one is left; numbers of floating point among them go into registers of their own
		// by rules that hang on the members, so what comes behind such is not told.
		u32 words = ty->size > 16 ? 1 : (ty->size + 7) / 8;
		if ((ty->size <= 16 && regs != (1u << words) - 1) || take_regs(p, words) == HOST_ARG_REGS)
			p->next = HOST_ARG_REGS;
#else
		// AAPCS64: up to 16 bytes in x registers (all-float aggregates in v registers), larger ones by a pointer to a copy.
		if (regs || ty->size > 16)
			if (take_regs(p, ty->size > 16 ? 1 : (ty->size + 7) / 8) == HOST_ARG_REGS)
				p->next = HOST_ARG_REGS;
#endif
		return;
	}
	p->reg = take_regs(p, 1);
	p->listed = p->reg < HOST_ARG_REGS;
}

struct UFunc {
	struct Record *args;
	const struct Type *ret;
};

static struct UFunc *make_args(struct Ctypes *c, struct DwFile *f, Dwarf_Die *func, const char *name)
{
	Dwarf_Die type, peeled, child;
	VEC(struct Field) fields = {0};
	VEC(const char *) texts = {0};
	struct ArgPlan plan = {0};
	struct UFunc *u = arena_new(c->arena, struct UFunc);
	bool has_ret = dw_type_of(func, &type);
	u->ret = dw_to_type(c, f, has_ret ? &type : NULL);
#if !defined(__aarch64__)
	// A large aggregate is returned through a pointer that the caller passes as the first argument.
	if (u->ret->kind == TY_RECORD && (u->ret->size > 16 || (dw_peel(&type, &peeled) && by_reference(&peeled, 0))))
		plan.next = 1;
#endif
	for (bool more = !dwarf_child(func, &child); more; more = !dwarf_siblingof(&child, &child)) {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		bool typed = dw_type_of(&child, &type);
		const struct Type *ty = dw_to_type(c, f, typed ? &type : NULL);
		const char *arg = dwarf_diename(&child);
		struct Str s = {0};
		dw_type_text(typed ? &type : NULL, &s);
		vec_push(&texts, arena_printf(c->arena, "%s%s%s", s.p, arg ? " " : "", arg ? arg : ""));
		str_deinit(&s);
		bool peels = typed && dw_peel(&type, &peeled);
		plan_arg(&plan, peels ? &peeled : NULL, ty);
		if (!plan.listed || !arg)
			continue;
		if (ty->kind == TY_RECORD)
			ty = ty_ptr(c->tab, ty, AS_USER);
		struct Field fld = {.name = arena_strdup(c->arena, arg), .type = ty, .off = plan.reg * 8, .user_ptr = ty->kind == TY_PTR};
		vec_push(&fields, fld);
	}
	struct Record *r = record_new(c, ORIGIN_UFUNC, arena_printf(c->arena, "%s_args", name), false, HOST_ARG_REGS * 8, 8);
	const char **t = arena_new_n(c->arena, const char *, texts.n);
	r->nfields = (u32)fields.n;
	r->fields = arena_new_n(c->arena, struct Field, fields.n);
	if (fields.n)
		memcpy(r->fields, fields.p, fields.n * sizeof(*fields.p));
	if (texts.n)
		memcpy(t, texts.p, texts.n * sizeof(*t));
	r->loaded = true;
	record_origin(r)->text = t;
	record_origin(r)->ntext = (u32)texts.n;
	vec_deinit(&fields);
	vec_deinit(&texts);
	u->args = r;
	return u;
}

struct err *ctype_uprobe_args(struct Ctypes *c, const char *path, const char *func, struct Record **args, const struct Type **ret)
{
	struct DwFile *f;
	struct FuncSearch s = {.name = func};
	char *key = arena_printf(c->arena, "%s:%s()", path, func);
	struct UFunc *u = map_get(&c->funcs, key);
	if (!u) {
		struct err *e = dwarf_file(c, path, &f);
		if (e)
			return err_wrap(e, "the arguments of %s are not known (use arg0, arg1, ...)", func);
		if (!find_by_symbol(f, &s) && !dw_each_cu(f, search_funcs, &s)) {
			if (s.inlined)
				return err_new("function %s of %s is inlined everywhere: there is no code to probe", func, path);
			if (f->missing)
				return err_new("the debug information of %s is split, and %s is not there (use arg0, arg1, ...)", path, f->missing);
			return err_new("the debug information of %s has no function %s (use arg0, arg1, ...)", path, func);
		}
		u = make_args(c, f, &s.die, func);
		map_put(&c->funcs, key, u);
	}
	*args = u->args;
	*ret = u->ret;
	return NULL;
}
