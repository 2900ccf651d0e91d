// Options of sonde's commands, one after the other into what they set. In: a scan of rows. Out: what the rows set; what is wrong, said on stderr in one form for all
// commands.
#include "base/base.h"
#include "tool/internal.h"

int command_usage(const char *command, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fprintf(stderr, "sonde %s: error: ", command);
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\nTry 'sonde %s --help'.\n", command);
	va_end(ap);
	return 2;
}

int command_failed(struct err *e)
{
	struct Str text = {0};
	str_add_shown(&text, err_text(e), strlen(err_text(e)));
	fprintf(stderr, "ERROR: %s\n", str_text(&text));
	str_deinit(&text);
	err_free(e);
	return 1;
}

// "argument -p/--pid: must be an integer"
static int value_error(const char *command, const struct Option *row, const char *what)
{
	struct Str title = {0};
	option_title(row, &title);
	int rc = command_usage(command, "argument %s: %s", str_text(&title), what);
	str_deinit(&title);
	return rc;
}

struct err *set_option_text(void *to, const struct Option *row, const char *val)
{
	*(const char **)((char *)to + (uintptr_t)row->data) = val;
	return *val ? NULL : err_new("must not be empty");
}

struct err *set_option_flag(void *to, const struct Option *row, const char *val)
{
	*(bool *)((char *)to + (uintptr_t)row->data) = true;
	return NULL;
}

int command_options(const char *command, void *to, struct OptionScan *scan, const bool *done, void (*took)(void *to, const struct Option *row, const char *val))
{
	const struct Option *row;
	const char *val, *text;
	while (!done || !*done)
		switch (options_next(scan, &row, &val, &text)) {
		case OPTION_NONE:
			return 0;
		case OPTION_UNKNOWN:
			return command_usage(command, "unrecognized arguments: %s", text);
		case OPTION_NO_VALUE:
			return value_error(command, row, "expected one argument");
		case OPTION_ROW: {
			struct err *e = row->set(to, row, val);
			int rc = e ? value_error(command, row, err_text(e)) : 0;
			err_free(e);
			if (rc)
				return rc;
			if (took)
				took(to, row, val);
		}
		}
	return 0;
}
