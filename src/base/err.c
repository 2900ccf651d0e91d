// Runtime errors: a chain of messages, outermost first.
#include "base/base.h"

struct err {
	char *text; // own message and, after ": ", the cause's
	int code;
};

static struct err *make(char *text, int code)
{
	struct err *e = xmalloc(sizeof(*e));
	*e = (struct err){text, code};
	return e;
}

struct err *err_new(const char *fmt, ...)
{
	struct Str s = {0};
	va_list ap;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	return make(s.p, 0);
}

struct err *err_errno(int errnum, const char *fmt, ...)
{
	struct Str s = {0};
	va_list ap;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	str_addf(&s, ": %s", strerror(errnum));
	return make(s.p, errnum);
}

struct err *err_wrap(struct err *cause, const char *fmt, ...)
{
	struct Str s = {0};
	va_list ap;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	str_addf(&s, ": %s", cause->text);
	int code = cause->code;
	err_free(cause);
	return make(s.p, code);
}

const char *err_text(const struct err *e)
{
	return e->text;
}

int err_code(const struct err *e)
{
	return e->code;
}

void err_free(struct err *e)
{
	if (!e)
		return;
	free(e->text);
	free(e);
}
