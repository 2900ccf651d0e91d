// A command that a tool starts and traces: -c 'CMD' or -- CMD ARGS.
// In: its words. Out: a process that waits before its first instruction, whose id and descendants are what the tool traces; at the end its exit status.
// Invariant: what was started here has ended when command_end() returns.
#include "run/run.h"
#include "tool/internal.h"

size_t command_split(char **argv, int *argc)
{
	for (int i = 1; i < *argc; i++)
		if (!strcmp(argv[i], "--")) {
			*argc = i;
			return (size_t)i + 1;
		}
	return 0;
}

void command_words(const struct ToolOpts *o, struct Str *out)
{
	if (o->cmd)
		str_add_escaped(out, o->cmd, strlen(o->cmd), false);
	for (char **w = o->args; w && *w; w++) {
		str_add(out, w == o->args ? "" : " ");
		str_add_escaped(out, *w, strlen(*w), false);
	}
}

// What does not go together with a command; NULL: fine.
const char *command_wrong(const struct ToolOpts *o)
{
	if (o->args && !*o->args)
		return "-- needs a command to run";
	if (o->cmd && o->args)
		return "-c and -- CMD: only one command can be run";
	if ((o->cmd || o->args) && (o->pids.n || o->tids.n))
		return "a command is not allowed with -p and -L/-t: what it starts is traced";
	if ((o->cmd || o->args) && o->print_script)
		return "--print-script is not allowed with a command: it has no process yet";
	if (o->status && !o->cmd && !o->args)
		return "--status needs -c CMD or -- CMD";
	return NULL;
}

struct err *command_start(struct ToolOpts *o)
{
	if (!o->cmd && !o->args)
		return NULL;
	struct err *e = o->args ? child_start_args(o->args, &o->child) : child_start(o->cmd, &o->child);
	if (e)
		return e;
	str_addf(&o->pids, "%d", child_pid(o->child));
	return NULL;
}

int command_end(struct ToolOpts *o, int rc)
{
	if (!o->child)
		return rc;
	int status = child_end(o->child);
	child_destroy(o->child);
	o->child = NULL;
	return rc || !o->status ? rc : status;
}
