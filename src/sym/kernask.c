// Kernel symbols one at a time, from whoever answers single questions (SymAsk), while that costs less than the table of kallsyms.c.
// In: an address or a name. Out: the same as from the table. Invariant: the kernel's text is not trusted to be of the form expected.
#include "sym/internal.h"

void syms_set_ask(struct Syms *s, const struct SymAsk *ask)
{
	s->ask = *ask;
}

// BPF programs, trampolines and the dispatcher, which kallsyms lists as of module "bpf": "bpf_prog_TAG_NAME" with a tag of 16 digits, "bpf_trampoline_ID",
// "bpf_dispatcher_xdp" (kernel/bpf/core.c, bpf_get_prog_name(); trampoline.c; dispatcher.c).
static bool is_bpf(const char *name)
{
	if (!strncmp(name, "bpf_prog_", 9))
		return strspn(name + 9, "0123456789abcdef") == 16;
	if (!strcmp(name, "bpf_dispatcher_xdp"))
		return true;
	return !strncmp(name, "bpf_trampoline_", 15) && name[15] && !name[15 + strspn(name + 15, "0123456789")];
}

bool ask_parse(struct Syms *s, char *text, u64 addr, struct SymHit *hit)
{
	char *module = strstr(text, " ["), *plus, *end;

	*hit = (struct SymHit){0};
	if (!strncmp(text, ".L", 2)) // the kernel takes a label for the function, the table does not
		return false;
	if (module) {
		*module = 0;
		module += 2;
		module[strcspn(module, "]")] = 0;
	}
	if (!(plus = strrchr(text, '+')))
		return !strncmp(text, "0x", 2); // no symbol
	*plus = 0;
	hit->off = strtoull(plus + 1, &end, 16);
	if (*end != '/' || plus == text)
		return false;
	hit->size = strtoull(end + 1, NULL, 16);
	hit->start = addr - hit->off;
	hit->name = map_keep(&s->kept, text);
	hit->module = module ? map_keep(&s->kept, module) : is_bpf(text) ? "bpf" : NULL;
	return true;
}

bool ask_symbol(struct Syms *s, u64 addr, struct SymHit *hit)
{
	char text[1024];
	*hit = (struct SymHit){0};
	if (!s->ask.symbol || s->asked >= ASK_MAX)
		return false;
	if (!(addr >> 32)) // per-CPU offsets and absolute values are no addresses
		return true;
	s->asked++;
	return s->ask.symbol(s->ask.arg, addr, text, sizeof(text)) && ask_parse(s, text, addr, hit);
}

int ask_addr(struct Syms *s, const char *name, u64 *addr)
{
	return s->ask.addr ? s->ask.addr(s->ask.arg, name, addr) : -1;
}
