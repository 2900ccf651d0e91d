// Kinds of frames: how the forms of a report say whose function it is. In: frames. Out: marks, languages. Invariant: what one form writes is what input/ reads.
#include "out/report.h"

const char frame_lang_unknown[] = "unknown";

// Runtimes whose functions stand in stacks (runtime/): their name, in brackets the object of their functions.
static const char *const langs[] = {"python", "java", "php", "ruby", "perl", "lua", "javascript", "node", "v8"};

const char *frame_lang_of_object(const char *module)
{
	size_t n = strlen(module);
	for (size_t i = 0; n > 2 && module[0] == '[' && module[n - 1] == ']' && i < ARRAY_LEN(langs); i++)
		if (strlen(langs[i]) == n - 2 && !memcmp(langs[i], module + 1, n - 2))
			return langs[i];
	return NULL;
}

const char *frame_annotation(const struct Frame *f)
{
	return f->kernel ? "_[k]" : f->mark ? "" : f->lang ? "_[j]" : f->inlined ? "_[i]" : "";
}

u32 profile_frame_line(const struct StackProfile *p, const struct Frame *f)
{
	return !f->file || f->mark || (f->lang && !p->lang_lines) ? 0 : f->line;
}
