// Files in C that a script imports: objects are opened, sources compiled by clang, where there is one. In: s->script->objects. Out: s->prog.objects; what is wrong
// is said of the import.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "arch/arch.h"
#include "session/internal.h"

#define HEADERS "/usr/include/" HOST_MULTIARCH
extern char **environ;

// The compiler's object, in memory. It writes what it has to say to standard error.
static struct err *compile(const char *path, int *out)
{
	const char *slash = strrchr(path, '/');
	char *dir = xasprintf("-I%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	char *argv[] = {"clang", "-target", "bpf", "-mcpu=v3", "-O2", "-g", dir, "-idirafter", HEADERS, "-c", "-o", "-", (char *)path, NULL};
	posix_spawn_file_actions_t acts;
	struct err *e = NULL;
	pid_t pid;
	int status = 0, fd = memfd_create("sonde-import", MFD_CLOEXEC);
	if (fd < 0)
		return err_errno(errno, "%s", path);
	posix_spawn_file_actions_init(&acts);
	posix_spawn_file_actions_adddup2(&acts, fd, 1);
	int r = posix_spawnp(&pid, "clang", &acts, NULL, argv, environ);
	if (r == ENOENT)
		e = err_new("there is no clang here to compile %s. Where there is one: clang -target bpf -mcpu=v3 -O2 -g -c %s; then import the .bpf.o", path, path);
	else if (r)
		e = err_errno(r, "clang");
	else if (waitpid(pid, &status, 0) != pid || status)
		e = err_new("clang could not compile %s", path);
	posix_spawn_file_actions_destroy(&acts);
	free(dir);
	if (e)
		close(fd);
	else
		*out = fd;
	return e;
}

static struct err *open_one(struct Session *s, const struct ImportedC *c)
{
	struct CObj *o = NULL;
	int fd = -1;
	struct err *e = c->source ? compile(c->path, &fd) : NULL;
	if (!e && !c->source && (fd = open(c->path, O_RDONLY | O_CLOEXEC)) < 0)
		e = err_errno(errno, "%s", c->path);
	if (e)
		return e;
	e = cobj_open(&s->arena, c->path, fd, &o);
	close(fd);
	vec_push(&s->prog.objects, o);
	return e;
}

void session_open_objects(struct Session *s)
{
	for (const struct ImportedC *c = s->script->objects; c; c = c->next) {
		struct err *e = open_one(s, c);
		if (e)
			diag_error(&s->diags, c->span, "%s", err_text(e));
		err_free(e);
	}
}

const struct CFunc *session_c_function(void *arg, const char *name, const char **why)
{
	struct Session *s = arg;
	return cobj_function(s->prog.objects.p, (u32)s->prog.objects.n, name, why);
}
