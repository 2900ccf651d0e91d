// The tools' table, and how one runs: options -> script -> session (running.c).
#include "tool/internal.h"
#include <errno.h>
#include <signal.h>

static const struct Tool *const tools[] = {&tool_profile, &tool_offcputime, &tool_wakeuptime, &tool_offwaketime, &tool_stackcount};

const struct Tool *tool_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (!strcmp(tools[i]->name, name))
			return tools[i];
	return NULL;
}

char *tool_called(const char *program)
{
	static const char before[] = "sonde-", after[] = "-bpfcc"; // Debian's names of bcc's tools
	size_t n = strlen(program), k = strlen(after);
	if (!strncmp(program, before, strlen(before)))
		return xstrdup(program + strlen(before));
	return n > k && !strcmp(program + n - k, after) ? xasprintf("%.*s", (int)(n - k), program) : NULL;
}

size_t tool_names(const char **names, size_t max)
{
	size_t n = MIN(max, ARRAY_LEN(tools));
	for (size_t i = 0; i < n; i++)
		names[i] = tools[i]->name;
	return n;
}

bool tool_takes_pattern(const struct Tool *t)
{
	return strstr(t->positional, "PATTERN") != NULL;
}

void tools_help(FILE *out)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		fprintf(out, "%-14s %s\n", tools[i]->name, tools[i]->summary);
}

#define DEAD_TOLD 5 // by number
bool any_alive(const char *list, const char *what)
{
	u32 alive = 0, dead = 0, told = 0;
	for (int telling = 0; telling < 2; telling++)
		for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
			bool gone = kill(atoi(p), 0) && errno == ESRCH;
			if (telling && gone && ++told <= DEAD_TOLD)
				fprintf(stderr, "%s: there is no %s %d\n", alive ? "WARNING" : "ERROR", what, atoi(p));
			alive += !telling && !gone;
			dead += !telling && gone;
		}
	if (told > DEAD_TOLD)
		fprintf(stderr, "%s: there is no %s of %u more\n", alive ? "WARNING" : "ERROR", what, told - DEAD_TOLD);
	return alive || !dead;
}

// Who watches wants to see something soon: tables go on being made while the first samples are counted, those of what runs before the others'.
#define FEED_SETTLE_MS 200

// Reports go to feed (running.c), NULL: they are shown. Standard output gets the heading
static int run_tool(const struct Tool *t, int argc, char **argv, FILE *feed)
{
	struct ToolOpts o = {.tool = t, .state = -1, .min_us = 1, .feed = feed};
	struct err *e;
	int rc;
	if (!tool_parse(t, argc, argv, &o, &rc))
		goto out;
	rc = 1;
	if (!o.print_script && !o.dump &&
	    (!any_alive(str_text(&o.pids), "process") || !any_alive(str_text(&o.tids), "thread") || !outputs_writable(&o)))
		goto out;
	if ((e = command_start(&o))) {
		fprintf(stderr, "ERROR: %s\n", err_text(e));
		err_free(e);
		goto out;
	}
	if (o.child) {
		o.tree = true;
		vec_push(&o.params, ((struct Param){"tree", NULL}));
	}
	if (o.tree)
		tree_begin(&o);
	if (t->prepare && (rc = t->prepare(&o)))
		goto out;
	u32 size;
	o.text = packed_get(&t->text, &size);
	script_params(&o);
	if (o.print_script) {
		script_print(&o, stdout);
		rc = 0;
		goto out;
	}
	struct Options so = {.text = o.text, .name = t->name, .builtin = true, .params = {.p = o.params.p, .n = o.params.n}, .pids = str_text(&o.pids), .only_pids = t->own_stacks, .child = o.child,
			     .warnings = false, .buf = BUF_FULL, .unwind_fp = o.unwind_fp, .native = o.native, .async_frames = o.async_frames, .json = o.json, .out_path = o.out, .inlines = o.inlines,
			     .lines = o.lines, .why_incomplete = o.why_incomplete, .strict = o.strict, .keep_privileges = o.keep_privileges || (o.feed && o.max_cpu) /* cost_tick() */, .lazy_tables = o.feed && o.max_cpu, .tables_cpu = o.feed ? o.max_cpu / 3 : 0, .settle_ms = o.feed ? FEED_SETTLE_MS : 0, .stack_entries = o.stack_entries, .dump = o.dump,
			     .duration_ns = o.duration * 1000000000ull};
	rc = stacks_run(&so, &o);
out:
	rc = command_end(&o, rc);
	toolopts_deinit(&o);
	return rc;
}

int tool_main(const struct Tool *t, int argc, char **argv)
{
	return run_tool(t, argc, argv, NULL);
}

int feed_tool(int argc, char **argv, FILE *feed)
{
	return run_tool(!strcmp(argv[0], tool_both.name) ? &tool_both : tool_find(argv[0]), argc, argv, feed);
}
