# Code as GraalVM's native images have it: no unwind tables, frames of one size, a nop behind each call, some MB of it. first() -> second() -> third() -> ask(),
# with others between them. gcc image.c image.S
	.section .svm_heap, "aw"
	.quad 0
	.text

	.macro GRAAL name, callee # its slow ways call what never returns: behind that is the handler of an exception, or at once the next function
	.p2align 4, 0xcc
	.globl \name
\name:
	sub $0x28, %rsp
	cmp limit(%rip), %rsp
	jbe 3f
	mov %rdi, 0x18(%rsp)
	call \callee
	nop
2:	add $0x28, %rsp
	ret
	mov %rax, %rsi # only an exception leads here
	mov 0x18(%rsp), %rdi
	call \callee
	nop
	jmp 2b
3:	call die
	nop
	.endm

	.macro FILLER
	.p2align 4, 0xcc
	sub $0x18, %rsp
	mov %rdi, 8(%rsp)
	call filled
	nop
	mov 8(%rsp), %rax
	add $0x18, %rsp
	ret
	.endm

filled:	ret
die:	ud2
	GRAAL first second
	FILLER
	.rept 80000
	FILLER
	.endr
	GRAAL third ask
	.rept 80000
	FILLER
	.endr
	GRAAL second third
	.p2align 4, 0xcc

	.bss
limit:	.quad 0
	.section .note.GNU-stack, ""
