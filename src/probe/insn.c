// Where instructions begin. The kernel puts a breakpoint of a uprobe wherever it is told to; inside an instruction that changes the program
// (Documentation/trace/uprobetracer.rst leaves this to the caller).
#include <fcntl.h>
#include <unistd.h>
#include "arch/arch.h"
#include "probe/internal.h"

enum InsnAt insn_at(const char *path, u64 start, u64 off)
{
	u8 buf[4096 + 16];
	u64 have_at = 0, have = 0, at = start;
	struct Insn in;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return INSN_UNKNOWN;
	while (at < off) {
		if (at + 16 > have_at + have) {
			ssize_t n = pread(fd, buf, sizeof(buf), (off_t)at);
			have_at = at;
			have = n > 0 ? (u64)n : 0;
		}
		if (at >= have_at + have || !insn_decode(PT_HOST, buf + (at - have_at), have_at + have - at, at, &in))
			break;
		at += in.len;
	}
	close(fd);
	return at < off ? INSN_UNKNOWN : at == off ? INSN_BEGINS : INSN_INSIDE;
}
