// What base/privs.c leaves of root's rights: each refused act is seen to work before it.
#include "t.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define REFUSED(call) ((call) < 0 ? errno : 0)
static char secret[] = "/tmp/privs_test.XXXXXX"; // root's, mode 0600

// Runs in a process of its own, so that the test keeps its rights; returns its exit status.
static int in_child(int (*fn)(void))
{
	int status = 0;
	pid_t pid = fork();
	if (!pid)
		_exit(fn());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int can_before(void)
{
	if (open(secret, O_RDWR) < 0)
		return 1;
	if (REFUSED(socket(AF_INET, SOCK_STREAM, 0)))
		return 2;
	if (REFUSED(setresuid(-1, 0, 0)))
		return 3;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) || prctl(PR_GET_SECCOMP))
		return 4;
	return 0;
}

static void *set_to_1(void *arg)
{
	*(int *)arg = geteuid() == 65534 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
	return NULL;
}

static int cannot_after(void)
{
	union bpf_attr attr = {0};
	char c;
	int fd, one = 0;
	pthread_t t;
	privs_plan(&(struct PrivPlan){0});
	if (caller_uid() != 0 || privs_drop())
		return 1;
	if (geteuid() != 65534 || getuid() || caller_uid() != 0)
		return 2;
	if ((fd = open(secret, O_RDONLY)) < 0 || read(fd, &c, 1) != 1 || c != 's')
		return 3;
	if (REFUSED(open(secret, O_RDWR)) != EACCES || REFUSED(open("/etc/privs_test", O_CREAT | O_WRONLY, 0600)) != EACCES)
		return 4;
	if (REFUSED(execl("/bin/true", "true", NULL)) != EPERM || REFUSED(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL)) != EPERM)
		return 5;
	if (REFUSED(socket(AF_INET, SOCK_STREAM, 0)) != EPERM || REFUSED(setresuid(-1, 0, 0)) != EPERM || REFUSED(unshare(CLONE_NEWUSER)) != EPERM)
		return 6;
	if (REFUSED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL)) != EPERM || REFUSED(mount("none", "/mnt", "tmpfs", 0, NULL)) != EPERM)
		return 7;
	attr.btf_id = 1;
	if (REFUSED(syscall(SYS_bpf, BPF_BTF_GET_FD_BY_ID, &attr, sizeof(attr))) != EPERM || REFUSED(syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr))) != EPERM)
		return 8;
	if (pthread_create(&t, NULL, set_to_1, &one) || pthread_join(t, NULL) || !one)
		return 9;
	pid_t pid = fork(); // the helper that detaches is such
	if (!pid)
		_exit(0);
	return pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : 10;
}

static int files_after(void)
{
	privs_plan(&(struct PrivPlan){.files = true});
	if (privs_drop() || geteuid())
		return 1;
	if (open(secret, O_RDWR) < 0)
		return 2;
	return REFUSED(mount("none", "/mnt", "tmpfs", 0, NULL)) == EPERM && REFUSED(execl("/bin/true", "true", NULL)) == EPERM ? 0 : 3;
}

static int unplanned(void)
{
	return privs_drop() || geteuid() || prctl(PR_GET_SECCOMP) ? 1 : 0;
}

// A change of user takes PR_SET_PDEATHSIG back (prctl(2)): the collectors of `sonde top` and the agent live by it.
static int death_signal(void)
{
	int sig = 0;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	privs_plan(&(struct PrivPlan){0});
	return privs_drop() || prctl(PR_GET_PDEATHSIG, &sig) || sig != SIGTERM;
}

TEST(rights_that_are_left)
{
	int fd = mkstemp(secret);
	if (geteuid())
		SKIP("not root");
	CHECK(fd >= 0 && write(fd, "s", 1) == 1);
	CHECK_EQ(in_child(can_before), 0);
	CHECK_EQ(in_child(cannot_after), 0);
	CHECK_EQ(in_child(files_after), 0);
	CHECK_EQ(in_child(unplanned), 0);
	CHECK_EQ(in_child(death_signal), 0);
	close(fd);
	unlink(secret);
}
T_MAIN()
