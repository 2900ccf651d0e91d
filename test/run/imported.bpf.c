// Functions in C for test/run/cimport.t, of each kind that a script may import.
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned char u8;
#define SEC(n) __attribute__((section(n), used))
#define NOINLINE __attribute__((noinline))
#define __uint(name, val) int(*name)[val]
#define __type(name, val) __typeof__(val) *name
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;

struct {
	__uint(type, 2);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} counts SEC(".maps");
static const u64 squares[] = {0, 1, 4, 9, 16, 25, 36, 49};
u64 ticks;
volatile int base = 100;

static NOINLINE u64 twice(u64 x)
{
	asm volatile("" : "+r"(x));
	return 2 * x;
}

u64 add(u64 a, u64 b) { return a + twice(b); }
int neg(int x) { return -x; }
u64 square(u32 i) { return i < 8 ? squares[i] : 0; }
u64 tick(void) { return ++ticks + base; }
u8 narrow(u32 x) { return x; }
long wide(signed char x) { return x; }
_Bool is_null(void *p) { return !p; }
void nothing(void) {}

u64 counted(void)
{
	u32 key = 0;
	u64 *v = bpf_map_lookup_elem(&counts, &key);
	return v ? ++*v : 0;
}

u32 vowels(const char *s)
{
	u32 n = 0;
	for (int i = 0; i < 8; i++) {
		char c = s[i];
		if (!c)
			break;
		n += c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u';
	}
	return n;
}

// ---- what cannot be had
struct task_struct {
	int pid;
} __attribute__((preserve_access_index));
int core(struct task_struct *t) { return t->pid; }
extern int nowhere(int);
int lost(void) { return nowhere(1); }
struct Big {
	u64 a[4];
};
u64 many(struct Big b) { return b.a[0]; }
