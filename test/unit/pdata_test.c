// Windows' unwind information for x86-64: functions as .NET's and other compilers write them, what was written for them, and the rule that has to hold at each instruction.
#include "t.h"
#include "unwind/unwind.h"

static u8 image[4096];

static bool read_image(void *arg, u64 at, void *buf, u64 n)
{
	(void)arg;
	if (at > sizeof(image) || n > sizeof(image) - at)
		return false;
	memcpy(buf, image + at, n);
	return true;
}

static const struct UwWindows w = {read_image, NULL, 0};
#define SP 7
#define FP 6

static const struct RtUwRule *at(const UwCodeRows *v, u64 off)
{
	const struct RtUwRule *r = NULL;
	for (size_t i = 0; i < v->n && v->p[i].off <= off; i++)
		r = &v->p[i].rule;
	return r;
}

#define CHECK_RULE(v, off_, reg_, cfa)                                   \
	do {                                                             \
		const struct RtUwRule *r_ = at(v, off_);                 \
		CHECK(r_ && r_->kind == RT_UW_REG);                      \
		CHECK_EQ(r_ ? r_->reg : 0, reg_);                        \
		CHECK_EQ(r_ ? r_->off : 0, cfa);                         \
		CHECK_EQ(r_ ? r_->ra : 0, -8);                           \
	} while (0)

static UwCodeRows rows_of(const u8 *info, size_t ninfo, const u8 *code, size_t n, bool known)
{
	UwCodeRows v = {0};
	memset(image, 0, sizeof(image));
	memcpy(image + 64, info, ninfo);
	CHECK_EQ(uwwindows_rows(&w, 64, code, n, &v), known);
	CHECK(v.n && v.p[0].off == 0);
	for (size_t i = 1; i < v.n; i++)
		CHECK(v.p[i].off > v.p[i - 1].off && v.p[i].off < n);
	return v;
}
#define ROWS(info, code, known) rows_of(info, sizeof(info), code, sizeof(code), known)

// push rbp; push r15; push rbx; sub rsp, 40; lea rbp, [rsp + 56]; nop; add rsp, 40; pop rbx; pop r15; pop rbp; ret; nop
TEST(frame_of_dotnet)
{
	static const u8 code[] = {0x55, 0x41, 0x57, 0x53, 0x48, 0x83, 0xec, 40, 0x48, 0x8d, 0x6c, 0x24, 56, 0x90, 0x48, 0x83, 0xc4, 40, 0x5b, 0x41, 0x5f, 0x5d, 0xc3, 0x90};
	static const u8 info[] = {1, 8, 4, 0, 8, 0x42, 4, 0x30, 3, 0xf0, 1, 0x50}; // rbp is set behind what is told of: it is the caller's that is known
	UwCodeRows v = ROWS(info, code, true);
	CHECK_RULE(&v, 0, SP, 8);
	CHECK_RULE(&v, 1, SP, 16);
	CHECK_RULE(&v, 3, SP, 24);
	CHECK_RULE(&v, 8, SP, 72);
	CHECK_EQ(at(&v, 8)->slot[0], -16);
	CHECK_EQ(at(&v, 8)->slot[1], -32); // rbx
	CHECK_RULE(&v, 13, FP, 16);
	CHECK_RULE(&v, 22, SP, 8); // the caller's rbp is back
	CHECK_RULE(&v, 23, SP, 72); // behind the end the frame as it was
	vec_deinit(&v);
}

// push rbp; sub rsp, 0x1000; lea rbp, [rsp + 0x1000]; sub rsp, rax; call; lea rsp, [rbp]; pop rbp; ret
TEST(frame_pointer_far_away)
{
	static const u8 code[] = {0x55, 0x48, 0x81, 0xec, 0, 0x10, 0, 0, 0x48, 0x8d, 0xac, 0x24, 0, 0x10, 0, 0, 0x48, 0x29, 0xc4, 0xe8, 0, 0, 0, 0, 0x48, 0x8d, 0x65, 0, 0x5d, 0xc3};
	static const u8 info[] = {1, 16, 6, 0xf5, 16, 0x0b, 0, 1, 0, 0, 8, 1, 0, 2, 1, 0x50}; // SET_FPREG_LARGE: 256 times 16
	UwCodeRows v = ROWS(info, code, true);
	CHECK_RULE(&v, 8, SP, 0x1010);
	CHECK_RULE(&v, 16, FP, 16);
	CHECK_RULE(&v, 19, FP, 16);
	CHECK_RULE(&v, 29, SP, 8);
	vec_deinit(&v);
}

// sub rsp, 40; mov [rsp + 32], rbx; jz; add rsp, 40; ret; mov rbx, [rsp + 32]; add rsp, 40; jmp
TEST(no_frame_pointer)
{
	static const u8 code[] = {0x48, 0x83, 0xec, 40, 0x48, 0x89, 0x5c, 0x24, 32, 0x74, 5, 0x48, 0x83, 0xc4, 40, 0xc3, 0x48, 0x8b, 0x5c, 0x24, 32, 0x48, 0x83, 0xc4, 40, 0xe9, 0, 0, 0, 0};
	static const u8 info[] = {1, 9, 3, 0, 9, 0x34, 4, 0, 4, 0x42};
	UwCodeRows v = ROWS(info, code, true);
	CHECK_RULE(&v, 4, SP, 48);
	CHECK_RULE(&v, 9, SP, 48);
	CHECK_EQ(at(&v, 9)->slot[1], -16);
	CHECK_RULE(&v, 15, SP, 8);
	CHECK_RULE(&v, 16, SP, 48);
	CHECK_RULE(&v, 25, SP, 8);
	vec_deinit(&v);
}

// A part of a function that stands elsewhere: what its beginning did is told where that is.
TEST(chained)
{
	static const u8 code[] = {0x90, 0x48, 0x83, 0xc4, 40, 0x5d, 0xc3};
	static const u8 info[] = {1 | 4 << 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 96, 0, 0, 0, /**/ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5, 2, 0, 5, 0x42, 1, 0x50};
	UwCodeRows v = ROWS(info, code, true);
	CHECK_RULE(&v, 0, SP, 56);
	CHECK_RULE(&v, 5, SP, 16);
	CHECK_RULE(&v, 6, SP, 8);
	vec_deinit(&v);
}

TEST(not_understood)
{
	static const u8 code[] = {0x90, 0xc3}, other[] = {7, 0, 0, 0}, frame[] = {1, 0, 1, 0, 0, 0x0a, 0, 0}, cut[] = {1, 0, 1, 0, 0, 0x01, 0, 0}, circle[] = {1 | 4 << 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 64, 0, 0, 0};
	UwCodeRows v;
	v = ROWS(other, code, false);
	CHECK_EQ(v.p[0].rule.kind, RT_UW_NONE);
	vec_deinit(&v);
	v = ROWS(frame, code, false); // of the machine
	vec_deinit(&v);
	v = ROWS(cut, code, false); // an operation of two words in one
	vec_deinit(&v);
	v = ROWS(circle, code, false);
	vec_deinit(&v);
	CHECK(!uwwindows_rows(&w, 5000, code, sizeof(code), &v));
	vec_deinit(&v);
}

// push rdx; jz; pop rdx; jmp rax; (the way of the jump) pop rdx; ret; then data; then a piece of its own
TEST(pieces_without_frames)
{
	static const u8 code[] = {0x52, 0x74, 3, 0x5a, 0xff, 0xe0, 0x5a, 0xc3, 0x06, 0x06, 0x90, 0xff, 0xe0};
	UwCodeRows v = {0};
	uwstub_rows(code, sizeof(code), &v);
	CHECK_RULE(&v, 0, SP, 8);
	CHECK_RULE(&v, 1, SP, 16);
	CHECK_RULE(&v, 4, SP, 8);
	CHECK_RULE(&v, 6, SP, 16);
	CHECK_RULE(&v, 7, SP, 8);
	CHECK_RULE(&v, 9, SP, 8);
	CHECK_RULE(&v, 11, SP, 8);
	vec_deinit(&v);
}

T_MAIN()
