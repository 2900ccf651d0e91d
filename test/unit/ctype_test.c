#include "t.h"
#include "ctype/internal.h"
#include <bpf/btf.h>
#include <glob.h>
#include <linux/btf.h>
#include <time.h>

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

// ---- BTF

static struct btf *libbpf_vmlinux(void)
{
	static struct btf *b; // parsed once for all tests
	if (!b)
		b = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	return b;
}

// One member as libbpf sees it against the field ctype made of it.
static void check_member(struct btf *b, const struct btf_type *t, u32 i, const struct Record *r, u32 *fi)
{
	const struct btf_member *m = btf_members(t) + i;
	const char *name = btf__name_by_offset(b, m->name_off);
	const struct Field *f = &r->fields[*fi];
	if (*fi >= r->nfields || strcmp(f->name, name)) {
		T_FAIL("%s.%s is missing", r->name, name);
		return;
	}
	++*fi;
	u32 bit = btf_member_bit_offset(t, i), bits = btf_member_bitfield_size(t, i);
	s64 size = btf__resolve_size(b, m->type);
	if (f->off * 8 + f->bit_off != bit || (f->bit_size != bits && bits != f->type->size * 8))
		T_FAIL("%s.%s is at %u:%u+%u, expected bit %u+%u", r->name, name, f->off, f->bit_off, f->bit_size, bit, bits);
	if (f->type->kind != TY_NONE && size >= 0 && (s64)f->type->size != size)
		T_FAIL("%s.%s has size %u, expected %lld", r->name, name, f->type->size, (long long)size);
}

// Every struct and union of this kernel: size, C alignment, names, offsets, bits and sizes of members as libbpf reads them.
TEST(btf_all_records)
{
	struct Env e;
	struct btf *b = libbpf_vmlinux();
	u32 n = 0;
	if (!b)
		SKIP("no /sys/kernel/btf/vmlinux");
	env_init(&e);
	struct Btf *mine = kbtf_vmlinux(e.c);
	CHECK(mine != NULL);
	for (u32 id = 1; mine && id < btf__type_cnt(b); id++) {
		const struct btf_type *t = btf__type_by_id(b, id);
		if (!btf_is_composite(t))
			continue;
		const struct Type *ty = kbtf_to_type(e.c, mine, id);
		CHECK_EQ(ty->kind, TY_RECORD);
		CHECK_EQ(ty->size, t->size);
		CHECK(ctype_record_load(e.c, ty->rec));
		CHECK_EQ(ty->rec->nfields, btf_vlen(t));
		CHECK_STR(ty->rec->name, btf__name_by_offset(b, t->name_off));
		for (u32 i = 0, fi = 0; i < btf_vlen(t); i++)
			check_member(b, t, i, ty->rec, &fi);
		n++;
	}
	CHECK(n > 1000);
	env_deinit(&e);
}

// As libbpf has it: offsets, in a record that a member is, of a record's size; records and fields that nobody has.
TEST(btf_places_are_libbpfs)
{
	static const char *const recs[] = {"task_struct", "mm_struct", "file", "inode", "pid", "vm_area_struct", "dentry"};
	struct btf *b = libbpf_vmlinux();
	if (!b)
		SKIP("no /sys/kernel/btf/vmlinux");
	struct BtfPlace p[2 * ARRAY_LEN(recs) + 3];
	u32 n = 0, whole[ARRAY_LEN(recs)] = {0};
	for (u32 i = 0; i < ARRAY_LEN(recs); i++) {
		s32 id = btf__find_by_name_kind(b, recs[i], BTF_KIND_STRUCT);
		const struct btf_type *t = id > 0 ? btf__type_by_id(b, (u32)id) : NULL;
		CHECK(t);
		if (!t)
			return;
		const char *last = NULL; // the last field of its own with a name
		for (u32 k = 0; k < btf_vlen(t); k++) {
			const char *name = btf__name_by_offset(b, btf_members(t)[k].name_off);
			if (*name && !btf_member_bitfield_size(t, k)) {
				last = name;
				whole[i] = btf_member_bit_offset(t, k) / 8;
			}
		}
		p[n++] = (struct BtfPlace){recs[i]};
		p[n++] = (struct BtfPlace){recs[i], last ? last : "nobody"};
		if (!last)
			whole[i] = UINT32_MAX;
	}
	p[n++] = (struct BtfPlace){"task_struct", "se.vruntime"};
	p[n++] = (struct BtfPlace){"task_struct", "no_such_field"};
	p[n++] = (struct BtfPlace){"no_such_record", "x"};
	btf_places(p, n);
	for (u32 i = 0; i < ARRAY_LEN(recs); i++) {
		CHECK_EQ(p[2 * i].off, btf__type_by_id(b, (u32)btf__find_by_name_kind(b, recs[i], BTF_KIND_STRUCT))->size);
		CHECK_EQ(p[2 * i + 1].off, whole[i] == UINT32_MAX ? -1 : (s64)whole[i]);
	}
	struct BtfPlace in[] = {{"task_struct", "se"}, {"sched_entity", "vruntime"}};
	btf_places(in, ARRAY_LEN(in)); // these alone: no further than the second
	CHECK(in[0].off > 0 && in[1].off > 0);
	CHECK_EQ(p[n - 3].off, in[0].off + in[1].off);
	CHECK(p[n - 2].seen && p[n - 2].off == -1);
	CHECK(!p[n - 1].seen && p[n - 1].off == -1);
}

TEST(btf_alignment)
{
	struct Env e;
	struct btf *b = libbpf_vmlinux();
	static const char *const names[] = {"task_struct", "sock", "list_head", "qstr", "file", "page", "tcp_sock", "iphdr", "ethhdr", "in6_addr",
					    "timespec64", "path", "dentry", "inode", "bio", "request", "sk_buff", "msghdr"};
	if (!b)
		SKIP("no /sys/kernel/btf/vmlinux");
	env_init(&e);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		s32 id = btf__find_by_name_kind(b, names[i], BTF_KIND_STRUCT);
		if (id > 0 && (int)kbtf_type_align(e.c, kbtf_vmlinux(e.c), (u32)id) != btf__align_of(b, (u32)id))
			T_FAIL("%s is aligned to %u, expected %d", names[i], kbtf_type_align(e.c, kbtf_vmlinux(e.c), (u32)id),
			       btf__align_of(b, (u32)id));
	}
	env_deinit(&e);
}

TEST(btf_lookup_spellings)
{
	struct Env e;
	if (!libbpf_vmlinux())
		SKIP("no /sys/kernel/btf/vmlinux");
	env_init(&e);
	const struct Type *t = ctype_lookup(e.c, "struct task_struct");
	CHECK(t && t->kind == TY_RECORD && !t->rec->loaded);
	CHECK(ctype_lookup(e.c, "task_struct") == t);
	CHECK(ctype_lookup(e.c, "const  struct task_struct ") == t);
	CHECK(!ctype_lookup(e.c, "union task_struct"));
	CHECK(!ctype_lookup(e.c, "struct no_such_thing"));
	CHECK(!ctype_lookup(e.c, "struct no_such_thing"));
	CHECK(ctype_lookup(e.c, "unsigned long long") == ty_int(&e.tab, 8, false));
	CHECK(ctype_lookup(e.c, "long unsigned int") == ty_int(&e.tab, 8, false));
	CHECK(ctype_lookup(e.c, "short") == ty_int(&e.tab, 2, true));
	CHECK(ctype_lookup(e.c, "char") == ty_char(&e.tab));
	CHECK(ctype_lookup(e.c, "unsigned char") == ty_int(&e.tab, 1, false));
	CHECK(ctype_lookup(e.c, "dev_t") == ty_int(&e.tab, 4, false));
	CHECK(!ctype_lookup(e.c, "long char"));
	t = ctype_lookup(e.c, "enum pid_type");
	CHECK(t && t->kind == TY_INT && t->en && !strcmp(t->en->name, "pid_type"));
	t = ctype_lookup(e.c, "spinlock_t");
	CHECK(t && t->kind == TY_RECORD && !strcmp(t->rec->name, "spinlock"));
	s64 v = 0;
	CHECK(ctype_enum_const(e.c, "PIDTYPE_TGID", &v, &t) && v == 1 && !strcmp(t->en->name, "pid_type"));
	CHECK(!ctype_enum_const(e.c, "NO_SUCH_CONST_X", &v, &t));
	CHECK_STR(ctype_nearest(e.c, "struct task_strukt"), "struct task_struct");
	env_deinit(&e);
}

// What a BPF program brings along: names of its functions by number.
TEST(btf_of_a_program)
{
	struct btf *own = btf__new_empty();
	const char *why;
	u32 size;
	int num = btf__add_int(own, "int", 4, BTF_INT_SIGNED), proto = btf__add_func_proto(own, num);
	int main_id = btf__add_func(own, "main_prog", BTF_FUNC_GLOBAL, proto), sub_id = btf__add_func(own, "sub_prog", BTF_FUNC_STATIC, proto);
	const void *raw = btf__raw_data(own, &size);
	CHECK(raw != NULL);
	struct Btf *b = kbtf_from_data(memcpy(xmalloc(size), raw, size), size, false, NULL, &why);
	CHECK(b != NULL);
	CHECK_STR(kbtf_type_name(b, (u32)main_id), "main_prog");
	CHECK_STR(kbtf_type_name(b, (u32)sub_id), "sub_prog");
	CHECK_STR(kbtf_type_name(b, (u32)proto), "");
	CHECK(!kbtf_type_name(b, (u32)sub_id + 1));
	CHECK(!kbtf_type_name(b, 0));
	kbtf_free(b);
	btf__free(own);
	CHECK(!kbtf_from_data(xcalloc(1, 64), 64, false, NULL, &why)); // what the kernel did not fill
}

// A kernel that does not show its type information: a vmlinux has it in a section.
TEST(btf_of_an_elf_file)
{
	struct Env e;
	char elf[64], cmd[512];
	if (!libbpf_vmlinux())
		SKIP("no /sys/kernel/btf/vmlinux");
	snprintf(elf, sizeof(elf), "/tmp/sonde-ctype-test-%d.elf", getpid());
	snprintf(cmd, sizeof(cmd), "cp /sys/kernel/btf/vmlinux %s.btf && echo 'int x;' | cc -c -x c -o %s.o - && objcopy --add-section .BTF=%s.btf %s.o %s", elf, elf, elf, elf, elf);
	CHECK_EQ(system(cmd), 0);
	setenv("BPFTRACE_BTF", elf, 1);
	env_init(&e);
	const struct Type *t = ctype_lookup(e.c, "struct task_struct");
	CHECK(t && ctype_record_load(e.c, t->rec));
	CHECK_EQ(t ? t->rec->size : 0, btf__type_by_id(libbpf_vmlinux(), (u32)btf__find_by_name_kind(libbpf_vmlinux(), "task_struct", BTF_KIND_STRUCT))->size);
	env_deinit(&e);
	snprintf(cmd, sizeof(cmd), "%s.o", elf); // without the section
	setenv("BPFTRACE_BTF", cmd, 1);
	env_init(&e);
	CHECK(!kbtf_vmlinux(e.c));
	CHECK(strstr(kbtf_why_not(e.c), "it does not start like BTF") != NULL);
	env_deinit(&e);
	CHECK_EQ(truncate(elf, 100000), 0); // it ends inside the section
	setenv("BPFTRACE_BTF", elf, 1);
	env_init(&e);
	CHECK(!kbtf_vmlinux(e.c));
	env_deinit(&e);
	unsetenv("BPFTRACE_BTF");
	snprintf(cmd, sizeof(cmd), "rm -f %s %s.o %s.btf", elf, elf, elf);
	CHECK_EQ(system(cmd), 0);
}

// A record known by name only becomes the BTF one, size and all, whichever way it is reached first.
TEST(btf_named_record_resolves)
{
	struct Env e;
	struct Field f;
	if (!libbpf_vmlinux())
		SKIP("no /sys/kernel/btf/vmlinux");
	env_init(&e);
	const struct Type *t = ctype_named_record(e.c, "sock", false);
	CHECK_EQ(t->size, 0);
	CHECK(!e.c->btf);
	CHECK(ctype_record_load(e.c, t->rec));
	CHECK(t->size > 100 && t->rec->size == t->size);
	CHECK(ctype_lookup(e.c, "struct sock") == t);
	CHECK(record_field(t->rec, "__sk_common", &f));
	// The other way round: BTF reaches a struct that a tracepoint named before.
	const struct Type *path = ctype_named_record(e.c, "path", false), *file = ctype_lookup(e.c, "struct file");
	CHECK(file && ctype_record_load(e.c, file->rec));
	CHECK(record_field(file->rec, "f_path", &f) && f.type == path && path->size == 16);
	CHECK(!ctype_record_load(e.c, ctype_named_record(e.c, "no_such_thing", false)->rec));
	env_deinit(&e);
}

TEST(btf_functions)
{
	struct Env e;
	struct Record *args;
	const struct Type *ret;
	u32 id = 0;
	if (!libbpf_vmlinux())
		SKIP("no /sys/kernel/btf/vmlinux");
	env_init(&e);
	struct err *er = ctype_func(e.c, NULL, "vfs_read", &args, &ret, &id);
	CHECK(!er);
	if (!er) {
		struct Str s = {0};
		fields_dump(args, &s);
		CHECK_STR(str_text(&s), "struct file * file @0\nint8 * buf @8\nuint64 count @16\nint64 * pos @24\n");
		CHECK(ret == ty_int(&e.tab, 8, true));
		CHECK_EQ(id, btf__find_by_name_kind(libbpf_vmlinux(), "vfs_read", BTF_KIND_FUNC));
		CHECK_EQ(ctype_func_id(e.c, "vfs_read"), id);
		CHECK(!ctype_args_module(args));
		str_deinit(&s);
	}
	er = ctype_func(e.c, NULL, "no_such_function", &args, &ret, &id);
	CHECK(er && strstr(err_text(er), "no_such_function"));
	err_free(er);
	er = ctype_func(e.c, "no_such_module", "vfs_read", &args, &ret, &id);
	CHECK(er && strstr(err_text(er), "no_such_module"));
	err_free(er);
	er = ctype_rawtp(e.c, "sched_switch", &args, &id);
	CHECK(!er);
	if (!er) {
		CHECK_EQ(id, btf__find_by_name_kind(libbpf_vmlinux(), "btf_trace_sched_switch", BTF_KIND_TYPEDEF));
		CHECK(args->nfields >= 3);
		CHECK_STR(args->fields[0].name, "preempt");
		CHECK_STR(args->fields[1].name, "prev");
		CHECK_EQ(args->fields[1].off, 8);
		CHECK_STR(args->fields[1].type->elem->rec->name, "task_struct");
	}
	er = ctype_iter(e.c, "task", &args, &id);
	CHECK(!er && args->loaded && args->nfields == 2);
	CHECK_EQ(id, btf__find_by_name_kind(libbpf_vmlinux(), "bpf_iter_task", BTF_KIND_FUNC));
	struct Field f;
	CHECK(record_field(args, "task", &f) && f.off == 8);
	env_deinit(&e);
}

// ---- BTF made here: what this kernel's compiler did not emit

struct Made {
	struct Env e;
	struct btf *base, *mod;
	struct Btf *b, *m;
};

static struct Btf *reader_of(struct btf *b, struct Btf *base)
{
	u32 size;
	const char *why;
	const void *raw = btf__raw_data(b, &size);
	struct Btf *r = kbtf_from_data(memcpy(xmalloc(size), raw, size), size, false, base, &why);
	CHECK(r != NULL);
	return r;
}

static void made_deinit(struct Made *m)
{
	kbtf_free(m->m);
	kbtf_free(m->b);
	btf__free(m->mod);
	btf__free(m->base);
	env_deinit(&m->e);
}

TEST(btf_type_tags)
{
	struct Made m = {0};
	struct Field f;
	env_init(&m.e);
	m.base = btf__new_empty();
	int chr = btf__add_int(m.base, "char", 1, 0), user = btf__add_type_tag(m.base, "user", chr), cuser = btf__add_const(m.base, user);
	int pu = btf__add_ptr(m.base, cuser), tag = btf__add_type_tag(m.base, "percpu", chr), pp = btf__add_ptr(m.base, tag);
	int rcu = btf__add_type_tag(m.base, "rcu", chr), pr = btf__add_ptr(m.base, rcu), fwd = btf__add_fwd(m.base, "other", BTF_FWD_UNION);
	int pf = btf__add_ptr(m.base, fwd), i128 = btf__add_int(m.base, "__int128", 16, 0), fl = btf__add_float(m.base, "float", 4);
	int s = btf__add_struct(m.base, "s", 64);
	btf__add_field(m.base, "u", pu, 0, 0);
	btf__add_field(m.base, "p", pp, 64, 0);
	btf__add_field(m.base, "r", pr, 128, 0);
	btf__add_field(m.base, "o", pf, 192, 0);
	btf__add_field(m.base, "w", i128, 256, 0);
	btf__add_field(m.base, "f", fl, 384, 0);
	m.b = reader_of(m.base, NULL);
	const struct Type *t = kbtf_to_type(m.e.c, m.b, (u32)s);
	CHECK(ctype_record_load(m.e.c, t->rec));
	CHECK(record_field(t->rec, "u", &f) && f.user_ptr && f.type->as == AS_USER && f.type->elem == ty_char(&m.e.tab));
	CHECK(record_field(t->rec, "p", &f) && f.percpu && !f.user_ptr && f.type->as == AS_KERNEL);
	CHECK(record_field(t->rec, "r", &f) && !f.percpu && !f.user_ptr && f.type->as == AS_KERNEL);
	CHECK(record_field(t->rec, "o", &f) && f.type->elem->rec->is_union && !strcmp(f.type->elem->rec->name, "other"));
	CHECK(record_field(t->rec, "w", &f) && f.type->size == 16 && kbtf_type_align(m.e.c, m.b, (u32)s) == 16);
	CHECK(record_field(t->rec, "f", &f) && f.type->kind == TY_NONE && f.type->size == 4);
	made_deinit(&m);
}

// Bit-fields from before the kind flag: an INT of few bits with its own offset. libbpf no longer makes them: patched in.
TEST(btf_old_bitfields)
{
	struct Made m = {0};
	struct Field f;
	env_init(&m.e);
	m.base = btf__new_empty();
	int i3 = btf__add_int(m.base, "int3", 4, BTF_INT_SIGNED), s = btf__add_struct(m.base, "s", 8);
	btf__add_field(m.base, "a", i3, 32, 0);
	u32 size;
	const char *why;
	const void *raw = btf__raw_data(m.base, &size);
	u8 *copy = memcpy(xmalloc(size), raw, size);
	u32 *info = (u32 *)(copy + sizeof(struct btf_header) + sizeof(struct btf_type)); // of type 1
	*info = (u32)BTF_INT_SIGNED << 24 | 5u << 16 | 3;
	m.b = kbtf_from_data(copy, size, false, NULL, &why);
	const struct Type *t = kbtf_to_type(m.e.c, m.b, (u32)s);
	CHECK(ctype_record_load(m.e.c, t->rec));
	CHECK(record_field(t->rec, "a", &f) && f.off == 4 && f.bit_off == 5 && f.bit_size == 3);
	made_deinit(&m);
}

// Split BTF: a module's types go on where vmlinux ends.
TEST(btf_split)
{
	struct Made m = {0};
	struct Field f;
	env_init(&m.e);
	m.base = btf__new_empty();
	int i = btf__add_int(m.base, "int", 4, BTF_INT_SIGNED), s = btf__add_struct(m.base, "base_s", 8);
	btf__add_field(m.base, "x", i, 0, 0);
	m.mod = btf__new_empty_split(m.base);
	int ms = btf__add_struct(m.mod, "mod_s", 16);
	btf__add_field(m.mod, "in", s, 0, 0);
	btf__add_field(m.mod, "y", i, 64, 0);
	int proto = btf__add_func_proto(m.mod, 0);
	btf__add_func_param(m.mod, "a", s);
	int fn = btf__add_func(m.mod, "mod_fn", BTF_FUNC_STATIC, proto);
	m.b = reader_of(m.base, NULL);
	m.m = reader_of(m.mod, m.b);
	CHECK_EQ(kbtf_find(m.m, "mod_s", BTF_KIND_BIT(BTF_KIND_STRUCT)), ms);
	CHECK_EQ(kbtf_find(m.m, "base_s", BTF_KIND_BIT(BTF_KIND_STRUCT)), 0);
	CHECK_EQ(kbtf_find(m.m, "mod_fn", BTF_KIND_BIT(BTF_KIND_FUNC)), fn);
	const struct Type *t = kbtf_to_type(m.e.c, m.m, (u32)ms);
	CHECK(ctype_record_load(m.e.c, t->rec) && t->size == 16);
	CHECK(record_field(t->rec, "in", &f) && f.type == kbtf_to_type(m.e.c, m.b, (u32)s));
	CHECK(ctype_record_load(m.e.c, f.type->rec) && record_field(f.type->rec, "x", &f));
	made_deinit(&m);
}

struct FirstFunc {
	char module[64], name[128];
};

static bool first_module_func(void *arg, const char *module, const char *name)
{
	struct FirstFunc *f = arg;
	if (!module)
		return true;
	snprintf(f->module, sizeof(f->module), "%s", module);
	snprintf(f->name, sizeof(f->name), "%s", name);
	return false;
}

// The loaded modules' own types against libbpf; a function only a module has is found there with and without naming the module.
TEST(btf_modules)
{
	struct Env e;
	glob_t g = {0};
	struct FirstFunc ff = {0};
	u32 n = 0;
	glob("/sys/kernel/btf/*", 0, NULL, &g);
	if (g.gl_pathc < 2 || !libbpf_vmlinux()) {
		globfree(&g);
		SKIP("no module with BTF is loaded");
	}
	env_init(&e);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		const char *name = strrchr(g.gl_pathv[i], '/') + 1;
		struct Btf *m = strcmp(name, "vmlinux") ? kbtf_module(e.c, name) : NULL;
		struct btf *b = m ? btf__parse_split(g.gl_pathv[i], libbpf_vmlinux()) : NULL;
		CHECK(m || !strcmp(name, "vmlinux"));
		for (u32 id = b ? btf__type_cnt(libbpf_vmlinux()) : 0; b && id < btf__type_cnt(b); id++) {
			const struct btf_type *t = btf__type_by_id(b, id);
			if (!btf_is_composite(t))
				continue;
			const struct Type *ty = kbtf_to_type(e.c, m, id);
			CHECK(ty->size == t->size && ctype_record_load(e.c, ty->rec) && ty->rec->nfields == btf_vlen(t));
			for (u32 k = 0, fi = 0; k < btf_vlen(t); k++)
				check_member(b, t, k, ty->rec, &fi);
			n++;
		}
		btf__free(b);
	}
	CHECK(n > 0);
	ctype_each_func(e.c, first_module_func, &ff);
	if (*ff.name) {
		struct Record *args;
		const struct Type *ret;
		struct Str s = {0};
		CHECK(!ctype_func(e.c, ff.module, ff.name, &args, &ret, NULL));
		CHECK_STR(ctype_args_module(args), ff.module);
		ctype_fields_text(e.c, args, &s);
		CHECK(!args->nfields || s.n);
		CHECK(!ctype_func(e.c, NULL, ff.name, &args, &ret, NULL));
		str_deinit(&s);
	}
	globfree(&g);
	env_deinit(&e);
}

// A struct that contains itself through an anonymous member, a typedef of itself, references out of range.
TEST(btf_damaged)
{
	struct Made m = {0};
	struct Field f;
	env_init(&m.e);
	m.base = btf__new_empty();
	int s = btf__add_struct(m.base, "s", 8);
	btf__add_field(m.base, "", 2, 0, 0);
	btf__add_struct(m.base, "", 8);
	btf__add_field(m.base, "", 1, 0, 0);
	btf__add_field(m.base, "far", 4000, 0, 0);
	int td = btf__add_typedef(m.base, "t", 3);
	m.b = reader_of(m.base, NULL);
	const struct Type *t = kbtf_to_type(m.e.c, m.b, (u32)s);
	CHECK(ctype_record_load(m.e.c, t->rec));
	CHECK(!record_field(t->rec, "nothing", &f));
	CHECK(record_field(t->rec, "far", &f) && f.type->kind == TY_VOID);
	CHECK_EQ(kbtf_to_type(m.e.c, m.b, (u32)td)->kind, TY_VOID);
	CHECK_EQ(kbtf_type_align(m.e.c, m.b, (u32)s), 1);
	CHECK(!kbtf_type_by_id(m.b, 4000));
	made_deinit(&m);
}

static bool count_func(void *arg, const char *module, const char *name)
{
	++*(u32 *)arg;
	return true;
}

// Many look-ups switch to the hash: same answers.
TEST(btf_index_agrees)
{
	struct Env e;
	struct btf *b = libbpf_vmlinux();
	u32 n = 0, want = 0;
	if (!b)
		SKIP("no /sys/kernel/btf/vmlinux");
	env_init(&e);
	for (u32 id = 1; id < btf__type_cnt(b); id++) {
		const struct btf_type *t = btf__type_by_id(b, id);
		want += btf_is_func(t);
		if (!btf_is_func(t) || id % 37)
			continue;
		const char *name = btf__name_by_offset(b, t->name_off);
		u32 got = ctype_func_id(e.c, name);
		if (got > id || strcmp(btf__name_by_offset(b, btf__type_by_id(b, got)->name_off), name))
			T_FAIL("%s: id %u, expected %u", name, got, id);
	}
	CHECK(e.c->btf && kbtf_vmlinux(e.c)->index);
	ctype_each_func(e.c, count_func, &n);
	CHECK(n >= want && want > 1000);
	env_deinit(&e);
}

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static char *bpftrace_says(const char *what)
{
	char cmd[256];
	struct Str s = {0};
	snprintf(cmd, sizeof(cmd), "bpftrace -lv '%s' 2>/dev/null", what);
	FILE *f = popen(cmd, "r");
	char buf[4096];
	for (size_t n; f && (n = fread(buf, 1, sizeof(buf), f));)
		str_addn(&s, buf, n);
	if (f)
		pclose(f);
	return s.p;
}

// What bpftrace prints with -lv, byte by byte, when it is installed.
TEST(text_as_bpftrace_prints_it)
{
	static const char *const structs[] = {"struct css_task_iter", "struct sk_buff", "union bpf_iter_link_info", "enum cpu_usage_stat", "struct list_head"};
	static const char *const events[][2] = {{"syscalls", "sys_enter_openat"}, {"sched", "sched_process_exec"}, {"sched", "sched_switch"},
						{"net", "net_dev_queue"}};
	struct Env e;
	double start = now_ms();
	char *probe = bpftrace_says("struct list_head");
	bool none = !probe || !libbpf_vmlinux();
	free(probe);
	if (none)
		SKIP("no bpftrace or no BTF");
	if (now_ms() - start > 3000)
		SKIP("an emulated machine: bpftrace takes minutes here");
	env_init(&e);
	for (size_t i = 0; i < ARRAY_LEN(structs); i++) {
		struct Str s = {0};
		char *want = bpftrace_says(structs[i]);
		CHECK_EQ(ctype_struct_text(e.c, structs[i], &s), want != NULL); // not every kernel has each of them
		str_addc(&s, '\n');
		if (want)
			CHECK_STR(s.p, want);
		str_deinit(&s);
		free(want);
	}
	for (size_t i = 0; i < ARRAY_LEN(events); i++) {
		struct Str s = {0}, name = {0};
		struct Record *r;
		str_addf(&name, "tracepoint:%s:%s", events[i][0], events[i][1]);
		char *want = bpftrace_says(name.p);
		CHECK(!ctype_tracepoint_args(e.c, events[i][0], events[i][1], &r));
		str_addf(&s, "%s\n", name.p);
		ctype_fields_text(e.c, r, &s);
		CHECK_STR(s.p, want);
		str_deinit(&s);
		str_deinit(&name);
		free(want);
	}
	env_deinit(&e);
}

static bool collect(void *arg, const char *name)
{
	str_addf(arg, "%s\n", name);
	return true;
}

TEST(text_of_arguments)
{
	struct Env e;
	struct Str s = {0};
	struct Record *args;
	const struct Type *ret;
	u32 id;
	if (!libbpf_vmlinux())
		SKIP("no /sys/kernel/btf/vmlinux");
	env_init(&e);
	CHECK(!ctype_func(e.c, NULL, "vfs_read", &args, &ret, NULL));
	ctype_fields_text(e.c, args, &s);
	ctype_ret_text(e.c, args, ret, &s);
	CHECK_STR(str_text(&s), "    struct file * file\n    char * buf\n    size_t count\n    loff_t * pos\n    ssize_t retval\n");
	str_reset(&s);
	CHECK(!ctype_rawtp(e.c, "sched_switch", &args, &id));
	ctype_fields_text(e.c, args, &s);
	CHECK_STR(str_text(&s), "    bool preempt\n    struct task_struct * prev\n    struct task_struct * next\n    unsigned int prev_state\n");
	str_reset(&s);
	CHECK(!ctype_iter(e.c, "task", &args, &id));
	ctype_fields_text(e.c, args, &s);
	CHECK_STR(str_text(&s), "    struct task_struct * task\n");
	str_reset(&s);
	ctype_each_type(e.c, "enum tcp_ca_*", collect, &s);
	CHECK(strstr(str_text(&s), "enum tcp_ca_event\n") && strstr(str_text(&s), "enum tcp_ca_state\n"));
	str_reset(&s);
	const struct Type *t = ty_array(&e.tab, ty_ptr(&e.tab, ty_array(&e.tab, ty_char(&e.tab), 4), AS_NONE), 3);
	ctype_decl_text(e.c, t, "x", &s);
	CHECK_STR(str_text(&s), "char (*[3])[4] x");
	str_deinit(&s);
	env_deinit(&e);
}

TEST(btf_first_lookup_is_fast)
{
	struct Env e;
	if (!libbpf_vmlinux())
		SKIP("no /sys/kernel/btf/vmlinux");
	double best = 1e9;
	for (int i = 0; i < 5; i++) {
		env_init(&e);
		double t = now_ms();
		const struct Type *ty = ctype_lookup(e.c, "struct task_struct");
		CHECK(ty && ctype_record_load(e.c, ty->rec));
		best = MIN(best, now_ms() - t);
		env_deinit(&e);
	}
	double t = now_ms();
	struct btf *whole = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	t = now_ms() - t;
	btf__free(whole);
	printf("# first look-up of task_struct with all its fields: %.2f ms; libbpf reads the file in %.2f ms\n", best, t);
	CHECK(best < 15 || best < t); // emulated machines are slower
}

T_MAIN()
