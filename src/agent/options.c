// The command line of sonde agent, and files of options. In: words, lines. Out: struct Setup, a run; what is wrong, said on standard error.
#include "agent/internal.h"

#define FIELD(name) ((const void *)offsetof(struct Setup, name))
static struct err *set_number(void *to, const struct Option *row, const char *val)
{
	u64 *n = (u64 *)((char *)to + (uintptr_t)row->data);
	return parse_u64(val, n) && *n ? NULL : err_new("must be a positive integer");
}

static struct err *set_interval(void *to, const struct Option *row, const char *val)
{
	struct Setup *s = to;
	struct err *e = set_number(to, row, val);
	return e ? e : s->a.interval > 3600 ? err_new("must be at most 3600 seconds") : NULL;
}

static struct err *set_record(void *to, const struct Option *row, const char *val)
{
	size_t n = strlen(val);
	char *plain = xasprintf("%.*s", (int)(n - (n && val[n - 1] == 's')), val); // 60s
	struct err *e = set_number(to, row, plain);
	free(plain);
	return e ? e : ((struct Setup *)to)->record_s > 3600 ? err_new("must be at most 3600 seconds") : NULL;
}

static struct err *set_percent(void *to, const struct Option *row, const char *val)
{
	char *end;
	double v = strtod(val, &end);
	if (!*val || *end || !(v > 0) || v > 10000)
		return err_new("must be a number of per cent");
	((struct Setup *)to)->a.budget.max_cpu = v;
	return NULL;
}

// What is given may be the server's address only.
static struct err *url_of(enum SendKind kind, const char *given, char **url)
{
	static const char *const paths[] = {"/v1development/profiles", "/ingest"};
	bool http = !strncmp(given, "http://", 7), https = !strncmp(given, "https://", 8);
	const char *host = given + (https ? 8 : 7);
	if ((!http && !https) || !*host || *host == '/')
		return err_new("must be http://HOST[:PORT] or https://HOST[:PORT], with or without a path");
	if (strpbrk(given, "?# \t\n\r"))
		return err_new("must be without a query: it is made for each message");
	size_t n = strcspn(host, "/");
	const char *path = host + n;
	*url = xasprintf("%.*s%s", (int)(path - given), given, *path && strcmp(path, "/") ? path : paths[kind]);
	return NULL;
}

static struct err *set_destination(void *to, const struct Option *row, const char *val)
{
	struct Agent *a = &((struct Setup *)to)->a;
	enum SendKind kind = (enum SendKind)(uintptr_t)row->data;
	if (a->nto == DESTINATIONS_MAX)
		return err_new("there are at most %d", DESTINATIONS_MAX);
	struct Destination *d = &a->to[a->nto];
	struct err *e = url_of(kind, val, &d->url);
	if (e)
		return e;
	d->kind = kind;
	a->nto++;
	return NULL;
}

static struct err *set_label(void *to, const struct Option *row, const char *val)
{
	struct Setup *s = to;
	const char *eq = strchr(val, '=');
	if (!eq || eq == val || val[strcspn(val, " \t\n\",{}")] == '"')
		return err_new("must be KEY=VALUE");
	struct ProfileAttr attr = {arena_strndup(&s->arena, val, (size_t)(eq - val)), arena_strdup(&s->arena, eq + 1)};
	for (size_t i = 0; i < s->attrs.n; i++)
		if (!strcmp(s->attrs.p[i].key, attr.key)) {
			s->attrs.p[i] = attr;
			return NULL;
		}
	vec_push(&s->attrs, attr);
	return NULL;
}

static struct err *set_header(void *to, const struct Option *row, const char *val)
{
	if (!strchr(val, ':') || strpbrk(val, "\r\n"))
		return err_new("must be 'Name: value'");
	vec_push(&((struct Setup *)to)->headers, val);
	return NULL;
}

static struct err *set_config(void *to, const struct Option *row, const char *val);
static const struct Option option_rows[] = {
	{'F', "frequency", "HZ", "samples a second on each processor (19)", set_number, FIELD(a.hz)},
	{'i', "interval", "SECONDS", "send so often (15)", set_interval, FIELD(a.interval)},
	{'o', "off-cpu", NULL, "time off the processors, too", set_option_flag, FIELD(a.off_cpu)},
	{0, "off-cpu-one-in", "N", "... by one switch of threads in N, counted N times (10)", set_number, FIELD(a.one_in)},
	{'p', "pid", "PID,...", "only these processes", set_option_text, FIELD(pids)},
	{0, "otlp", "URL", "send OpenTelemetry profiles (OTLP/HTTP) there; /v1development/profiles unless the URL has a path", set_destination, (void *)SEND_OTLP},
	{0, "pyroscope", "URL", "send to Pyroscope; /ingest unless the URL has a path", set_destination, (void *)SEND_PYROSCOPE},
	{'d', "dir", "DIR", "write a pprof profile there each interval", set_option_text, FIELD(a.dir.path)},
	{0, "dir-size", "MB", "of its files at most, the oldest are removed (1024)", set_number, FIELD(dir_mb)},
	{0, "prometheus", "PORT|ADDR:PORT", "serve metrics there, on 127.0.0.1 unless an address is given", set_option_text, FIELD(prometheus)},
	{'r', "record", "SECONDS", "keep the last SECONDS, and write them into --dir at SIGUSR1 or --when", set_record, FIELD(record_s)},
	{'w', "when", "PROBE|SCRIPT", "... when this probe is hit, or this script prints: 'tracepoint:oom:mark_victim'", set_option_text, FIELD(when)},
	{'s', "script", "FILE", "run this script too, its maps are metrics (histograms have classic buckets)", set_option_text, FIELD(script)},
	{'l', "label", "KEY=VALUE", "of all that is sent", set_label, NULL},
	{0, "service", "NAME", "all is of this service (else its container, unit or program)", set_option_text, FIELD(a.batch.service)},
	{'H', "header", "'Name: value'", "of every request", set_header, NULL},
	{0, "ca", "FILE", "certificates that servers are judged by (the system's)", set_option_text, FIELD(ca)},
	{0, "spool", "DIR|none", "where messages wait (/var/lib/sonde/spool); none: in memory only", set_option_text, FIELD(spool)},
	{0, "spool-size", "MB", "of messages there at most, the oldest go (256)", set_number, FIELD(spool_mb)},
	{0, "spool-memory", "MB", "of messages in memory (8)", set_number, FIELD(memory_mb)},
	{0, "max-cpu", "PERCENT", "of one processor for the agent (1); it samples less often rather than take more", set_percent, NULL},
	{0, "max-memory", "MB", "for the agent (64), with what it has in the kernel; it gives up time off the processors, then users' stacks, rather than take more", set_number, FIELD(max_memory_mb)},
	{'c', "config", "FILE", "of options, one a line: NAME or NAME VALUE; # begins a comment", set_config, NULL},
	{'h', "help", NULL, "this help", set_option_flag, FIELD(help)},
};

static void add_rows(struct OptionRows *rows)
{
	for (size_t i = 0; i < ARRAY_LEN(option_rows); i++)
		vec_push(&rows->v, &option_rows[i]);
}

// One line of a file of options. What is given on the command line stands behind it or before it, as --config does.
static struct err *set_line(struct Setup *s, char *line, u32 number)
{
	line += strspn(line, " \t");
	size_t n = strlen(line);
	while (n && strchr(" \t\r", line[n - 1]))
		line[--n] = 0;
	if (!n || *line == '#')
		return NULL;
	size_t name = strcspn(line, " \t=");
	char *value = line + name + strspn(line + name, " \t=");
	for (size_t i = 0; i < ARRAY_LEN(option_rows); i++) {
		const struct Option *o = &option_rows[i];
		if (strlen(o->name) != name || memcmp(o->name, line, name) || !strcmp(o->name, "config"))
			continue;
		if (!o->arg != !*value)
			return err_new("line %u: %s %s", number, o->name, o->arg ? "needs a value" : "takes no value");
		struct err *e = o->set(s, o, *value ? value : NULL);
		return e ? err_wrap(e, "line %u: %s", number, o->name) : NULL;
	}
	return err_new("line %u: there is no option %.*s", number, (int)name, line);
}

static struct err *set_config(void *to, const struct Option *row, const char *val)
{
	struct Setup *s = to;
	struct Str text = {0};
	struct err *e = read_file(val, &text, 1 << 20);
	char *line = e ? NULL : arena_strndup(&s->arena, str_text(&text), text.n); // setters keep what they are given
	for (u32 number = 1; !e && line; number++) {
		char *end = strchr(line, '\n');
		if (end)
			*end++ = 0;
		e = set_line(s, line, number);
		line = end;
	}
	str_deinit(&text);
	return e ? err_wrap(e, "%s", val) : NULL;
}

void agent_usage(FILE *out)
{
	struct OptionRows rows = {0};
	add_rows(&rows);
	fputs("USAGE: sonde agent [options]\n\nProfiles the whole machine for as long as it runs, and sends what it sees to servers, or writes it to files.\n\nOPTIONS:\n", out);
	options_help(&rows, out);
	fputs("\nEXAMPLES:\n    sonde agent --otlp http://localhost:4318 --prometheus 9091\n    sonde agent --pyroscope http://pyroscope:4040 -l region=eu --off-cpu\n"
	      "    sonde agent --dir /var/log/profiles --dir-size 500   files only\n    sonde agent --config /etc/sonde/agent.conf\n\nSee docs/agent.md.\n", out);
	vec_deinit(&rows.v);
}

void agent_words(FILE *out)
{
	struct OptionRows rows = {0};
	add_rows(&rows);
	options_words(&rows, out);
	vec_deinit(&rows.v);
}

int agent_main(int argc, char **argv)
{
	struct Setup s = {.a = {.hz = 19, .interval = 15, .one_in = 10, .budget.max_cpu = 1}, .spool = "/var/lib/sonde/spool", .spool_mb = 256, .memory_mb = 8, .dir_mb = 1024, .max_memory_mb = 64};
	struct OptionRows rows = {0};
	struct OptionScan scan = {.rows = &rows, .argc = argc, .argv = argv};
	add_rows(&rows);
	options_begin(&scan);
	int rc = command_options("agent", &s, &scan, NULL, NULL), rest = options_rest(&scan);
	options_end(&scan);
	vec_deinit(&rows.v);
	s.spool_none = !strcmp(s.spool, "none");
	if (!rc && s.help)
		agent_usage(stdout);
	else if (!rc && rest != argc)
		rc = command_usage("agent", "unrecognized arguments: %s", argv[rest]);
	else if (!rc && !s.a.nto && !s.a.dir.path && !s.prometheus)
		rc = command_usage("agent", "where to? give --otlp, --pyroscope, --dir or --prometheus");
	else if (!rc && s.script && !s.prometheus)
		rc = command_usage("agent", "--script needs --prometheus: its maps are read there");
	else if (!rc && s.record_s && !s.a.dir.path)
		rc = command_usage("agent", "--record needs --dir: what it has recorded is written there");
	else if (!rc && s.when && !s.record_s)
		rc = command_usage("agent", "--when needs --record SECONDS");
	else if (!rc && s.pids && !any_alive(s.pids, "process"))
		rc = 1;
	else if (!rc)
		rc = agent_run(&s);
	vec_deinit(&s.attrs);
	vec_deinit(&s.headers);
	arena_deinit(&s.arena);
	return rc;
}
