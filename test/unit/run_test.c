// Maps, ring buffer, events, loop and child with the real kernel.
#include "run_fake.h"
#include "bpf_asm.h"
#include "need_bpf.h"
#include "t.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

// ---- merging values of CPUs

TEST(merge)
{
	struct Fake f;
	fake_init(&f, &text_render_ops);
	u64 out[8];
	map_merge(ty_aggr(&f.types, TY_COUNT, false), 8, (u64[]){1, 2, 3}, 3, out);
	CHECK_EQ(out[0], 6);
	map_merge(ty_aggr(&f.types, TY_MIN, true), 16, (u64[]){0, 0, (u64)-5, 1, 3, 1}, 3, out);
	CHECK_EQ((s64)out[0], -5);
	CHECK_EQ(out[1], 1);
	map_merge(ty_aggr(&f.types, TY_MIN, false), 16, (u64[]){(u64)-5, 1, 3, 1, 0, 0}, 3, out);
	CHECK_EQ(out[0], 3);
	map_merge(ty_aggr(&f.types, TY_MAX, true), 16, (u64[]){(u64)-5, 1, (u64)-7, 1, 0, 0}, 3, out);
	CHECK_EQ((s64)out[0], -5);
	map_merge(ty_aggr(&f.types, TY_MAX, false), 16, (u64[]){0, 0, 0, 0}, 2, out);
	CHECK_EQ(out[1], 0);
	map_merge(ty_aggr(&f.types, TY_STATS, true), 16, (u64[]){10, 2, 20, 3}, 2, out);
	CHECK_EQ(out[0], 30);
	CHECK_EQ(out[1], 5);
	// half of what 64 bits hold: of one processor, of all, of a series that adds up; of the signed less
	const struct Type *usum = ty_aggr(&f.types, TY_SUM, false), *ssum = ty_aggr(&f.types, TY_SUM, true);
	CHECK(!map_merge(usum, 8, (u64[]){1ull << 62, (1ull << 62) - 1, 0}, 3, out));
	CHECK(map_merge(usum, 8, (u64[]){1ull << 62, 1ull << 62, 0}, 3, out));
	CHECK(map_merge(usum, 8, (u64[]){1ull << 63, 1ull << 63}, 2, out)); // 0
	CHECK(map_merge(usum, 8, (u64[]){1ull << 62, 1ull << 62, 1ull << 62, 1ull << 62}, 4, out));
	CHECK(!map_merge(ssum, 8, (u64[]){(1ull << 62) - 1, (u64)-5}, 2, out));
	CHECK(map_merge(ssum, 8, (u64[]){(1ull << 62) - 1, 1}, 2, out));
	CHECK(!map_merge(ssum, 8, (u64[]){-(1ull << 62) + 2, (u64)-1}, 2, out));
	CHECK(map_merge(ssum, 8, (u64[]){-(1ull << 62) + 1, (u64)-1}, 2, out));
	CHECK(map_merge(ty_aggr(&f.types, TY_STATS, false), 16, (u64[]){1ull << 63, 2, 0, 0}, 2, out));
	CHECK(!map_merge(ty_aggr(&f.types, TY_MAX, false), 16, (u64[]){1ull << 63, 1, 0, 0}, 2, out));
	const u64 slots[] = {1ull << 63, 1, 3};
	CHECK(map_merge(ty_tseries(&f.types, 1000, 1, TS_AGG_SUM, false), 24, slots, 1, out));
	CHECK(!map_merge(ty_tseries(&f.types, 1000, 1, TS_AGG_MAX, false), 24, slots, 1, out));
	map_merge(ty_lhist(&f.types, 0, 2, 1), 32, (u64[]){1, 2, 3, 4, 10, 20, 30, 40}, 2, out);
	CHECK_EQ(out[3], 44);
	static u64 q[2][1 + 8 * 237], qs[1 + 8 * 237]; // the greatest, its sign bit flipped; 1889 buckets
	const struct Type *quantiles = ty_quantiles(&f.types, true);
	q[0][0] = 1ull << 63 | 9, q[1][0] = (1ull << 63) - 4, q[0][10] = 1, q[1][1] = 2, q[1][10] = 3;
	CHECK(quantiles->size <= sizeof(q[0]));
	map_merge(quantiles, sizeof(q[0]), q, 2, qs);
	CHECK(qs[0] == (1ull << 63 | 9) && qs[1] == 2 && qs[10] == 4);
	u32 four[4] = {7, 0xdead, 8, 0xbeef}, sum[2] = {0}; // 4-byte values lie 8 bytes apart
	map_merge(ty_int(&f.types, 4, false), 4, four, 2, sum);
	CHECK_EQ(sum[0], 15);
	CHECK_EQ(sum[1], 0);
	// value, meta, interval: the newer interval wins, equal ones are aggregated
	const u64 ts[] = {5, 1, 10, /* */ 7, 2, 11, /* */ 9, 1, 11};
	map_merge(ty_tseries(&f.types, 1, 1, TS_AGG_LAST, true), 24, ts, 3, out);
	CHECK_EQ(out[0], 7);
	map_merge(ty_tseries(&f.types, 1, 1, TS_AGG_SUM, true), 24, ts, 3, out);
	CHECK_EQ(out[0], 16);
	map_merge(ty_tseries(&f.types, 1, 1, TS_AGG_AVG, true), 24, ts, 3, out);
	CHECK_EQ(out[0], 16);
	CHECK_EQ(out[1], 3);
	map_merge(ty_tseries(&f.types, 1, 1, TS_AGG_MAX, true), 24, ts, 3, out);
	CHECK_EQ(out[0], 9);
	map_merge(ty_tseries(&f.types, 1, 1, TS_AGG_MIN, true), 24, ts, 3, out);
	CHECK_EQ(out[0], 7);
	CHECK_EQ(out[2], 11);
	fake_deinit(&f);
}

// A row that lacks what its type promises is found here and not by the first script that uses it.
TEST(aggregation_table)
{
	u32 n = 0;
	for (int k = TY_NONE; k < TY_KINDS; k++) {
		struct Type t = {.kind = k};
		if (!ty_is_aggr(&t))
			continue;
		const struct Aggr *g = aggr_of(&t);
		CHECK(g->merge && g->decode);
		CHECK_EQ(g->number != NULL, ty_is_aggr_castable(&t));
		n++;
	}
	CHECK(n >= 9);
}

// ---- maps of the kernel

static struct MapDef make_map(u32 type, const char *name, u32 entries, const struct Type *key, const struct Type *val)
{
	struct MapDef m = {.name = name, .bpf_type = type, .key_size = key ? key->size : 4, .value_size = val->size, .max_entries = entries, .user = true,
			   .scalar = !key, .key = key, .val = val};
	struct SysMap s = {type, m.key_size, m.value_size, entries, 0, "test"};
	m.fd = sys_map_create(&s);
	CHECK(m.fd >= 0);
	return m;
}

static const char *printed(struct Fake *f, struct MapDef *m, u64 top, u64 div)
{
	fflush(f->render.out);
	size_t from = f->outlen;
	no_error(map_print(&f->rc, m, top, div, true, false));
	return fake_out(f) + from;
}

TEST(print_by_value)
{
	NEED_BPF();
	struct Fake f;
	fake_init(&f, &text_render_ops);
	struct MapDef m = make_map(BPF_MAP_TYPE_HASH, "@a", 100, ty_int(&f.types, 8, true), ty_int(&f.types, 8, true));
	for (s64 k = -2; k < 3; k++)
		sys_map_update(m.fd, &k, &(s64){-10 * k}, 0);
	CHECK_STR(printed(&f, &m, 0, 0), "@a[2]: -20\n@a[1]: -10\n@a[0]: 0\n@a[-1]: 10\n@a[-2]: 20\n");
	CHECK_STR(printed(&f, &m, 2, 0), "@a[-1]: 10\n@a[-2]: 20\n");
	CHECK_STR(printed(&f, &m, 2, 5), "@a[-1]: 2\n@a[-2]: 4\n");
	CHECK_STR(printed(&f, &m, 100, 1), "@a[2]: -20\n@a[1]: -10\n@a[0]: 0\n@a[-1]: 10\n@a[-2]: 20\n");
	no_error(map_zero(&m));
	CHECK_STR(printed(&f, &m, 0, 0), "@a[-2]: 0\n@a[-1]: 0\n@a[0]: 0\n@a[1]: 0\n@a[2]: 0\n"); // equal values: by key
	no_error(map_clear(&m));
	CHECK_STR(printed(&f, &m, 0, 0), "");
	close(m.fd);
	fake_deinit(&f);
}

TEST(print_by_key)
{
	NEED_BPF();
	struct Fake f;
	fake_init(&f, &text_render_ops);
	const struct Type *parts[] = {ty_int(&f.types, 4, false), ty_str(&f.types, 8)};
	const struct Type *key = ty_tuple(&f.types, parts, NULL, 2), *val = ty_str(&f.types, 8);
	struct MapDef m = make_map(BPF_MAP_TYPE_HASH, "@k", 100, key, val);
	const char *names[] = {"b", "a", "c"};
	for (u32 i = 0; i < 6; i++) {
		u8 k[16] = {0};
		u32 n = 3 - i / 3;
		memcpy(k, &n, 4);
		strcpy((char *)k + 4, names[i % 3]);
		sys_map_update(m.fd, k, "val", 0);
	}
	CHECK_STR(printed(&f, &m, 0, 0), "@k[2, a]: val\n@k[2, b]: val\n@k[2, c]: val\n@k[3, a]: val\n@k[3, b]: val\n@k[3, c]: val\n");
	close(m.fd);
	fake_deinit(&f);
}

TEST(percpu_maps)
{
	NEED_BPF();
	struct Fake f;
	fake_init(&f, &text_render_ops);
	u32 cpus = possible_cpus();
	CHECK(cpus >= 1);
	struct MapDef m = make_map(BPF_MAP_TYPE_PERCPU_HASH, "@c", 2000, ty_int(&f.types, 4, false), ty_aggr(&f.types, TY_COUNT, false));
	u64 *raw = xcalloc(cpus, 8);
	for (u32 k = 0; k < 1500; k++) { // more than one batch
		for (u32 c = 0; c < cpus; c++)
			raw[c] = k + c;
		CHECK_EQ(sys_map_update(m.fd, &k, raw, 0), 0);
	}
	struct MapDump d;
	no_error(map_dump(&m, &d));
	CHECK_EQ(d.n, 1500);
	u64 keysum = 0, bad = 0;
	for (u32 i = 0; i < d.n; i++) {
		u32 k = ((u32 *)d.keys)[i];
		keysum += k;
		bad += ((u64 *)d.vals)[i] != (u64)k * cpus + (u64)cpus * (cpus - 1) / 2;
	}
	CHECK_EQ(keysum, 1499 * 1500 / 2);
	CHECK_EQ(bad, 0);
	map_dump_free(&d);
	close(m.fd);
	struct MapDef s = make_map(BPF_MAP_TYPE_PERCPU_ARRAY, "@s", 1, NULL, ty_aggr(&f.types, TY_AVG, true));
	u64 *pair = xcalloc(cpus, 16);
	pair[0] = 30;
	pair[1] = 2;
	sys_map_update(s.fd, &(u32){0}, pair, 0);
	CHECK_STR(printed(&f, &s, 0, 0), "@s: 15\n");
	no_error(map_clear(&s));
	CHECK_STR(printed(&f, &s, 0, 0), "@s: 0\n");
	close(s.fd);
	struct MapDef h = make_map(BPF_MAP_TYPE_PERCPU_ARRAY, "@h", 1, NULL, ty_hist(&f.types, 0));
	CHECK_STR(printed(&f, &h, 0, 0), "");
	u64 *b = xcalloc(cpus, h.value_size);
	b[2] = 4;
	sys_map_update(h.fd, &(u32){0}, b, 0);
	CHECK_STR(printed(&f, &h, 0, 0), "@h:\n[1]                    4 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n\n");
	CHECK_STR(printed(&f, &h, 0, 2), "@h:\n[1]                    2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n\n");
	close(h.fd);
	// the word behind the value says on which CPU it was set; zero() leaves the map set, clear() does not
	struct MapDef w = {.name = "@w", .bpf_type = BPF_MAP_TYPE_PERCPU_ARRAY, .key_size = 4, .value_size = RT_VALUE_SIZE(8) + RT_VALUE_SET_SIZE,
			   .set_off = RT_VALUE_SIZE(8), .max_entries = 1, .user = true, .scalar = true, .val = ty_aggr(&f.types, TY_SUM, false)};
	struct SysMap sw = {w.bpf_type, w.key_size, w.value_size, 1, 0, "test"};
	w.fd = sys_map_create(&sw);
	CHECK(w.fd >= 0);
	no_error(map_dump(&w, &d));
	CHECK_EQ(d.n, 0);
	memset(pair, 0, cpus * 16);
	pair[2 * cpus - 2] = 5;
	pair[2 * cpus - 1] = 1;
	sys_map_update(w.fd, &(u32){0}, pair, 0);
	no_error(map_dump(&w, &d));
	CHECK_EQ(d.n, 1);
	CHECK_EQ(d.val_size, 8);
	CHECK_EQ(*(u64 *)d.vals, 5);
	map_dump_free(&d);
	no_error(map_zero(&w));
	no_error(map_dump(&w, &d));
	CHECK_EQ(d.n, 1);
	CHECK_EQ(*(u64 *)d.vals, 0);
	map_dump_free(&d);
	no_error(map_clear(&w));
	no_error(map_dump(&w, &d));
	CHECK_EQ(d.n, 0);
	map_dump_free(&d);
	close(w.fd);
	free(raw);
	free(pair);
	free(b);
	fake_deinit(&f);
}

// ---- the ring buffer and events

static struct MapDef *add_ring(struct Fake *f, u32 size)
{
	struct MapDef *m = arena_new(&f->arena, struct MapDef);
	struct SysMap s = {BPF_MAP_TYPE_RINGBUF, 0, 0, size, 0, "test_ring"};
	*m = (struct MapDef){.name = "sonde_events", .bpf_type = BPF_MAP_TYPE_RINGBUF, .max_entries = size, .fd = sys_map_create(&s)};
	CHECK(m->fd >= 0);
	vec_push(&f->prog.maps, m);
	return m;
}

// A program that sends `words` u64s.
static int sender(int ring, const u64 *words, u32 n)
{
	struct BpfInsn in[64];
	u32 k = 0;
#define INSN(c, d, s, o, i) (in[k++] = (struct BpfInsn){(u8)(c), (u8)((d) | (s) << 4), (s16)(o), (s32)(i)})
	for (u32 i = 0; i < n; i++) {
		INSN(BPF_LD | BPF_DW | BPF_IMM, 1, 0, 0, (u32)words[i]);
		INSN(0, 0, 0, 0, (u32)(words[i] >> 32));
		INSN(BPF_STX | BPF_MEM | BPF_DW, 10, 1, -8 * (int)(n - i), 0);
	}
	INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, ring);
	INSN(0, 0, 0, 0, 0);
	INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0);
	INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -8 * (int)n);
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 8 * n);
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, 0);
	INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 130); // bpf_ringbuf_output
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
	INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
#undef INSN
	struct SysProg p = {.type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insns = in, .ninsns = k, .license = "Dual BSD/GPL", .name = "test"};
	int fd = sys_prog_load(&p);
	CHECK(fd >= 0);
	return fd;
}

static void run_prog(int fd)
{
	struct SysTestRun t = {0};
	CHECK_EQ(sys_prog_test_run(fd, &t), 0);
}

static u64 head(u32 kind, u32 id)
{
	return kind | (u64)id << 32;
}

static struct FmtSite *add_site(struct Fake *f, enum FmtKind kind, const char *fmt, const struct Type *arg)
{
	struct FmtSite *s = arena_new(&f->arena, struct FmtSite);
	*s = (struct FmtSite){.kind = kind, .id = (u32)f->prog.fmts.n, .fmt = fmt, .len = (u32)strlen(fmt)};
	if (arg) {
		s->args = arena_new(&f->arena, struct FmtArg);
		s->args->type = arg;
		s->nargs = 1;
		s->size = arg->size;
	}
	vec_push(&f->prog.fmts, s);
	return s;
}

TEST(ring_wraps)
{
	NEED_BPF();
	struct Fake f;
	fake_init(&f, &text_render_ops);
	struct MapDef *m = add_ring(&f, 4096);
	add_site(&f, FK_PRINTF, "%d ", ty_int(&f.types, 8, false));
	int p = sender(m->fd, (u64[]){head(RT_EV_FMT, 0), 7}, 2);
	struct Ring *r;
	no_error(ring_open(&f.prog, &r));
	u32 total = 0;
	for (int round = 0; round < 10; round++) { // 100 * 24 bytes each: more than the ring holds in all
		for (int i = 0; i < 100; i++)
			run_prog(p);
		loop_drain(&f.rc, r);
		fflush(f.render.out);
		total = (u32)f.outlen / 2;
		CHECK_EQ(total, 100 * (round + 1));
	}
	for (int i = 0; i < 300; i++) // overflow: the rest is dropped by the kernel, what is there is whole
		run_prog(p);
	loop_drain(&f.rc, r);
	fflush(f.render.out);
	CHECK_EQ(f.outlen / 2 - total, 4096 / 24);
	f.rc.exiting = true;
	run_prog(p);
	size_t before = f.outlen;
	loop_drain(&f.rc, r);
	fflush(f.render.out);
	CHECK_EQ(f.outlen, before);
	ring_close(r);
	close(p);
	close(m->fd);
	fake_deinit(&f);
}

static void send(struct Fake *f, const void *rec, size_t n)
{
	u8 *copy = malloc(n ? n : 1); // exact size, for ASan
	memcpy(copy, rec, n);
	event_handle(&f->rc, copy, n);
	free(copy);
}

TEST(events)
{
	struct Fake f;
	fake_init(&f, &text_render_ops);
	diags_add_source(&f.diags, "stdin", "BEGIN { errorf(\"x\"); }", 22);
	add_site(&f, FK_PRINTF, "n=%d\n", ty_int(&f.types, 4, true));
	add_site(&f, FK_PRINT_VALUE, "", ty_str(&f.types, 8));
	add_site(&f, FK_ERRORF, "bad %d", ty_int(&f.types, 4, true))->span = (struct Span){8, 11, 0};
	add_site(&f, FK_WARNF, "hm", NULL)->span = (struct Span){8, 11, 0};
	add_site(&f, FK_SYSTEM, "echo out; echo err >&2", NULL);
	add_site(&f, FK_SYSTEM, "exit 3", NULL);
	add_site(&f, FK_CAT, "/proc/self/comm", NULL);
	add_site(&f, FK_CAT, "/nonexistent", NULL);
	add_site(&f, FK_JOIN, ", ", NULL);
	struct ErrSite es = {.span = {8, 11, 0}, .what = "probe_read_user_str"}, del = {.span = {8, 11, 0}, .what = "map_delete_elem"};
	vec_push(&f.prog.errsites, &es);
	vec_push(&f.prog.errsites, &del);
	send(&f, (u64[]){head(RT_EV_FMT, 0), (u32)-4}, 16);
	send(&f, "\0\0\0\0\1\0\0\0hello", 13);
	CHECK_STR(fake_out(&f), "n=-4\nhello\n");
	send(&f, (u64[]){head(RT_EV_FMT, 2), 5}, 16);
	CHECK_STR(fake_err(&f), "stdin:1:9-20: ERROR: bad 5\n");
	send(&f, (u64[]){head(RT_EV_FMT, 3)}, 8);
	CHECK_STR(fake_err(&f), "stdin:1:9-20: ERROR: bad 5\nstdin:1:9-20: WARNING: hm\n");
	size_t from = f.errlen;
	send(&f, (u64[]){head(RT_EV_HELPER_ERR, 0), (u64)-14}, 16);
	CHECK_STR(fake_err(&f) + from, "stdin:1:9-20: WARNING: Bad address\nAdditional Info - helper: probe_read_user_str, retcode: -14\n"
				       "BEGIN { errorf(\"x\"); }\n        ~~~~~~~~~~~\n");
	from = f.errlen;
	send(&f, (u64[]){head(RT_EV_HELPER_ERR, 1), (u64)-2}, 16);
	CHECK(!strncmp(fake_err(&f) + from, "stdin:1:9-20: WARNING: Can't delete map element because it does not exist.\n", 70));
	from = f.outlen;
	send(&f, (u64[]){head(RT_EV_FMT, 4)}, 8);
	CHECK_STR(fake_out(&f) + from, "out\nerr\n\n");
	from = f.errlen;
	send(&f, (u64[]){head(RT_EV_FMT, 5)}, 8);
	CHECK_STR(fake_err(&f) + from, "ERROR: Error executing program: command exited with code 3\n");
	from = f.outlen;
	send(&f, (u64[]){head(RT_EV_FMT, 6)}, 8);
	struct Str comm = {0};
	no_error(read_file("/proc/self/comm", &comm, 64));
	CHECK_STR(fake_out(&f) + from, str_text(&comm));
	str_deinit(&comm);
	from = f.errlen;
	send(&f, (u64[]){head(RT_EV_FMT, 7)}, 8);
	CHECK_STR(fake_err(&f) + from, "ERROR: failed to open file '/nonexistent': No such file or directory\n");
	from = f.outlen;
	static struct {
		struct RtEvent ev;
		u64 n;
		char args[2][RT_JOIN_STRIDE];
	} join = {{RT_EV_JOIN, 8}, 3, {"ls", "-l"}};
	send(&f, &join, sizeof(join));
	CHECK_STR(fake_out(&f) + from, "ls, -l\n");
	from = f.outlen;
	for (size_t n = 0; n < 16; n++) // short records and unknown numbers
		send(&f, (u64[]){head(RT_EV_JOIN, 8), ~0ULL}, n);
	send(&f, (u64[]){head(RT_EV_FMT, 99)}, 8);
	send(&f, (u64[]){head(RT_EV_PRINT_MAP, 99), 0, 0}, 24);
	send(&f, (u64[]){head(4711, 99)}, 8);
	send(&f, (u64[]){head(RT_EV_EXIT, 0), 3}, 16);
	CHECK_EQ(f.rc.exit_code, 3);
	CHECK(f.rc.exiting);
	send(&f, (u64[]){head(RT_EV_FMT, 0), 1}, 16);
	CHECK(!strstr(fake_out(&f) + from, "n=1"));
	fake_deinit(&f);
}

TEST(losses)
{
	NEED_BPF();
	struct Fake f;
	fake_init(&f, &json_render_ops);
	f.prog.config.max_map_keys = 4096;
	struct SysMap s = {BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct RtCounters), 1, 0, "test"};
	struct MapDef m = {.name = "rt_counters", .bpf_type = BPF_MAP_TYPE_PERCPU_ARRAY, .key_size = 4, .value_size = sizeof(struct RtCounters), .max_entries = 1,
			   .fd = sys_map_create(&s)};
	vec_push(&f.prog.maps, &m);
	struct RtCounters *c = xcalloc(possible_cpus(), sizeof(*c));
	for (u32 i = 0; i < possible_cpus(); i++)
		c[i].map_full = 1;
	c[0].lost_events = 5;
	sys_map_update(m.fd, &(u32){0}, c, 0);
	report_lost_events(&f.rc);
	CHECK_STR(fake_out(&f), "{\"type\": \"lost_events\", \"count\": 5, \"data\": {\"events\": 5}}\n");
	report_lost_events(&f.rc); // once a second at most
	c[0].lost_events = 7;
	sys_map_update(m.fd, &(u32){0}, c, 0);
	size_t from = f.outlen;
	f.rc.calls_missed = 3;
	CHECK_EQ(f.rc.losses, 1);
	report_losses(&f.rc);
	CHECK_EQ(f.rc.losses, 5);
	char want[800];
	snprintf(want, sizeof(want),
		 "{\"type\": \"events_missed\", \"count\": 3, \"msg\": \"3 events were missed: the kernel runs no program inside another one; trace fewer of them, or do less at each\"}\n"
		 "{\"type\": \"lost_events\", \"count\": 2, \"data\": {\"events\": 2}}\n"
		 "{\"type\": \"total_lost_events\", \"count\": 7, \"msg\": \"Total lost event count: 7; a larger perf_rb_pages makes room for more (0 now)\"}\n"
		 "{\"type\": \"map_full\", \"count\": %u, \"msg\": \"%u updates of maps were refused because the map was full; raise max_map_keys (4096 now, %u is enough)\"}\n",
		 possible_cpus(), possible_cpus(), 4096 + possible_cpus());
	CHECK_STR(fake_out(&f) + from, want);
	free(c);
	close(m.fd);
	fake_deinit(&f);
}

// A reader that lost two names: all that is asked of it is that number, and whatever stands in it is 2.
static struct StackReader *nameless_reader(void)
{
	static u64 words[256];
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = 2;
	return (struct StackReader *)words;
}

// Whatever the kernel side counts is told: each counter alone, in both forms of output.
#define NAMELESS ((size_t)-1) // in place of a counter's word: names of functions that were gone
static u32 told_of(size_t word, const struct RenderOps *ops, const char *type)
{
	struct Fake f;
	fake_init(&f, ops);
	struct SysMap s = {BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct RtCounters), 1, 0, "test"};
	struct MapDef m = {.name = "rt_counters", .bpf_type = BPF_MAP_TYPE_PERCPU_ARRAY, .key_size = 4, .value_size = sizeof(struct RtCounters), .max_entries = 1,
			   .fd = sys_map_create(&s)};
	vec_push(&f.prog.maps, &m);
	u64 *c = xcalloc(possible_cpus(), sizeof(struct RtCounters));
	if (word != NAMELESS)
		c[word] = 7;
	sys_map_update(m.fd, &(u32){0}, c, 0);
	f.rc.stacks = word == NAMELESS ? nameless_reader() : NULL;
	report_losses(&f.rc);
	f.rc.stacks = NULL;
	CHECK_EQ(f.rc.losses != 0, f.outlen + f.errlen + strlen(fake_out(&f)) + strlen(fake_err(&f)) != 0);
	if (type && !strstr(ops == &json_render_ops ? fake_out(&f) : fake_err(&f), type))
		T_FAIL("word %zu: no '%s' in '%s%s'", word, type, fake_out(&f), fake_err(&f));
	u32 losses = (u32)f.rc.losses;
	free(c);
	close(m.fd);
	fake_deinit(&f);
	return losses;
}

TEST(each_counter_is_told)
{
	NEED_BPF();
	static const char *const types[] = {"\"total_lost_events\", \"count\": 7", "\"map_full\", \"count\": 7", "\"map_refused\", \"count\": 7", "\"stacks_lost\", \"count\": 7",
		"\"stacks_lost\", \"count\": 7", "\"stacks_missed\", \"count\": 7", "\"stacks_missed\", \"count\": 7", "\"total_lost_events\", \"count\": 7",
		"\"strings_unread\", \"count\": 7", "\"reads_failed\", \"count\": 7", "\"requests_unread\", \"count\": 7", "\"kernel_stacks_cut\", \"count\": 7", "\"events_waiting\", \"count\": 7",
		"\"user_stacks_cut\", \"count\": 7"};
	CHECK_EQ(ARRAY_LEN(types), offsetof(struct RtCounters, why) / 8); // one that is added belongs here
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		CHECK(told_of(i, &json_render_ops, types[i]));
		CHECK(told_of(i, &text_render_ops, " 7"));
	}
	CHECK_EQ(told_of(NAMELESS, &json_render_ops, "\"code_names_lost\", \"count\": 2"), 2);
	CHECK_EQ(told_of(NAMELESS, &text_render_ops, "gone before they were read: 2"), 2);
	CHECK_EQ(told_of(NAMELESS, &json_render_ops, "\"made_code_unnamed\", \"count\": 2"), 2);
	for (size_t w = 0; w < RT_WHYS; w++) {
		// whole, or of a thread without a user stack; guesses are told by --why-incomplete
		bool whole = w == RT_WHY_OK || w == RT_WHY_ASKED || w == RT_WHY_KTHREAD || w == RT_WHY_EXITING || w == RT_WHY_RUNS || w == RT_WHY_GUESS_FP ||
			     w == RT_WHY_GUESS_RULE || w == RT_WHY_GUESS_INLINED;
		u32 n = told_of(offsetof(struct RtCounters, why) / 8 + w, &json_render_ops, NULL);
		if (whole == (n != 0))
			T_FAIL("stacks that end for reason %zu: %u losses", w, n);
	}
}

TEST(losses_of_user_space_are_told)
{
	struct Fake f;
	fake_init(&f, &json_render_ops);
	f.rc.places_left_out = 3;
	f.rc.packets_lost = 4;
	f.rc.calls_missed = 5;
	f.rc.unsure_kstacks = 8;
	f.rc.cpus_lost = 2;
	f.rc.cpu_lost = 7;
	f.rc.cpus_unwatched = 1;
	f.rc.cpu_unwatched = 6;
	f.rc.stacks = nameless_reader();
	report_losses(&f.rc);
	CHECK_EQ(f.rc.losses, 6); // without counters nothing of the kernel's side
	static const char *const want[] = {"\"places_left_out\", \"count\": 3", "\"packets_lost\", \"count\": 4", "\"events_missed\", \"count\": 5",
					   "\"processors_missed\", \"count\": 2", "2 (cpu 7 is one); timers and counters have not seen them since",
					   "\"kernel_stacks_cut\", \"count\": 8", "1 (cpu 6); watchpoints have not seen them since"};
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		if (!strstr(fake_out(&f), want[i]))
			T_FAIL("no %s in %s", want[i], fake_out(&f));
	f.rc.stacks = NULL;
	fake_deinit(&f);
}

// ---- child and loop

static char *slurp(const char *path)
{
	struct Str s = {0};
	err_free(read_file(path, &s, 65536));
	return s.p ? s.p : xstrdup("");
}

static int exit_status(struct Child *c) // once it has ended
{
	struct pollfd p = {child_fd(c), POLLIN, 0};
	CHECK_EQ(poll(&p, 1, 60000), 1);
	return child_end(c);
}

TEST(child_waits)
{
	char path[] = "/tmp/sonde_child_XXXXXX", cmd[200];
	int fd = mkstemp(path);
	struct Child *c;
	snprintf(cmd, sizeof(cmd), "sh -c 'echo \"a  b\" \\$0 > %s; exit 7' x\\ y", path);
	no_error(child_start(cmd, &c));
	CHECK(child_pid(c) > 0);
	usleep(50000);
	char *s = slurp(path);
	CHECK_STR(s, ""); // waits for us
	free(s);
	no_error(child_go(c));
	CHECK_EQ(exit_status(c), 7);
	s = slurp(path);
	CHECK_STR(s, "a  b $0\n");
	free(s);
	child_destroy(c);
	unlink(path);
	close(fd);
}

TEST(child_stopped_at_exec)
{
	struct Child *c;
	no_error(child_start("/bin/true", &c));
	no_error(child_run_to_exec(c));
	char exe[64], link[256];
	snprintf(exe, sizeof(exe), "/proc/%d/exe", child_pid(c));
	ssize_t n = readlink(exe, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = 0;
	CHECK(strstr(link, "true") != NULL);
	no_error(child_go(c));
	CHECK_EQ(exit_status(c), 0);
	child_destroy(c);
}

static void expect_error(struct err *e, const char *part)
{
	CHECK(e && strstr(err_text(e), part));
	err_free(e);
}

TEST(child_errors)
{
	struct Child *c;
	expect_error(child_start("/no/such/program x", &c), "'/no/such/program' does not exist or is not executable");
	expect_error(child_start("", &c), "empty command");
	expect_error(child_start("   ", &c), "empty command");
	expect_error(child_start("echo 'a", &c), "missing closing '");
	expect_error(child_start("/etc/passwd", &c), "not executable");
	char path[] = "/tmp/sonde_exec_XXXXXX";
	int fd = mkstemp(path);
	CHECK(write(fd, "\0\0\0\0", 4) == 4);
	fchmod(fd, 0755);
	close(fd);
	no_error(child_start(path, &c));
	expect_error(child_go(c), "Exec format error");
	child_destroy(c);
	no_error(child_start(path, &c));
	expect_error(child_run_to_exec(c), "Exec format error");
	child_destroy(c);
	unlink(path);
	no_error(child_start("sleep 1000", &c)); // never let go
	int pid = child_pid(c);
	child_destroy(c);
	CHECK_EQ(kill(pid, 0), -1);
	no_error(child_start("sleep 1000", &c));
	no_error(child_go(c));
	pid = child_pid(c);
	child_destroy(c);
	CHECK_EQ(kill(pid, 0), -1);
}

static u64 now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000 + (u64)ts.tv_nsec / 1000000;
}

static bool tick(void *arg)
{
	return ++*(int *)arg < 3;
}

static void note_signal(void *arg, int sig)
{
	*(int *)arg = sig;
}

static bool signal_and_end(void *arg)
{
	(void)arg;
	raise(SIGUSR1);
	return false;
}

TEST(loop_ends)
{
	NEED_BPF();
	struct Fake f;
	fake_init(&f, &text_render_ops);
	struct MapDef *m = add_ring(&f, 4096);
	add_site(&f, FK_PRINTF, "%d\n", ty_int(&f.types, 8, false));
	int p = sender(m->fd, (u64[]){head(RT_EV_FMT, 0), 7}, 2), x = sender(m->fd, (u64[]){head(RT_EV_EXIT, 0), 5}, 2);
	struct Ring *r;
	no_error(ring_open(&f.prog, &r));
	run_prog(p);
	no_error(loop_run(&f.rc, r, &(struct LoopOpts){.once = true}));
	CHECK_STR(fake_out(&f), "7\n");
	u64 t = now_ms();
	no_error(loop_run(&f.rc, r, &(struct LoopOpts){.duration_ns = 50000000}));
	CHECK(now_ms() - t >= 50 && now_ms() - t < 2000);
	int ticks = 0;
	no_error(loop_run(&f.rc, r, &(struct LoopOpts){.on_tick = tick, .tick_ns = 5000000, .tick_arg = &ticks}));
	CHECK_EQ(ticks, 3);
	struct Child *c;
	no_error(child_start("/bin/true", &c));
	no_error(child_go(c));
	no_error(loop_run(&f.rc, r, &(struct LoopOpts){.child = c})); // ends with the child
	child_destroy(c);
	no_error(child_start("sleep 0.05", &c));
	no_error(child_go(c));
	int one = child_pid(c);
	no_error(loop_run(&f.rc, r, &(struct LoopOpts){.pids = &one, .npids = 1})); // and with the process of -p
	exit_status(c);
	int gone = child_pid(c);
	child_destroy(c);
	no_error(loop_run(&f.rc, r, &(struct LoopOpts){.pids = &gone, .npids = 1})); // also when that has ended already
	int got = 0;
	struct LoopOpts ends = {.sigs = (int[]){SIGUSR1}, .nsigs = 1, .on_signal = note_signal, .sig_arg = &got, .on_tick = signal_and_end, .tick_ns = 5000000};
	no_error(loop_run(&f.rc, r, &ends));
	CHECK_EQ(got, SIGUSR1); // it came in the moment of the end
	got = 0;
	pid_t kid = fork();
	if (!kid) {
		usleep(30000);
		kill(getppid(), SIGUSR1);
		usleep(30000);
		run_prog(p); // comes before exit: is printed
		run_prog(x);
		run_prog(p); // comes after
		_exit(0);
	}
	no_error(loop_run(&f.rc, r, &(struct LoopOpts){.sigs = (int[]){SIGUSR1}, .nsigs = 1, .on_signal = note_signal, .sig_arg = &got}));
	CHECK_EQ(got, SIGUSR1);
	CHECK_EQ(f.rc.exit_code, 5);
	waitpid(kid, NULL, 0);
	loop_drain(&f.rc, r);
	CHECK_STR(fake_out(&f), "7\n7\n");
	f.rc.exiting = false;
	CHECK(!loop_interrupts());
	run_prog(p);
	kid = fork();
	if (!kid) {
		usleep(30000);
		kill(getppid(), SIGINT);
		_exit(0);
	}
	no_error(loop_run(&f.rc, r, &(struct LoopOpts){0}));
	CHECK(loop_interrupts());
	waitpid(kid, NULL, 0);
	CHECK_STR(fake_out(&f), "7\n7\n7\n");
	ring_close(r);
	close(p);
	close(x);
	close(m->fd);
	fake_deinit(&f);
}
T_MAIN()
