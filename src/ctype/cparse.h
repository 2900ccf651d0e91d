// The parser of C declarations, shared by cparse.c (steps, errors, attributes), cdecl.c (types, declarators, the whole text) and crecord.c
// (bodies of structs, unions and enums). Everything returns false once the current declaration has failed; the error is told then.
#ifndef SONDE_CTYPE_CPARSE_H
#define SONDE_CTYPE_CPARSE_H
#include "ctype/cpp.h"

struct Attrs {
	bool packed;
	u32 align; // 0: none
};

// What stands before the declarators: "const struct foo", "typedef unsigned long".
struct Specs {
	const struct Type *type;
	bool is_typedef, body; // body: it ended with "{ ... }"
	struct Attrs attrs;
};

struct Declarator {
	const char *name; // "" without
	const struct CTok *at;
	const struct Type *type;
	bool func; // a function itself, not a pointer to one
	struct Attrs attrs;
};

// ---- cparse.c
const struct CTok *cp_peek(const struct CParser *p, u32 ahead); // never NULL
bool cp_is(const struct CParser *p, const char *s);
bool cp_eat(struct CParser *p, const char *s);
bool cp_expect(struct CParser *p, const char *s);
char *cp_text(struct CParser *p, const struct CTok *t);
bool cp_fail(struct CParser *p, const struct CTok *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool cp_strict(const struct CParser *p, const struct CTok *at); // an error there is told
void cp_hint(struct CParser *p, const struct CTok *at, const char *text); // to the error just told; text may be NULL
bool cp_deeper(struct CParser *p); // one level down; the caller counts back
void cp_skip_group(struct CParser *p);
void cp_recover(struct CParser *p);
bool cp_const_expr(struct CParser *p, struct CValue *out);
// One attribute, asm label or qualifier at p->tok; false: something else is there.
bool cp_qualifier(struct CParser *p, struct Attrs *a);
void cp_pragma_pack(struct CParser *p);
const struct Type *cp_known(struct CParser *p, const char *name); // a type by its spelling

// ---- cdecl.c
bool cp_specifiers(struct CParser *p, struct Specs *s);
bool cp_declarator(struct CParser *p, const struct Type *base, struct Declarator *d);

// ---- crecord.c: p->tok is behind the '{'
bool cp_record_body(struct CParser *p, const struct CTok *at, bool is_union, const char *name, struct Attrs *a, const struct Type **out);
bool cp_enum_body(struct CParser *p, const struct CTok *at, const char *name, struct Attrs *a, const struct Type **out);
#endif
