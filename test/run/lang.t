# The language: every construct of bpftrace's language document that this kernel can run.

NAME arithmetic and precedence
PROG begin { $x = 5; printf("%d %d %d %d\n", $x + 2 * 3, ($x + 2) * 3, $x % 3, -$x); exit() }
EXPECT_LINE 11 21 2 -5

NAME signed division and modulo follow C
PROG begin { $a = -7; $b = 2; printf("%d %d %d %d\n", $a / $b, $a % $b, 7 / -2, -8 / 4); exit() }
EXPECT_LINE -3 -1 -3 -2

NAME a key that exists gets the new value, of any size, in place or not
RUN for p in false true; do {sonde} -e 'config = { in_place = '$p' } begin { @a[1] = (int8)5; @a[1] = (int8)-7; @t[1, 2] = (1, "long text"); @t[1, 2] = (2, "d"); @s["x"] = "yyyy"; @s["x"] = "z"; $i = 0; while ($i < 9) { @n[$i % 2] = $i; $i++ } printf("%d %d %s %s %d %d\n", @a[1], @t[1, 2].0, @t[1, 2].1, @s["x"], @n[0], @n[1]); clear(@a); clear(@t); clear(@s); clear(@n); exit() }'; done | sort | uniq -c
EXPECT_RE ^ *2 -7 2 d z 8 7$

NAME a full map still takes new values of its keys
PROG config = { max_map_keys = 2 } begin { @m[1] = 1; @m[2] = 2; @m[3] = 3; @m[2] = 4; printf("%d %d %d\n", @m[1], @m[2], @m[3]); clear(@m); exit() }
EXPECT_LINE 1 4 0
STDERR WARNING

NAME division by zero at run time is 1, with a warning
PROG begin { $z = (uint64)pid - (uint64)pid; @m = 7; @m %= $z; printf("%d %d\n", 5 / $z, @m); exit() }
EXPECT_LINE 1 1
STDERR stdin:1:77-83: WARNING: Divide or modulo by 0

NAME shifts
PROG begin { $x = 1; $y = -16; printf("%d %d %d\n", $x << 40, $y >> 2, 256 >> 4); exit() }
EXPECT_LINE 1099511627776 4611686018427387900 16

NAME bit operators
PROG begin { $x = 0xf0; printf("%x %x %x %x\n", $x & 0x3c, $x | 0xf, $x ^ 0xff, ~$x & 0xff); exit() }
EXPECT_LINE 30 ff f f

NAME comparisons give booleans
PROG begin { $x = 3; print($x > 2); print($x == 4); print(!$x); print($x > 1 && $x < 9); print(0 || $x == 9); exit() }
EXPECT_LINE true
EXPECT_LINE false

NAME signed and unsigned comparison
PROG begin { $n = -1; if ($n < 1) { printf("less\n") } $u = (uint64)nsecs; if ($u > 1) { printf("more\n") } exit() }
EXPECT_LINE less
EXPECT_LINE more

NAME short circuit
PROG begin { $x = 0; if ($x && @hits++) { } if (1 || @hits++) { } printf("%d\n", @hits); @hits = 7; exit() }
EXPECT_LINE 0

NAME ternary, nested and with strings
PROG begin { $x = 5; $s = $x > 3 ? "big" : "small"; printf("%s %d\n", $s, $x == 1 ? 10 : $x == 5 ? 50 : 0); $x > 9 ? printf("a\n") : printf("b\n"); exit() }
EXPECT_LINE big 50
EXPECT_LINE b

NAME if, else if, else
PROG begin { $x = 2; if ($x == 1) { printf("one\n") } else if ($x == 2) { printf("two\n") } else { printf("more\n") } exit() }
EXPECT_LINE two
EXPECT_NOT one

NAME increment and decrement
PROG begin { $x = 10; $y = $x--; $a = 10; $b = --$a; @m++; ++@m; $p = @m++; printf("%d %d %d %d %d %d\n", $x, $y, $a, $b, $p, @m); exit() }
EXPECT_LINE 9 10 9 9 2 3

NAME operands are read before a later side effect
PROG begin { $x = 1; $y = $x + $x++; $z = $x++ + $x; printf("%d %d\n", $y, $z); exit() }
EXPECT_LINE 2 5

NAME compound assignment
PROG begin { $x = 8; $x += 4; $x -= 2; $x *= 3; $x /= 5; $x <<= 4; $x >>= 1; $x |= 1; $x &= 0xff; $x ^= 2; $x %= 40; @a = 5; @a -= 7; @b[1] += 3; printf("%d %d %d\n", $x, @a, @b[1]); exit() }
EXPECT_LINE 11 -2 3

NAME literals
PROG begin { printf("%d %d %d %d %d\n", 0x10, 010, 1e6, 1_000_123_000, 123UL); exit() }
EXPECT_LINE 16 8 1000000 1000123000 123

NAME duration literals
PROG begin { printf("%d %d %d %lu\n", 1m, 5us, 2ms, 3s); exit() }
EXPECT_LINE 60000000000 5000 2000000 3000000000

NAME string escapes
PROG begin { printf("a\tb\x41\101\\\"\n"); exit() }
EXPECT_LINE a	bAA\"

NAME casts narrow and extend
PROG begin { $x = 1<<16; $y = (int8)-1; printf("%d %d %d %d %d\n", (uint16)$x, $x, (uint8)$y, (int64)$y, (int32)0xffffffff); exit() }
EXPECT_LINE 0 65536 255 -1 -1

NAME casts between integers and arrays
PROG begin { $a = (int8[8])12345; printf("%x %x %d\n", $a[0], $a[1], (uint64)$a); exit() }
EXPECT_LINE 39 30 12345

NAME array cast with inferred size
PROG begin { $v = (uint32)0x01020304; $a = (uint8[])$v; printf("%d %d\n", $a[0], $a[3]); exit() }
EXPECT_LINE 4 1

NAME tuples
PROG begin { $a = (1, "hello"); $b = (3, 4, $a); print($a); print($b); print($b.0); print($a[1]); print($b.2.1); print((1,)); print(()); exit() }
EXPECT_LINE (1, hello)
EXPECT_LINE (3, 4, (1, hello))
EXPECT_LINE hello
EXPECT_LINE (1)
EXPECT_LINE ()

NAME tuples compare
PROG begin { $a = (1, "x"); $b = (1, "x"); if ($a == $b) { printf("same\n") } if ($a != (2, "x")) { printf("other\n") } exit() }
EXPECT_LINE same
EXPECT_LINE other

NAME while with break and continue
PROG begin { $i = 0; while ($i <= 100) { $i++; if ($i == 3) { continue } if ($i > 5) { break } printf("%d ", $i) } printf("end %d\n", $i); exit() }
EXPECT_LINE 1 2 4 5 end 6

NAME while of many rounds
PROG begin { $i = 0; $s = 0; while ($i < 100000) { $s += $i; $i++ } printf("%d\n", $s); exit() }
EXPECT_LINE 4999950000

NAME nested loops share variables
PROG begin { $n = 0; for ($i : 0..10) { for ($j : 0..10) { if ($j > $i) { break } $n++ } } printf("%d\n", $n); exit() }
EXPECT_LINE 55

NAME range is fixed at its start
PROG begin { $a = 10; $c = 0; for ($i : 0..$a) { $a--; $c++ } printf("%d %d\n", $c, $a); exit() }
EXPECT_LINE 10 0

NAME range of negative numbers and empty range
PROG begin { for ($i : -2..2) { printf("%d ", $i) } for ($i : 5..5) { printf("never") } printf("\n"); exit() }
EXPECT_LINE -2 -1 0 1 

NAME return inside a loop leaves the probe
PROG begin { for ($i : 0..5) { if ($i == 2) { exit(); return } printf("%d\n", $i) } printf("not here\n") }
EXPECT_LINE 1
EXPECT_NOT not here

NAME for over a map
NEED for_each_map_elem
PROG begin { @m[10, 11] = 20; for ($kv : @m) { printf("%d %d %d\n", $kv.0.0, $kv.0.1, $kv.1) } exit() }
EXPECT_LINE 10 11 20

NAME for over a map with strings, deleting as it goes
NEED for_each_map_elem
PROG begin { @m["a"] = 1; @m["b"] = 2; for ($kv : @m) { @seen[$kv.0] = $kv.1; delete(@m, $kv.0) } printf("%d\n", len(@m)); exit() }
EXPECT_LINE 0
EXPECT_LINE @seen[a]: 1
EXPECT_LINE @seen[b]: 2

NAME for over an aggregation reads sums
NEED for_each_map_elem
PROG begin { @c["x"] = count(); @c["x"] = count(); for ($kv : @c) { printf("%s %d\n", $kv.0, $kv.1) } exit() }
EXPECT_LINE x 2

NAME unroll
PROG begin { $i = 0; unroll(3) { printf("%d", $i); $i++ } printf("\n"); exit() }
EXPECT_LINE 012

NAME block expressions
PROG begin { let $a = { let $b = 1; $b + 1 }; printf("%d %d\n", $a, { 5 }); exit() }
EXPECT_LINE 2 5

NAME let, typed and not
PROG begin { let $a; let $b : uint64 = 7; let $c : int8; if (1) { $a = "text"; $c = -3 } printf("%s %d %d\n", $a, $b, $c); exit() }
EXPECT_LINE text 7 -3

NAME strings grow to the longest
PROG begin { $s = "a"; if (1) { $s = "a longer text" } @m = "x"; @m = "something longer"; printf("%s %s\n", $s, @m); exit() }
EXPECT_LINE a longer text something longer

NAME string comparison
PROG begin { $s = "abc"; if ($s == "abc") { printf("1") } if ($s != "abcd") { printf("2") } if ($s == "ab") { printf("bad") } @k = "abc"; if (@k == $s) { printf("3") } printf("\n"); exit() }
EXPECT_LINE 123

NAME predicates
PROG begin /1 == 1/ { printf("yes\n") } begin /0/ { printf("no\n") } interval:ms:10 /@n++ > 1/ { exit() }
EXPECT_LINE yes
EXPECT_NOT no

NAME positional parameters
PROG begin { printf("I got %d, %s (%d args)\n", $1, str($2), $#); exit() }
PARAMS 42 hello
EXPECT_LINE I got 42, hello (2 args)

NAME positional parameters that are missing
PROG begin { printf("[%d] [%s]\n", $1, str($2)); exit() }
EXPECT_LINE [0] []

NAME offset into a positional parameter
PROG begin { printf("%s\n", str($1 + 1)); exit() }
PARAMS hello
EXPECT_LINE ello

NAME named parameters
PROG begin { print((getopt("aa", 1), getopt("bb"), getopt("cc", "def"), $1)); exit() }
PARAMS p1 -- --aa=20 --bb
EXPECT_LINE (20, true, def, p1)

NAME macros
PROG macro one() { 1 } macro add_one(x) { x + 1 } macro bump($a, @b) { $a += 1; @b += 1 } macro twice(x) { x; x } begin { $a = 10; @b = 5; bump($a, @b); printf("%d %d %d %d\n", one(), add_one(1 + 1), $a, @b); twice({ printf("hi") }); printf(" %d\n", one); exit() }
EXPECT_LINE 1 3 11 6
EXPECT_LINE hihi 1

NAME comments
PROG begin { // one
   /* two
     lines */ printf("ok %d\n", /* inline */ 1); exit() }
EXPECT_LINE ok 1

NAME structs of the script
PROG struct S { int a; char b; struct { short c; } in; int d[3]; } begin { printf("%d %d %d\n", sizeof(struct S), offsetof(struct S, in.c), offsetof(struct S, d)); exit() }
EXPECT_LINE 20 6 8

NAME defines and enums of the script
PROG #define TEN 10
   #define SUM (TEN + 5)
   enum color { RED = 3, GREEN };
   begin { printf("%d %d %d %s\n", TEN, SUM, GREEN, GREEN); exit() }
EXPECT_LINE 10 15 4 GREEN

NAME kernel types through BTF
PROG begin { $t = (struct task_struct *)curtask; printf("%d %s %d\n", $t->tgid == pid, $t.comm, $t->real_parent->tgid == ppid); exit() }
NEED btf
EXPECT_RE ^1 sonde 1$

NAME sizeof and offsetof of kernel types
PROG begin { if (sizeof(struct task_struct) > 1000 && offsetof(struct task_struct, comm) > 100) { printf("plausible\n") } printf("%d %d\n", sizeof(uint32), sizeof((1, "abc"))); exit() }
NEED btf
EXPECT_LINE plausible
EXPECT_LINE 4 5

NAME map declarations
PROG let @a = lruhash(2); let @b = hash(1); begin { @b[1] = 1; @b[2] = 2; @a[1] = 1; exit() }
ARGS --no-warnings
EXPECT_LINE @b[1]: 1
EXPECT_LINE @a[1]: 1
EXPECT_NOT @b[2]

NAME config block
PROG config = { print_maps_on_exit = false; max_strlen = 20 } begin { @a = 1; printf("%d\n", sizeof(str("x"))); exit() }
EXPECT_NOT @a

NAME end runs after the rest, maps are printed after it
PROG begin { @x = 1; exit() } end { @y = 2; printf("end\n"); clear(@x) }
EXPECT_LINE end
EXPECT_LINE @y: 2
EXPECT_NOT @x

NAME exit code
PROG begin { exit(7) }
RC 7

NAME exit ends the action at once
PROG begin { printf("a\n"); exit(); printf("b\n") }
EXPECT_LINE a
EXPECT_NOT b

NAME hundreds of live variables
RUN {sonde} -q -e "begin { $(for i in $(seq 300); do echo "\$v$i = (uint64)$i + nsecs * 0;"; done) \$s = 0; $(for i in $(seq 300); do echo "\$s += \$v$i;"; done) printf(\"%d\\n\", \$s); exit() }"
EXPECT_LINE 45150

NAME long strings and wide keys
NEED big keys
RUN {sonde} -q -e "begin { @m[\"$(printf 'x%.0s' $(seq 900))\", 1, \"y\"] = \"$(printf 'z%.0s' $(seq 900))\"; printf(\"%d\n\", strlen(@m[\"$(printf 'x%.0s' $(seq 900))\", 1, \"y\"])); clear(@m); exit() }"
EXPECT_LINE 900


# Until bpftrace 0.21 a variable lived in the whole probe; tools of that time use one after the blocks that assign it.
NAME variable used outside the block that assigns it
PROG begin { if (pid) { $a = 5 } else { $a = 7000 } if (!pid) { $s = "text"; $n = 3 } for ($i : 0..4) { $k = $i } printf("%d [%s] %d %d\n", $a, $s, $n, $k); exit() }
EXPECT_LINE 5 [] 0 3
STDERR WARNING: Variable $a is used outside the block that assigns it

NAME variables of separate blocks stay separate
PROG begin { if (1) { $a = 5; print($a) } if (1) { $a = "text"; print($a) } exit() }
EXPECT_LINE 5
EXPECT_LINE text

NAME a small unsigned variable and a negative number
PROG begin { $a = 5; $a = -3; @a = 7; @a = -70000; printf("%d %d\n", $a, @a); clear(@a); exit() }
EXPECT_LINE -3 -70000

NAME integers of different sign in one place
NEED for_each_map_elem
PROG begin { $x = -3; @c[(uint64)1] = 1; @c[$x] = 2; $u = (uint64)7; $u = $x; printf("%d %d\n", $u == -3, len(@c)); clear(@c); exit() }
EXPECT_LINE 1 2
STDERR WARNING: Sign mismatch: 'uint64' for the key of @c, which is 'int64'
STDERR WARNING: Sign mismatch: 'uint64' for $u, which is 'int64'

NAME a difference is signed, and what a signed number meets
PROG begin { $x = (uint64)1; $y = (uint64)2; print($x - $y); print(($x - $y) > 0); print($x * -2); $s = (int64)-1; print($s < $x); $d = (uint64)0; $d--; print($d); @m = (uint64)3; @m -= 5; exit() }
EXPECT_LINE -1
EXPECT_LINE false
EXPECT_LINE -2
EXPECT_LINE true
EXPECT_LINE @m: -2

NAME a literal takes the sign of what it meets
PROG begin { $x = 1; $y = (uint64)18446744073709551615; print($y > 1); print($x + $y > 5); $a = 1; $a = $y; print($a); @k[5] = 1; @k[$y] = 2; print(@k[$y]); clear(@k); exit() }
EXPECT_LINE true
EXPECT_LINE false
EXPECT_LINE 18446744073709551615
EXPECT_LINE 2

NAME sizes of literals
PROG begin { print((sizeof(127), sizeof(128), sizeof(-128), sizeof(32768), sizeof(1us), sizeof(4294967296))); print((uint8[])12345); exit() }
EXPECT_LINE (1, 2, 1, 4, 2, 8)
EXPECT_LINE [57,48]

NAME a declared integer takes any other, cut to its size
PROG begin { let $a : int8 = 127; $a++; let $b : uint8 = 255; $b = (int64)511; let $c : uint64 = (int64)-1; print(($a, $b, $c)); exit() }
EXPECT_LINE (-128, 255, 18446744073709551615)

NAME casts in a body that serves several kinds of arguments
RUN {sonde} -q -c 'cat /proc/self/comm' -e 'tracepoint:syscalls:sys_enter_openat,tracepoint:syscalls:sys_enter_read /comm == "cat"/ { $t = (struct task_struct *)curtask; @[(uint16)args.__syscall_nr, $t.tgid == pid, sizeof(args) > 8] = count() }'
EXPECT_RE ^@\[(257|56), true, true\]: \d+$
EXPECT_RE ^@\[(0|63), true, true\]: \d+$

NAME maps that only missing probes fill are empty
RUN BPFTRACE_MISSING_PROBES=warn {sonde} -q -e 'tracepoint:none:such { @gone[tid] = 1; @start = nsecs } begin { printf("%d %d\n", @gone[tid], @start); clear(@gone); clear(@start); exit() }'
EXPECT_LINE 0 0

NAME pattern without a match beside points that exist
RUN {sonde} --dry-run -e 'tracepoint:syscalls:sys_enter_openat,tracepoint:syscalls:sys_enter_nosuch* { @ = count() }'
STDERR Attached 1 probe
STDERR WARNING: no tracepoint matches syscalls:sys_enter_nosuch*; skipped

NAME records
NEED for_each_map_elem
PROG begin { $x = (a=1, b="q"); print($x); print($x.b); $x = (b="longer", a=-300); print($x); print((n=(c=1, d=2), t=(3, 4)) == (n=(c=1, d=2), t=(3, 4)));
     @m[1] = (k=5, s="a"); @m[2] = (k=70000, s="abcdef"); for ($kv : @m) { printf("%s %d\n", $kv.1.s, $kv.1.k) } @k[(p=1, q="z")] = 2; @v = (n=(c=1, d=2), t=(3, 4)); exit() }
EXPECT_LINE { .a = 1, .b = q }
EXPECT_LINE q
EXPECT_LINE { .a = -300, .b = longer }
EXPECT_LINE true
EXPECT_LINE abcdef 70000
EXPECT_LINE @k[{ .p = 1, .q = z }]: 2
EXPECT_LINE @v: { .n = { .c = 1, .d = 2 }, .t = (3, 4) }

NAME literal texts in operators and conditions
PROG begin { print("abc" + 1); print("ab" + "cd"); print("a" < "b"); if ("") { print(1) } else { print(2) } print("x" ? 3 : 4); exit() }
EXPECT_LINE bc
EXPECT_LINE abcd
EXPECT_LINE true
EXPECT_LINE 2
EXPECT_LINE 3

NAME tuples of different types are never equal
PROG begin { print((1,2) == (1,2,3)); print((1,2) != (1,"a")); $t = (1, 2); print($t == (1, 2)); exit() }
EXPECT_LINE false
EXPECT_LINE true
EXPECT_LINE true

NAME a buffer as text, one entry of statistics, an emptied histogram
PROG begin { printf("[%s]\n", buf("a\x01b", 3)); @s["x"] = stats(4); @s["x"] = stats(6); print(@s["x"]); @h = hist(3); zero(@h); print(@h); clear(@s); clear(@h); exit() }
EXPECT_LINE [a\x01b]
EXPECT_LINE { .count = 2, .average = 5, .total = 10 }
EXPECT_LINE @h:

NAME texts of numbers that are known when compiling
PROG begin { print(strlen(signal_name(9))); print(str_concat(strerror(2), "!")); print(strlen(syscall_name(99999)) >= 0) }
STDERR strlen() expects a string argument
RC 1

NAME texts of known numbers go into functions
PROG begin { print(strlen(signal_name(9))); print(str_concat(strerror(2), "!")); exit() }
EXPECT_LINE 6
EXPECT_LINE No such file or directory!

NAME a map that is only read is 0
PROG begin { print(@nothing[1]); $x = @zero; print($x); @copy = @none; print(@copy); clear(@copy); exit() }
EXPECT_LINE 0
STDERR Undefined map: @nothing

NAME options of the script: booleans and numbers as one writes them
RUN {sonde} -q -e 'begin { print((getopt("a"), getopt("b", true), getopt("c", 1), getopt("d", 5))); exit() }' -- --a=yes --b=OFF --c=2s --d=-1_000
EXPECT_LINE (true, false, 2000000000, -1000)

NAME a parameter with a unit is a number, an empty one is 0
RUN {sonde} -q -e 'begin { print(($1, $2, $3)); exit() }' 3ms 1_000 ''
EXPECT_LINE (3000000, 1000, 0)

NAME usermode in probes that know it
PROG begin { print(usermode); exit() }
EXPECT_LINE 1

NAME comm of a process that is gone
NEED host
NEED ksym:bpf_task_from_pid
PROG interval:ms:10 { print(comm(4194305)); exit() }
EXPECT_LINE N/A
STDERR No such process (pid=4194305)

NAME cpid without a command
PROG begin { print(cpid); exit() }
EXPECT_LINE 0
STDERR WARNING: No child command (`-c`); cpid is zero

NAME the last member of a struct needs no semicolon
PROG struct A { int x; struct { char a; char b } in } begin { print(sizeof(struct A)); exit() }
EXPECT_LINE 8

NAME a script in its standard form
RUN printf '#!/usr/bin/sonde\n// one\nbegin{ $x=(1+2)*3; /* two */ if($x){print($x)}else{exit();} }\n' | {sonde} --fmt -; {sonde} --fmt -e 'begin { $x = }'
EXPECT_LINE // one
EXPECT_LINE   $x = (1 + 2) * 3;
EXPECT_LINE   // two
EXPECT_LINE   if $x {
EXPECT_LINE     print($x)
EXPECT_LINE   } else {
RC 1
STDERR ERROR: syntax: expected expression, found }

NAME true and false among themselves stay so, with numbers they count as 1 and 0
PROG begin { $b = pid > 0; print($b + $b); print($b - $b); print($b * $b); print($b ^ true); print($b | false); print($b + 1); print($b << 2); print(true + true);
     $b &= false; print($b); @t += true; print(@t); @b = true; @b |= false; print(@b); print(true ? 1 : "a"); exit() }
EXPECT_RE ^true\nfalse\ntrue\nfalse\ntrue\n2\n4\ntrue\nfalse\n@t: 1\n@b: true\n1$
