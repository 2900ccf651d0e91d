FILE TOGETHER

NAME split DWARF: .dwo files, a package beside the program and one in --debuginfo give arguments by name, types, -lv and lines; what is missing is named
NEED cmd:llvm-dwp
RUN printf '#include <stdio.h>\nstruct pair { int first; struct pair *next; char label[8]; };\nint __attribute__((noipa)) take(struct pair *p, long n)\n{\n\tprintf("took %%ld\\n", n);\n\treturn p->first;\n}\nint main(void) { struct pair p = {41, 0, "lab"}; return take(&p, 2) != 41; }\n' >a.c; printf 'static long __attribute__((noipa, used)) take2(const char *text) { return *text; }\n' >b.c; gcc -O1 -g -gsplit-dwarf -c a.c b.c; mkdir o d; gcc -o o/p a.o b.o; t() { {sonde} -q $2 -c $1 -e "uprobe:$1:take { printf(\"%d %s %d %d\n\", args.p->first, args.p->label, args.n, ((struct pair *)arg0)->first) } uprobe:$1@a.c:5 { printf(\"line 5\n\") }" 2>&1; {sonde} $2 -lv "uprobe:$1:take*" 2>&1; }; echo "== dwo"; t o/p; llvm-dwp -e o/p -o o/p.dwp; rm *.dwo; echo "== dwp"; t o/p; mv o/p.dwp d/; echo "== elsewhere"; t o/p "--debuginfo $PWD/d"; echo "== missing"; t o/p
EXPECT_RE == dwo\n(took 2\n)?41 lab 2 41\n(took 2\n)?line 5\n(took 2\n)?\n*uprobe:o/p:take\n    struct pair\* p\n    long int n\nuprobe:o/p:take2\n    const char\* text\n== dwp
EXPECT_RE == dwp\n(took 2\n)?41 lab 2 41\n(took 2\n)?line 5\n(took 2\n)?\n*uprobe:o/p:take\n    struct pair\* p\n    long int n\nuprobe:o/p:take2\n    const char\* text\n== elsewhere
EXPECT_RE == elsewhere\n(took 2\n)?41 lab 2 41\n(took 2\n)?line 5\n(took 2\n)?\n*uprobe:o/p:take\n    struct pair\* p\n    long int n\nuprobe:o/p:take2\n    const char\* text\n== missing
EXPECT_RE == missing\n.*the debug information of o/p is split, and .*a.*\.dwo is not there
TIMEOUT 60

NAME split DWARF of version 4, packed by binutils
NEED cmd:dwp
RUN printf 'struct pair { int first; char label[8]; };\nint __attribute__((noipa)) take(struct pair *p, long n)\n{\n\treturn p->first + n;\n}\nint main(void) { struct pair p = {41, "lab"}; return take(&p, 2) != 43; }\n' >a.c; gcc -O1 -gdwarf-4 -gsplit-dwarf -c a.c; gcc -o p a.o; dwp -e p -o p.dwp && rm a.dwo; {sonde} -q -c ./p -e 'uprobe:./p:take { printf("%d %s %d\n", args.p->first, args.p->label, args.n) }'
EXPECT_LINE 41 lab 2

NAME --debuginfo finds NAME.debug and files by build id: arguments by name, lines; a file of another build is not taken
RUN printf 'struct pair { int first; char label[8]; };\nint __attribute__((noipa)) take(struct pair *p, long n)\n{\n\treturn p->first + n;\n}\nint main(void) { struct pair p = {41, "lab"}; return take(&p, 2) != 43; }\n' >a.c; gcc -O1 -g -Wl,--build-id a.c -o p; I=$(readelf -n p | sed -n 's/.*Build ID: //p'); B=b/.build-id/$(echo $I | cut -c1-2); mkdir -p n x $B; objcopy --only-keep-debug p n/p.debug; cp n/p.debug $B/$(echo $I | cut -c3-).debug; gcc -O0 -g -Wl,--build-id a.c -o y; objcopy --only-keep-debug y x/p.debug; strip p; for d in n b x; do echo "== $d"; {sonde} -q --debuginfo $PWD/$d -c ./p -e 'uprobe:./p:take { printf("%d %s %d\n", args.p->first, args.p->label, args.n) } uprobe:./p@a.c:4 { printf("line 4\n") }' 2>&1; done
EXPECT_RE == n\n41 lab 2\nline 4\n
EXPECT_RE == b\n41 lab 2\nline 4\n
EXPECT_RE == x\n.*ERROR: No matches for uprobe ./p:take
RC 1

NAME --debuginfo, from here or from the program's folder: .dwo files that were moved, by their names and in their folders, and packages; lines of DWARF 4 without them
NEED cmd:dwp
RUN printf 'struct pair { int first; char label[8]; };\nint __attribute__((noipa)) take(struct pair *p, long n)\n{\n\treturn p->first + n;\n}\nint main(void) { struct pair p = {41, "lab"}; return take(&p, 2) != 43; }\n' >a.c; t() { {sonde} -q $1 -c ./p -e 'uprobe:./p:take { printf("%d %s %d\n", args.p->first, args.p->label, args.n) } uprobe:./p@a.c:4 { printf("line 4\n") }' 2>&1 | cut -c1-120; }; for v in 4 5; do mkdir -p sub flat$v deep$v/sub; gcc -O1 -gdwarf-$v -gsplit-dwarf -c a.c -o sub/a.o; gcc -o p sub/a.o; test $v = 5 || dwp -e p -o flat$v/p.dwp; mv sub/a.dwo deep$v/sub/; test $v = 4 || cp deep$v/sub/a.dwo flat$v/; echo "== flat$v"; t "--debuginfo flat$v"; echo "== deep$v"; t "--debuginfo nothing:$PWD/deep$v"; echo "== none$v"; t; done; echo "== other"; gcc -O0 -gsplit-dwarf -c a.c -o other.o; mkdir x; mv other.dwo x/a.dwo; t '--debuginfo x'; {sonde} -q -c ./p -e 'uprobe:./p@a.c:4 { printf("line 4\n") }'
EXPECT_RE == flat4\n41 lab 2\nline 4\n\s*== deep4\n41 lab 2\nline 4\n\s*== none4\n.*the arguments of uprobe:./p:take are not known by name
EXPECT_RE == flat5\n41 lab 2\nline 4\n\s*== deep5\n41 lab 2\nline 4\n\s*== none5\n.*the arguments of uprobe:./p:take are not known by name
EXPECT_RE == other\n.*the arguments of uprobe:./p:take are not known by name
EXPECT_RE \nline 4\n\s*\Z
TIMEOUT 60

NAME --debuginfo counted from the program's folder, and a program named from here: NAME.debug, the tree of folders, .dwo files and packages
NEED cmd:dwp
RUN printf 'struct pair { int first; char label[8]; };\nint __attribute__((noipa)) take(struct pair *p, long n)\n{\n\treturn p->first + n;\n}\nint main(void) { struct pair p = {41, "lab"}; return take(&p, 2) != 43; }\n' >a.c; mkdir -p s/o s/o/dbg away all; gcc -O1 -g -Wl,--build-id a.c -o s/o/p; objcopy --only-keep-debug s/o/p s/o/dbg/p.debug; strip s/o/p; t() { (cd $1; {sonde} -q --debuginfo $2 -c $3 -e "uprobe:$3:take { printf(\"%d %s %d\\n\", args.p->first, args.p->label, args.n) } uprobe:$3@a.c:4 { printf(\"line 4\\n\") }" 2>&1 | cut -c1-120); }; echo "== folder"; t s dbg o/p; echo "== inside"; t s/o dbg ./p; mkdir -p all$PWD/s/o; mv s/o/dbg/p.debug all$PWD/s/o/; echo "== tree"; t s $PWD/all o/p; gcc -O1 -g -gsplit-dwarf -c a.c -o s/o/a.o; gcc -o s/o/p s/o/a.o; mv s/o/a.dwo s/o/dbg/; echo "== dwo"; t away dbg ../s/o/p; gcc -O1 -gdwarf-4 -gsplit-dwarf -c a.c -o s/o/a.o; gcc -o s/o/p s/o/a.o; dwp -e s/o/p -o s/o/dbg/p.dwp; rm s/o/a.dwo s/o/dbg/a.dwo; echo "== dwp"; t away dbg ../s/o/p
EXPECT_RE == folder\n41 lab 2\nline 4\n\s*== inside\n41 lab 2\nline 4\n\s*== tree\n41 lab 2\nline 4\n\s*== dwo\n41 lab 2\nline 4\n\s*== dwp\n41 lab 2\nline 4\n
TIMEOUT 60
