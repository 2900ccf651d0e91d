// Assembly without tables that aligns its stack, as that of video codecs does: main -> in_register | in_memory | in_frame -> leaf -> getppid. Where the stack pointer was
// is kept in r10, or below in memory, by rsp or, as in libjpeg-turbo, by rbp. With -DTABLES it has tables in .debug_frame, which are for
// who checks. usage: aligned N
#include <stdlib.h>

#ifdef TABLES
#define SECTIONS ".cfi_sections .debug_frame\n"
#define T(directive) directive "\n"
#define PROC T(".cfi_startproc")
#define END T(".cfi_endproc")
#else
#define SECTIONS
#define T(directive)
#define PROC
#define END
#endif
#define FUNCTION(name, body) ".type " name ", @function\n.balign 16\n" name ":\n" PROC body END ".size " name ", . - " name "\n"
// CFA = *(rsp + 128) + 16, and the same with 8 bytes more on the stack (DW_CFA_def_cfa_expression)
#define CFA_STORED T(".cfi_escape 0x0f, 6, 0x77, 0x80, 0x01, 0x06, 0x23, 16")
#define CFA_BY_RBP T(".cfi_escape 0x0f, 5, 0x76, 0, 0x06, 0x23, 16") // *rbp + 16
#define CFA_STORED_8 T(".cfi_escape 0x0f, 6, 0x77, 0x88, 0x01, 0x06, 0x23, 16")
__asm__(SECTIONS ".text\n"
	FUNCTION("leaf", "mov $110, %eax\nsyscall\nret\n") // leaves r10 alone
	FUNCTION("in_register",
		 "mov %rsp, %r10\n" T(".cfi_def_cfa_register 10") "and $-32, %rsp\nsub $0x60, %rsp\ncall leaf\n"
		 "mov %r10, %rsp\n" T(".cfi_def_cfa_register 7") "ret\n")
	FUNCTION("in_memory",
		 "push %rbx\n" T(".cfi_def_cfa_offset 16") T(".cfi_offset 3, -16") "mov %rsp, %r10\n" T(".cfi_def_cfa_register 10")
		 "and $-64, %rsp\nsub $0xc0, %rsp\nmov %r10, 0x80(%rsp)\n" CFA_STORED "push %rbx\n" CFA_STORED_8 "xor %ebx, %ebx\ncall leaf\npop %rbx\n" CFA_STORED
		 "mov 0x80(%rsp), %rsp\n" T(".cfi_def_cfa 7, 16") "pop %rbx\n" T(".cfi_def_cfa_offset 8") "ret\n")
	FUNCTION("in_frame",
		 "push %rbp\n" T(".cfi_def_cfa_offset 16") T(".cfi_offset 6, -16") "mov %rsp, %rax\n" T(".cfi_def_cfa_register 0")
		 "sub $4, %rsp\nand $-32, %rsp\nmov %rax, (%rsp)\nmov %rsp, %rbp\n" CFA_BY_RBP "lea -0x80(%rbp), %rsp\npush %rbx\nxor %ebx, %ebx\ncall leaf\npop %rbx\n"
		 "mov %rbp, %rsp\npop %rsp\n" T(".cfi_def_cfa 7, 16") "pop %rbp\n" T(".cfi_def_cfa_offset 8") "ret\n"));
void in_register(void);
void in_memory(void);
void in_frame(void);

int main(int argc, char **argv)
{
	for (int n = argc > 1 ? atoi(argv[1]) : 1; n > 0; n--) {
		in_register();
		in_memory();
		in_frame();
	}
	return 0;
}
