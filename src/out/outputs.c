// The table of the files that a profile can be written to (outputs.def). Its text forms go where text goes, and are none of these.
// In: a profile, a path. Out: the file. Invariant: what could not be written whole is an error.
#include "base/outfile.h"
#include "out/report.h"
#include <errno.h>

const struct Output outputs[OUTPUTS] = {
#define OUTPUT(option, addresses, what, help, write) {"--" #option, what, addresses, write},
#include "out/outputs.def"
#undef OUTPUT
};

static struct err *output_write(const struct Output *o, const struct StackProfile *p, const char *path)
{
	u64 sum = 0;
	FILE *f = fopen(path, "we");
	if (!f)
		return err_errno(errno, "cannot write %s", path);
	struct err *e = o->write(p, f);
	if (fclose(f) && !e)
		e = err_errno(errno, "cannot write %s", path);
	for (u32 i = 0; i < p->n; i++)
		sum += p->samples[i].value;
	if (!e)
		fprintf(stderr, "%s: %s of %u stacks, %llu %s\n", path, o->what, p->n, (unsigned long long)sum, strcmp(p->unit, "count") ? p->unit : "events");
	return e;
}

struct err *outputs_check(const struct OutputFiles *f, const char *text)
{
	struct OutName names[OUTPUTS + 1];
	for (u32 i = 0; i < OUTPUTS; i++)
		names[i] = (struct OutName){outputs[i].title, f->path[i]};
	names[OUTPUTS] = (struct OutName){text ? "-o" : NULL, text};
	return outfiles_check(names, OUTPUTS + 1);
}

bool outputs_any(const struct OutputFiles *f, bool addresses)
{
	for (u32 i = 0; i < OUTPUTS; i++)
		if (f->path[i] && (!addresses || outputs[i].addresses))
			return true;
	return false;
}

struct err *outputs_write(const struct OutputFiles *f, const struct StackProfile *p, bool addresses)
{
	struct err *e = NULL;
	for (u32 i = 0; !e && i < OUTPUTS; i++)
		if (f->path[i] && outputs[i].addresses == addresses)
			e = output_write(&outputs[i], p, f->path[i]);
	return e;
}
