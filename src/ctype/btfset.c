// Which BTF objects this machine has: vmlinux (or the file named by BPFTRACE_BTF) and loaded modules, each opened at first use.
// Input: /sys/kernel/btf, else section .BTF of a vmlinux where distributions put it. Output: struct Btf. Owner of all of them.
#include "base/base.h"
#include "ctype/internal.h"
#include "elf/elf.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define BTF_DIR "/sys/kernel/btf"
#define BTF_SIZE_MAX ((off_t)1 << 30)

struct BtfModule {
	char *name;
	struct Btf *btf;
	bool tried;
};
struct BtfSet {
	struct Btf *vmlinux;
	bool tried, listed, foreign; // foreign: not the running kernel's, so its modules do not fit
	char *why;
	VEC(struct BtfModule) modules;
};

static struct BtfSet *btfset(struct Ctypes *c)
{
	if (!c->btf)
		c->btf = xcalloc(1, sizeof(*c->btf));
	return c->btf;
}

void btfset_destroy(struct BtfSet *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->modules.n; i++) {
		kbtf_free(s->modules.p[i].btf);
		free(s->modules.p[i].name);
	}
	vec_deinit(&s->modules);
	kbtf_free(s->vmlinux);
	free(s->why);
	free(s);
}

static void *read_all(int fd, size_t size, char **why)
{
	char *data = xmalloc(size);
	size_t n = 0;
	while (n < size) {
		ssize_t got = read(fd, data + n, size - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			*why = xasprintf("%s", got ? strerror(errno) : "it ends too early");
			free(data);
			return NULL;
		}
		n += (size_t)got;
	}
	return data;
}

// sysfs: BTF can be mapped since 6.16 (kernel commit a539e2a6d51d), else it is read. Other files are always read: a file
// that somebody shortens while it is mapped kills us with SIGBUS.
static struct Btf *open_raw(const char *path, bool sysfs, struct Btf *base, char **why)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		*why = xasprintf("cannot open %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	struct Btf *b = NULL;
	const char *bad = NULL;
	char *unread = NULL;
	if (st.st_size <= 0 || st.st_size > BTF_SIZE_MAX)
		bad = "its size makes no sense";
	else {
		void *data = sysfs ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
		bool mapped = data != MAP_FAILED;
		if (!mapped)
			data = read_all(fd, (size_t)st.st_size, &unread);
		if (data)
			b = kbtf_from_data(data, (size_t)st.st_size, mapped, base, &bad);
	}
	close(fd);
	if (!b)
		*why = xasprintf("cannot use %s: %s", path, unread ? unread : bad);
	free(unread);
	return b;
}

// An ELF file with a .BTF section.
static struct Btf *open_elf(const char *path)
{
	struct ElfFile f;
	struct stat st;
	const char *why;
	void *data = NULL;
	u64 size = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	struct err *e = fstat(fd, &st) ? err_errno(errno, "%s", path) : elffile_open(&f, fd, NULL, (u64)st.st_size);
	if (!e) {
		e = elffile_headers(&f);
		const struct ElfSec *sec = elffile_section(&f, ".BTF");
		size = sec ? sec->size : 0;
		data = sec ? elffile_load(&f, sec->off, size, BTF_SIZE_MAX) : NULL;
		elffile_close(&f);
	}
	err_free(e);
	close(fd);
	return data ? kbtf_from_data(data, size, false, NULL, &why) : NULL;
}

// Where distributions put the running kernel with its type information; its release for each '*'.
static struct Btf *open_installed(void)
{
	static const char *const places[] = {"/boot/vmlinux-*", "/lib/modules/*/vmlinux-*", "/lib/modules/*/vmlinux", "/lib/modules/*/build/vmlinux",
					     "/lib/modules/*/kernel/vmlinux", "/usr/lib/debug/boot/vmlinux-*", "/usr/lib/debug/boot/vmlinux-*.debug",
					     "/usr/lib/debug/lib/modules/*/vmlinux"};
	struct utsname u;
	struct Str path = {0};
	struct Btf *b = NULL;
	for (u32 i = 0; i < ARRAY_LEN(places) && !b && !uname(&u); i++) {
		str_reset(&path);
		for (const char *p = places[i]; *p; p++)
			*p == '*' ? str_add(&path, u.release) : str_addc(&path, *p);
		b = open_elf(str_text(&path));
	}
	str_deinit(&path);
	return b;
}

// path NULL: the running kernel's.
static struct Btf *open_vmlinux(const char *path, char **why)
{
	struct Btf *b = open_raw(path ? path : BTF_DIR "/vmlinux", !path, NULL, why);
	return b ? b : path ? open_elf(path) : open_installed();
}

struct Btf *kbtf_running(void)
{
	char *why = NULL;
	struct Btf *b = open_vmlinux(NULL, &why);
	free(why);
	return b;
}

bool kbtf_exists(struct Ctypes *c)
{
	const char *env = getenv("BPFTRACE_BTF");
	if (c->btf && c->btf->tried)
		return c->btf->vmlinux != NULL;
	return can_access(env && *env ? env : BTF_DIR "/vmlinux", R_OK) || kbtf_vmlinux(c);
}

struct Btf *kbtf_vmlinux(struct Ctypes *c)
{
	struct BtfSet *s = btfset(c);
	if (s->tried)
		return s->vmlinux;
	s->tried = true;
	const char *env = getenv("BPFTRACE_BTF");
	s->foreign = env && *env;
	s->vmlinux = open_vmlinux(s->foreign ? env : NULL, &s->why);
	return s->vmlinux;
}

const char *kbtf_why_not(const struct Ctypes *c)
{
	return c->btf && c->btf->why ? c->btf->why : "not looked for";
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct BtfModule *)a)->name, ((const struct BtfModule *)b)->name);
}

static void list_modules(struct BtfSet *s)
{
	s->listed = true;
	DIR *d = s->foreign || !s->vmlinux ? NULL : opendir(BTF_DIR);
	for (struct dirent *de; d && (de = readdir(d));) {
		if (de->d_name[0] == '.' || !strcmp(de->d_name, "vmlinux"))
			continue;
		struct BtfModule m = {xstrdup(de->d_name), NULL, false};
		vec_push(&s->modules, m);
	}
	if (d)
		closedir(d);
	if (s->modules.n)
		qsort(s->modules.p, s->modules.n, sizeof(*s->modules.p), by_name);
}

static struct Btf *open_module(struct BtfSet *s, struct BtfModule *m)
{
	if (!m->tried) {
		char *why = NULL, *path = xasprintf(BTF_DIR "/%s", m->name);
		m->tried = true;
		m->btf = open_raw(path, true, s->vmlinux, &why);
		if (m->btf)
			m->btf->module = m->name;
		free(path);
		free(why);
	}
	return m->btf;
}

struct Btf *kbtf_module(struct Ctypes *c, const char *name)
{
	struct BtfSet *s = btfset(c);
	if (!kbtf_vmlinux(c))
		return NULL;
	if (!s->listed)
		list_modules(s);
	for (size_t i = 0; i < s->modules.n; i++)
		if (!strcmp(s->modules.p[i].name, name))
			return open_module(s, &s->modules.p[i]);
	return NULL;
}

bool kbtf_each(struct Ctypes *c, u32 *i, struct Btf **out)
{
	struct BtfSet *s = btfset(c);
	*out = kbtf_vmlinux(c);
	if (!*out)
		return false;
	if (!s->listed && *i)
		list_modules(s);
	for (u32 at = (*i)++; at <= s->modules.n; at = (*i)++) {
		*out = at ? open_module(s, &s->modules.p[at - 1]) : s->vmlinux;
		if (*out)
			return true;
	}
	return false;
}
