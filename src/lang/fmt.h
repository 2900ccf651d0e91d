// printf formats: cut into pieces once, at compile time for checking and again where text is made.
#ifndef SONDE_FMT_H
#define SONDE_FMT_H
#include "base/base.h"

struct FmtPiece {
	const char *lit; // literal text before the conversion, %% already one %
	u32 litlen;
	char conv;	 // 0: only literal; else d i u x X o s c p, r (%r), h (%rh), e (%rx), g (%gr)
	u8 len;		 // bytes asked for by hh h l ll j z t; 0: as the argument is
	char spec[24];	 // flags, width and precision: "%-10.3"
};
// NULL and the pieces (in arena a), or what is wrong with the format.
const char *fmt_parse(struct Arena *a, const char *fmt, u32 len, struct FmtPiece **out, u32 *n);
#endif
