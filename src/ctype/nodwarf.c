// In place of dwarf.c and dwarftype.c where sonde is built without libdw (SONDE_MIN=1): no binary has types or known arguments, and says so.
#include "ctype/internal.h"

bool ctype_has_dwarf(void)
{
	return false;
}

void dwarfset_destroy(struct DwarfSet *s)
{
}

void ctype_debug_dirs(struct Ctypes *c, const char *const *dirs, u32 n)
{
}

struct err *ctype_add_dwarf(struct Ctypes *c, const char *path)
{
	return err_new("this sonde was built without libdw: it reads no debug information");
}

const struct Type *dwarf_lookup(struct Ctypes *c, const char *name)
{
	return NULL;
}

bool dw_record_load(struct Ctypes *c, struct Record *r)
{
	return false;
}

struct err *ctype_uprobe_args(struct Ctypes *c, const char *path, const char *func, struct Record **args, const struct Type **ret)
{
	return err_new("the arguments of %s are not known (use arg0, arg1, ...): this sonde was built without libdw", func);
}
