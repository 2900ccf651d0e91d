// V8's builtins in files without symbols for them: files made here, whose table and code are as V8's build writes them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "elf/elf.h"
#include "t.h"

#define N 600
// Of 40 bytes each, 64 apart, behind `before` bytes of other code; pad: what lies between.
static bool found(const char *numbers, u32 before, const char *pad, struct V8Blob *out, u64 *text)
{
	char bin[64], cmd[900];
	struct ElfFile f;
	struct stat st;
	snprintf(bin, sizeof(bin), "/tmp/sonde-v8blob-test-%d.so", getpid());
	snprintf(cmd, sizeof(cmd),
		 "printf '.section .rodata\\n.long 7,7,0,0\\n.set i,0\\n.rept %d\\n.long i*64,40,0\\n.set i,i+1\\n.endr\\n.set i,0\\n.rept %d\\n.long (i+1)*64,%s\\n.set i,i+1\\n.endr\\n"
		 ".text\\n.p2align 12\\n.fill %u,1,0x90\\n.rept %d\\n.fill 40,1,0x90\\n.fill 23,1,0xcc\\n.byte %s\\n.endr\\n.fill 9000,1,0x90\\n' | gcc -x assembler -shared -nostdlib - -o %s 2>/dev/null",
		 N, N, numbers, before, N, pad, bin);
	CHECK_EQ(system(cmd), 0);
	int fd = open(bin, O_RDONLY);
	CHECK(fd >= 0 && !fstat(fd, &st));
	CHECK(!elffile_open(&f, fd, NULL, (u64)st.st_size) && !elffile_headers(&f));
	const struct ElfSec *s = elffile_section(&f, ".text");
	*text = s ? s->addr : 0;
	bool is = v8blob_find(&f, out);
	elffile_close(&f);
	close(fd);
	unlink(bin);
	return is;
}

TEST(builtins)
{
	struct V8Blob b;
	u64 text;
	if (system("gcc --version >/dev/null 2>&1"))
		SKIP("no gcc");
	bool is = found("i", 128000, "0xcc", &b, &text);
	CHECK(is);
	if (!is)
		return;
	CHECK_EQ(b.code, text + 128000);
	CHECK_EQ(b.size, (N - 1) * 64 + 40);
	CHECK_EQ(b.starts.n, N);
	CHECK_EQ(b.starts.p[N - 1], b.code + (N - 1) * 64);
	vec_deinit(&b.starts);
}

TEST(no_builtins)
{
	struct V8Blob b;
	u64 text;
	if (system("gcc --version >/dev/null 2>&1"))
		SKIP("no gcc");
	CHECK(!found("i", 64, "0x90", &b, &text)); // what lies between is no padding
	CHECK(!found("i*2", 64, "0xcc", &b, &text)); // the numbers do not count up
	CHECK(!b.starts.n);
}

T_MAIN()
