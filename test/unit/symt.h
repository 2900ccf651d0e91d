// What the symbol tests share: running commands, building and holding small programs.
#ifndef SONDE_SYMT_H
#define SONDE_SYMT_H
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include "base/base.h"

__attribute__((unused)) static FILE *popenf(const char *fmt, ...)
{
	struct Str s = {0};
	va_list ap;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	FILE *f = popen(s.p, "r");
	str_deinit(&s);
	return f;
}

__attribute__((unused)) static int run(const char *fmt, ...)
{
	struct Str s = {0};
	va_list ap;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	int r = system(s.p);
	str_deinit(&s);
	return r;
}

static void write_text(const char *dir, const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
	free(path);
}

// A program with the function `here`, which prints that function's address and waits.
struct Child {
	int pid;      // -1: could not be started
	int out;      // its stdout
	u64 addr, jit;
	int launcher; // the process we forked
};

static const char child_main[] =
	"\n#define _GNU_SOURCE\n#include <stdio.h>\n#include <unistd.h>\n#include <signal.h>\n#include <sched.h>\n#include <sys/mount.h>\n"
	"#include <sys/stat.h>\n#include <sys/mman.h>\n#include <sys/wait.h>\n"
	"#include <sys/syscall.h>\n#include <sys/prctl.h>\n#include <stdlib.h>\n"
	"int here(void);\nstatic char **args;\n"
	"static void again(int s) { execl(\"/proc/self/exe\", args[0], \"again\", NULL); _exit(9); }\n"
	"int main(int c, char **v) {\n"
	"	args = v; void *jit = 0; setvbuf(stdout, 0, _IOLBF, 0);\n"
	"#ifdef UNSHARE\n"
	"	if (c > 1 && v[1][0] == '/') {\n" // v[1]: our directory; seen as /inside in the namespaces
	"		if (unshare(CLONE_NEWNS | CLONE_NEWPID)) _exit(3);\n"
	"		int go[2]; pipe(go); pid_t p = fork();\n"
	"		if (p) { printf(\"pid %d\\n\", p); close(go[0]); close(go[1]); int st; waitpid(p, &st, 0); _exit(0); }\n"
	"		prctl(PR_SET_PDEATHSIG, SIGKILL); close(go[1]); read(go[0], &p, 1);\n" // our pid is said before anything else
	"		mount(0, \"/\", 0, MS_REC | MS_PRIVATE, 0);\n"
	"		if (mount(\"none\", \"/mnt\", \"tmpfs\", 0, 0)) _exit(4);\n"
	"		mkdir(\"/mnt/inside\", 0755); mkdir(\"/mnt/tmp\", 01777); mkdir(\"/mnt/lib\", 0755); mkdir(\"/mnt/lib64\", 0755);\n"
	"		mkdir(\"/mnt/usr\", 0755);\n"
	"		mount(v[1], \"/mnt/inside\", 0, MS_BIND, 0); mount(\"/lib\", \"/mnt/lib\", 0, MS_BIND, 0);\n"
	"		mount(\"/usr\", \"/mnt/usr\", 0, MS_BIND, 0); mount(\"/lib64\", \"/mnt/lib64\", 0, MS_BIND, 0);\n"
	"		mkdir(\"/mnt/old\", 0755);\n"
	"		if (syscall(SYS_pivot_root, \"/mnt\", \"/mnt/old\") || chdir(\"/\")) _exit(5); umount2(\"/old\", MNT_DETACH);\n"
	"		symlink(\"/inside/prog\", \"/inside/link\");\n"
	"		execl(\"/inside/prog\", \"prog\", NULL); _exit(6);\n"
	"	}\n"
	"	jit = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n"
	"	char n[64]; sprintf(n, \"/tmp/perf-%d.map\", getpid()); FILE *f = fopen(n, \"w\");\n"
	"	fprintf(f, \"%lx 100 jitted_in_ns\\n\", (long)jit); fclose(f);\n"
	"#endif\n"
	"#ifdef EXEC_ON_USR1\n"
	"	sigset_t none; sigemptyset(&none); sigprocmask(SIG_SETMASK, &none, 0); signal(SIGUSR1, again);\n"
	"#endif\n"
	"	printf(\"%lx %lx %s\\n\", (long)here, (long)jit, c > 1 ? v[1] : \"first\");\n"
	"	for (;;) pause();\n"
	"}\n";

// Reads the child's lines until one holds word; takes the addresses from it.
static bool child_wait_text(struct Child *c, const char *word)
{
	char line[256];
	size_t n = 0;
	for (;;) {
		struct pollfd p = {c->out, POLLIN, 0};
		char ch;
		if (poll(&p, 1, 10000) <= 0 || read(c->out, &ch, 1) != 1)
			return false;
		if (ch != '\n') {
			if (n < sizeof(line) - 1)
				line[n++] = ch;
			continue;
		}
		line[n] = 0;
		n = 0;
		if (!strncmp(line, "pid ", 4))
			c->pid = atoi(line + 4);
		else if (strstr(line, word))
			return sscanf(line, "%lx %lx", &c->addr, &c->jit) == 2;
	}
}

__attribute__((unused)) static void child_end(struct Child *c)
{
	if (c->pid > 0)
		kill(c->pid, SIGKILL);
	if (c->launcher > 0) {
		kill(c->launcher, SIGKILL);
		waitpid(c->launcher, NULL, 0);
	}
	if (c->out >= 0)
		close(c->out);
	c->out = -1;
	c->launcher = 0;
}

__attribute__((unused)) static struct Child child_spawn(const char *dir, const char *code, const char *opts)
{
	struct Child c = {.pid = -1, .out = -1};
	int fd[2];
	struct Str text = {0};
	str_add(&text, code);
	str_add(&text, child_main);
	write_text(dir, "prog.c", text.p);
	str_deinit(&text);
	if (run("cd %s && rm -f prog && gcc -w -O1 -o prog prog.c %s", dir, opts) || pipe(fd))
		return c;
	char *path = xasprintf("%s/prog", dir);
	c.launcher = c.pid = fork();
	if (!c.launcher) {
		dup2(fd[1], 1);
		close(fd[0]);
		close(fd[1]);
		execl(path, "prog", strstr(opts, "UNSHARE") ? dir : NULL, NULL);
		_exit(127);
	}
	free(path);
	close(fd[1]);
	c.out = fd[0];
	if (!child_wait_text(&c, "first")) {
		child_end(&c);
		c.pid = -1;
	}
	return c;
}
#endif
