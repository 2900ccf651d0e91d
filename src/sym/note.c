// What is to be said of an object: once, when its frames are shown, or beside stacks that end in its code. Any thread writes, the one that prints reads.
#include "sym/internal.h"

void sym_object_note(struct SymObject *o, char *text)
{
	free(__atomic_exchange_n(&o->note, text, __ATOMIC_ACQ_REL));
}

void sym_object_hint(struct SymObject *o, const char *text)
{
	__atomic_store_n(&o->hint, text, __ATOMIC_RELEASE);
}

void sym_object_tell(struct SymObject *o)
{
	char *text = __atomic_exchange_n(&o->note, NULL, __ATOMIC_ACQ_REL);
	if (text)
		fprintf(stderr, "sonde: %s\n", text);
	free(text);
}
