#include "t.h"
#include "ctype/priv.h"
#include <glob.h>

struct Env {
	struct Arena a;
	struct TypeTab tab;
	struct Diags d;
	struct Ctypes *c;
};

static void env_init(struct Env *e)
{
	*e = (struct Env){0};
	typetab_init(&e->tab, &e->a);
	e->c = ctypes_create(&e->a, &e->tab, &e->d);
}

static void env_deinit(struct Env *e)
{
	ctypes_destroy(e->c);
	typetab_deinit(&e->tab);
	diags_deinit(&e->d);
	arena_deinit(&e->a);
}

// "int32 pid @8" a line.
static void fields_dump(const struct Record *r, struct Str *out)
{
	for (u32 i = 0; i < r->nfields; i++) {
		const struct Field *f = &r->fields[i];
		ty_name(f->type, out);
		str_addf(out, " %s @%u%s%s%s\n", f->name, f->off, f->data_loc ? " data_loc" : "", f->rel_loc ? " rel_loc" : "",
			 f->user_ptr ? " user" : "");
	}
}

static const char sample[] =
	"name: x\nID: 1\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc u64[] vals;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc cpumask_t cpus;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:char comm[16];\toffset:20;\tsize:16;\tsigned:0;\n"
	"\tfield:char comm2[TASK_COMM_LEN];\toffset:36;\tsize:16;\tsigned:0;\n"
	"\tfield:unsigned long args[6];\toffset:56;\tsize:48;\tsigned:0;\n"
	"\tfield:const char *const * argv;\toffset:104;\tsize:8;\tsigned:0;\n"
	"\tfield:struct sock * sk;\toffset:112;\tsize:8;\tsigned:0;\n"
	"\tfield:int dfd;\toffset:120;\tsize:8;\tsigned:0;\n"
	"\tfield:umode_t mode;\toffset:128;\tsize:8;\tsigned:0;\n"
	"\tfield:some_t t;\toffset:136;\tsize:4;\tsigned:1;\n"
	"\tfield:enum zone z;\toffset:140;\tsize:4;\tsigned:0;\n"
	"\tfield:pid_t p;\toffset:144;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"field:int x;offset:1;size:1;\"\n";

TEST(tracepoint_format_fields)
{
	struct Env e;
	struct Str s = {0};
	const char *why;
	env_init(&e);
	struct Record *r = tracefs_parse_format(e.c, "syscalls", "x", sample, &why);
	CHECK(r && !why);
	if (r) {
		fields_dump(r, &s);
		CHECK_STR(str_text(&s), "uint16 common_type @0\nint32 common_pid @4\nint8[0] name @8 data_loc\nuint64[0] vals @12 rel_loc\n"
					"uint64[0] cpus @16 data_loc\nint8[16] comm @20\nint8[16] comm2 @36\nuint64[6] args @56\n"
					"int8 * * argv @104 user\nstruct sock * sk @112 user\nint64 dfd @120\nuint16 mode @128\nint32 t @136\n"
					"uint32 z @140\nuint64 p @144\n");
		CHECK_EQ(r->size, 152);
		CHECK(r->is_args && r->loaded);
		CHECK_STR(r->name, "_tracepoint_syscalls_x");
		CHECK(r->fields[5].type->elem->is_char);
		CHECK_EQ(r->fields[8].type->as, AS_USER);
	}
	CHECK(!tracefs_parse_format(e.c, "a", "b", "nothing here\n", &why) && why);
	CHECK(!tracefs_parse_format(e.c, "a", "b", "\tfield:x;\toffset:0;\tsize:4;\n", &why) && why);
	str_deinit(&s);
	env_deinit(&e);
}

TEST(tracepoint_errors)
{
	struct Env e;
	struct Record *r;
	env_init(&e);
	struct err *er = ctype_tracepoint_args(e.c, "sched", "no_such_event", &r);
	CHECK(er && strstr(err_text(er), "sched:no_such_event"));
	err_free(er);
	er = ctype_tracepoint_args(e.c, "../..", "x", &r);
	CHECK(er != NULL);
	err_free(er);
	env_deinit(&e);
}

// Every event of this kernel: each field lies in the record, no two own fields overlap, scalar sizes do not exceed the file's.
TEST(tracepoint_all_formats)
{
	struct Env e;
	const char *dir;
	glob_t g = {0};
	env_init(&e);
	struct err *er = tracefs_path(&dir);
	if (er) {
		err_free(er);
		env_deinit(&e);
		SKIP("no tracefs");
	}
	char *pat = arena_printf(&e.a, "%s/events/*/*/format", dir);
	glob(pat, 0, NULL, &g);
	CHECK(g.gl_pathc > 100);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		char cat[128], event[128];
		struct Record *r = NULL;
		const char *tail = g.gl_pathv[i] + strlen(dir) + strlen("/events/");
		CHECK_EQ(sscanf(tail, "%127[^/]/%127[^/]", cat, event), 2);
		if (!strcmp(cat, "ftrace")) // the tracer's own entries: dynamic arrays of size 0
			continue;
		er = ctype_tracepoint_args(e.c, cat, event, &r);
		if (er) {
			T_FAIL("%s", err_text(er));
			err_free(er);
			continue;
		}
		for (u32 k = 0; k < r->nfields; k++) {
			const struct Field *f = &r->fields[k], *n = k + 1 < r->nfields ? f + 1 : NULL;
			u32 size = f->data_loc || f->rel_loc ? 4 : f->type->size;
			if (!size || f->off + size > r->size || (n && f->off + size > n->off))
				T_FAIL("%s.%s: size %u at %u of %u", r->name, f->name, size, f->off, r->size);
		}
	}
	globfree(&g);
	env_deinit(&e);
}

T_MAIN()
