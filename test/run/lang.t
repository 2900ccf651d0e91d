# The language: every construct of bpftrace's language document that this kernel can run.

FILE TOGETHER

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

NAME forty texts in one statement have one place: what a key of a number was is over with it
RUN n=$(printf ' + @m[str($p)]%.0s' $(seq 40)); c=$(printf ' && str($p) == comm%.0s' $(seq 40)); {sonde} -e "begin { \$p = kptr((int8 *)((uint64)curtask + offsetof(struct task_struct, comm))); \$t = str(\$p); @m[\$t] = 2; printf(\"%d\\n\", 1$n); if (true$c) { printf(\"same\\n\") } clear(@m); exit() }"
EXPECT_RE ^81\nsame$

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

# A bpf_loop has 8,388,608 rounds at most: longer ones are batches of 8,388,607.
NAME while of more rounds than the kernel's loops have, as bpftrace counts
NEED bpf_loop
PROG begin { $i = 0; while ($i < 10000000) { $i++ } printf("%d\n", $i); exit() }
EXPECT_LINE 10000000

NAME range of more rounds than the kernel's loops have
NEED bpf_loop
PROG begin { $a = -3; $b = (int64)16777300; for ($i : 1..8388610) { @n++; @s += $i } for ($i : $a..$b) { @m++; @l = $i } printf("%d %d %d %d\n", @n, @s, @m, @l); clear(@n); clear(@s); clear(@m); clear(@l); exit() }
EXPECT_LINE 8388609 35184384671745 16777303 16777299

NAME loops that end around the last round of a batch
NEED host
NEED bpf_loop
PROG begin { for ($k : 8388605..8388611) { $i = 0; while ($i++ < $k) { } $j = 0; while (1) { if (++$j == $k) { break } } @b = 0; $e = $k + 5; for ($r : 0..$e) { @b = $r; if ($r == $k) { break } } @c = 0; for ($r : 0..$k) { @c++ } printf("%d %d %d %d\n", $i - $k, $j - $k, @b - $k, @c - $k) } clear(@b); clear(@c); exit() }
EXPECT_RE ^(1 0 0 0\n){6}$
TIMEOUT 60

NAME return from the last and from a later batch
NEED host
NEED bpf_loop
PROG begin { @n = 0; for ($r : 0..20000000) { @n = $r; if ($r == 16777214) { printf("at %d\n", @n); exit() } } printf("not left\n") } end { clear(@n) }
EXPECT_LINE at 16777214
EXPECT_NOT not left

NAME the innermost of three loops has many rounds too
NEED bpf_loop
PROG begin { $a = 1; while ($a++ < 2) { $b = 1; while ($b++ < 2) { $c = 0; while ($c < 9000000) { $c++ } printf("%d\n", $c) } } exit() }
EXPECT_LINE 9000000

NAME a loop without an end is ended and told
NEED host
NEED bpf_loop
RUN {sonde} -q -e 'begin { $i = 0; while (1) { $i++ } printf("%d\n", $i); exit() }' 2>&1
EXPECT_LINE 134217712
EXPECT stdin:1:17-35: WARNING: The loop was ended after 134217712 rounds
TIMEOUT 60

NAME an outer loop whose rounds are at their end is told
NEED host
NEED bpf_loop
RUN {sonde} -q -e 'begin { $i = 0; while (1) { $i++; for ($k : 0..1) { for ($j : 0..1) { } } } printf("%d\n", $i); exit() }' 2>&1
EXPECT_LINE 8388607
EXPECT WARNING: The loop was ended after 8388607 rounds
TIMEOUT 60

NAME a range beyond what the kernel can do is told, also where its length passes 32 bits
NEED bpf_loop
RUN {sonde} -q -e 'begin { $e = (int64)4294967301; for ($i : 0..$e) { @n++ } for ($i : 0..1073741697) { @n++ } $lo = -9223372036854775807; $hi = (int64)9223372036854775807; for ($i : $lo..$hi) { @n++ } for ($i : 0..3) { @m++ } printf("%d %d\n", @n, @m); clear(@n); clear(@m); exit() }' 2>&1
EXPECT_LINE 0 3
EXPECT stdin:1:33-58: WARNING: The range was not run: it has 4294967301 rounds, the limit is 1073741696
EXPECT_RE (?s)(The range was not run.*){3}

NAME more loops in one another than the kernel takes
NEED bpf_loop
RUN {sonde} -q -e 'begin { for ($a : 0..1) { for ($b : 0..1) { for ($c : 0..1) { for ($d : 0..1) { for ($e : 0..1) { for ($f : 0..1) { for ($g : 0..1) { print($g) } } } } } } } }' 2>&1
EXPECT more functions in one another than the kernel takes (8)
RC 1

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

NAME macros: names of a record's elements behind one that is left out, in every copy of the body
NEED for_each_map_elem
PROG macro f(@x, n) { @x[(a = n, gone = if comptime (false) { 1 }, b = n + 10, c = n + 20)] = 1; } begin { f(@x, 1); f(@x, 2); for ($kv : @x) { print(($kv.0.a, $kv.0.b, $kv.0.c)); } clear(@x); exit(); }
EXPECT_LINE (1, 11, 21)
EXPECT_LINE (2, 12, 22)

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

NAME a #define used 70,000 times, before another one
RUN python3 -c "print('#define A 1\n#define B 7\nbegin { \$y = (uint64)0;' + ' \$y += A;' * 70000 + ' print((\$y, B)); exit() }')" >{tmp}/m.bt; {sonde} {tmp}/m.bt
EXPECT_LINE (70000, 7)

NAME a macro called 70,000 times: where the last call's error comes from
RUN python3 -c "print('macro m(x) { x + 1 }\nbegin { \$y = (uint64)0;' + ' \$y += m(1);' * 70000 + '\n\$z = m((1, 2)); }')" >{tmp}/m.bt; {sonde} {tmp}/m.bt 2>&1 | cut -c1-300
EXPECT m.bt:1:14-
EXPECT m.bt:3:6-15: ERROR: expanded from

NAME scripts with 80,000 macros, members, variables
RUN python3 -c "n = 80000; open('a.bt', 'w').write(''.join('macro m%d(x) { x + %d }\n' % (i, i) for i in range(n)) + 'begin { print(m%d(1)); exit() }' % (n - 1)); open('b.bt', 'w').write('struct S { ' + ' '.join('int x%d;' % i for i in range(n)) + ' }; begin { print(offsetof(struct S, x%d)); exit() }' % (n - 1)); open('c.bt', 'w').write('begin { ' + ' '.join('\$v%d = 1;' % i for i in range(n)) + ' exit() }')"; for f in a b c; do {sonde} -q $f.bt 2>&1 | cut -c1-100; done
EXPECT_LINE 80000
EXPECT_LINE 319996
EXPECT ERROR: this probe needs

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
EXPECT_LINE 2
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
NEED lookup_percpu_elem
PROG begin { printf("[%s]\n", buf("a\x01b", 3)); @s["x"] = stats(4); @s["x"] = stats(6); print(@s["x"]); @h = hist(3); zero(@h); print(@h); clear(@s); clear(@h); exit() }
EXPECT_LINE [a\x01b]
EXPECT_LINE { .count = 2, .average = 5, .total = 10 }
EXPECT_LINE @h:

NAME texts of numbers that are known when compiling
PROG begin { print(strlen(signal_name(9))); print(str_concat(strerror(2), "!")); print(strlen(syscall_name(99999))); print(strlen(signal_name(0))); exit() }
EXPECT_RE ^6\nNo such file or directory!\n15\n16$

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

NAME options of the script: letters, times, lists that are conditions
NEED bpf_loop
RUN {sonde} -q -e 'begin { print((getopt("min|m", 1us), getopt("max", 5ms), getopt("n|N", 3))); print((getopt_match("cpu", cpu + 5000, "CPU,...: these"), getopt_match("name", comm), getopt_match("other", comm), getopt_match("not", pid))); print(getopt_match("name", "sondex")); print(len(getopt_list("cpu"))); exit() }' -- --min=7 --max=2 --cpu=1-3,5000-9000 --name='s?nde,x' --other=a,b
EXPECT_LINE (7000, 2000000, 3)
EXPECT_LINE (true, true, false, true)
EXPECT_LINE false
EXPECT_LINE 4004

NAME getopt_list: texts that begin with a digit, the largest number
RUN {sonde} -q -e 'begin { for ($x : getopt_list("names")) { printf("%s ", $x); } for ($n : getopt_list("nums")) { printf("%lu ", $n); } exit() }' -- --names=foo,7-zip,9-front-2 --nums=3,18446744073709551614-18446744073709551615
EXPECT_LINE foo 7-zip 9-front-2 3 18446744073709551614 18446744073709551615 

NAME a loop over the values of an option, one program for each 200 of them
NEED for_each_map_elem
RUN {sonde} -q -e 'begin { for ($p : getopt_list("pid")) { @p[$p] = 1; } } interval:ms:50 { print(len(@p)); print(@p[450]); clear(@p); exit() }' -- --pid=$(seq -s, 1 450)
EXPECT_LINE 450
EXPECT_LINE 1

NAME if comptime: the branch that is not taken may name what there is not, and leaves nothing
RUN {sonde} -q -e 'begin { if comptime (getopt("k")) { print(@none.no.such); nofunc($x); } else { print("u"); } @a[1, if comptime (!getopt("k")) { 2 }, 3] = 1; print(@a[1, 2, 3]); @b[if comptime (getopt("k")) { pid }] = 5; print(@b); print((1, if comptime (getopt("k")) { "x" })); clear(@a); clear(@b); exit() }'
EXPECT_LINE u
EXPECT_LINE 1
EXPECT_LINE @b: 5
EXPECT_LINE (1)

NAME the same script with the option given: other elements, other types
RUN {sonde} -q -e 'begin { @a[1, if comptime (!getopt("k")) { nosuch }, 3] = 1; @b[if comptime (getopt("k")) { "key" }] = 5; print((1, if comptime (getopt("k")) { "x" })); exit() }' -- --k
EXPECT_LINE @a[1, 3]: 1
EXPECT_LINE @b[key]: 5
EXPECT_LINE (1, x)

NAME a probe with a predicate that is false is not there: neither its tracepoint nor its map need be
RUN {sonde} -e 'begin { @m = 3; exit() } tracepoint:no:such /getopt("x") && pid == 1/ { @gone[args.nosuch] = 1; } tracepoint:no:other /!getopt("y", true)/ { }'
STDERR Attached 1 probe
EXPECT_LINE @m: 3
EXPECT_NOT @gone

NAME the same probe with the option is looked for
RUN {sonde} -e 'begin { exit() } tracepoint:no:such /getopt("x") && pid == 1/ { }' -- --x
RC 1
STDERR No matches for tracepoint no:such

NAME options in attach points and in settings
RUN {sonde} -q -e 'config = { max_map_keys = getopt("keys", 10) } $at { @n[1] = count(); } interval:ms:$every /getopt("every", 50, "MS: when") && getopt("at", "", "PROBE,...: where") != ""/ { print(config.max_map_keys); exit() } begin { print(1); }' -- --keys=77 --at=software:cpu-clock:1000000,profile:hz:99 --every=300
EXPECT_LINE 77
EXPECT @n[1]: 

NAME if comptime (c) { e } as an element costs no instruction
RUN a=$({sonde} -d bpf -e 'begin /true && getopt_match("p", pid)/ { @a[1, if comptime (getopt("x")) { pid }, comm] = count(); if comptime (getopt("x")) { exit() } }' | grep -c .); b=$({sonde} -d bpf -e 'begin { @a[1, comm] = count(); }' | grep -c .); c=$({sonde} -d bpf -e 'begin { @a[1, pid, comm] = count(); }' | grep -c .); echo "same: $((a == b)), more: $((c > b))"
EXPECT_LINE same: 1, more: 1

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

NAME comm of a process by its number: in tracepoints without arguments too, and a word where the kernel does not let
NEED host
NEED ksym:bpf_task_from_pid
RUN {sonde} -q -e 'tracepoint:sched:sched_switch /pid == cpid/ { print((kfunc_allowed("bpf_task_from_pid"), comm(pid) == comm)); exit() }' -c 'sleep 0.01'; {sonde} -q -e 'uprobe:{copy:calls}:add { print(kfunc_allowed("bpf_task_from_pid")); exit() }' -c {copy:calls}; for p in begin rawtracepoint:sched_switch uprobe:{copy:calls}:add; do {sonde} -q -e "$p { print(comm(pid)); exit() }" 2>&1 | grep -o ERROR.*; done; {sonde} -q -e 'begin { print((kfunc_exist("schedule"), kfunc_allowed("schedule"), kfunc_allowed("bpf_map_sum_elem_count"), kfunc_allowed("nosuch"))); exit() }'
EXPECT_RE \A\(true, true\)\s+false\s+ERROR: comm\(pid\) can not be used in 'begin' probes\nERROR: comm\(pid\) can not be used in 'rawtracepoint' probes\nERROR: comm\(pid\) can not be used in 'uprobe' probes\n\(true, false, true, false\)\n\s*\Z

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

NAME scripts that are part of sonde can be imported: filters and stacks as the tools have them
RUN {sonde} -q -e 'config = { option = "pid=1,2"; option = "depth=1"; max_map_keys = stack_keys(); } import "tasks.bt"; import "stacks.bt"; begin /!chosen(@pids, @tree)/ { print((1, if comptime (user_stacks()) { 2 }, stack_depth(), config.max_map_keys)); exit() }' -- --hash-storage-size=77 --kernel-stacks-only
EXPECT_LINE (1, 1, 77)

NAME waits.bt: bounds of a wait as the tools have them
RUN S='import "waits.bt"; begin { print((in_bounds(5000000, shortest()), in_bounds(1, shortest()), in_bounds(9000000, shortest()), every())); exit() }'; {sonde} -q -e "$S"; {sonde} -q -e "$S" -- -i 3 -m 5000 -M 8000
EXPECT_RE \A\s*\(true, false, true, 0\)\s+\(true, false, false, 3\)\s*\Z

NAME a script beside the importing one comes before sonde's own, but not for a tool, which has no folder
RUN printf 'macro stack_depth() { 99 }' > stacks.bt; printf 'import "stacks.bt"; begin { print(stack_depth()); exit() }' > s.bt; {sonde} -q s.bt; {sonde} profile --depth 3 --dump expand | grep -A 1 'call ustack'
EXPECT_LINE 99
EXPECT_RE ^ +call ustack\n +int 3$

NAME a tool's printed script runs by itself, with its options, and with others
RUN {sonde} profile -F 97 -K --comm 'a"b' --print-script > s.bt; grep option s.bt; {sonde} s.bt --dry-run; {sonde} -d points s.bt -- --frequency=50 | grep profile:hz
EXPECT_LINE 	option = "frequency=97";
EXPECT_LINE 	option = "comm=a\"b";
EXPECT_LINE 	profile:hz:50

NAME macros and builtins of one name: __builtin_NAME is the builtin, another number of parameters leaves it there
PROG macro nsecs() { 5 } macro strlen(s) { __builtin_strlen(s) + 10 } macro comm(a, b) { a + b } begin { print((nsecs, nsecs(), __builtin_nsecs > 5, __builtin_nsecs() > 5)); print((strlen("abc"), comm(1, 2), comm == __builtin_comm)); exit() }
EXPECT_LINE (5, 5, true, true)
EXPECT_LINE (13, 3, true)

NAME a macro nsecs() without parameters is the clock of tseries(), as it is strftime()'s argument; another one is not
RUN D='config = { unstable_tseries = enable }'; {sonde} -q -e "$D macro nsecs() { (uint64)100000000000 } macro t(n) { tseries(n, 1s, 3) } begin { print(strftime(\"%H:%M:\", nsecs())); @ = t(5); exit() }" | grep -oE '^[0-9]+:[0-9]+:' | uniq -c; {sonde} -q -f json -e "$D macro nsecs() { __builtin_nsecs + 86400000000000 } begin { @a = tseries(4, 1m, 2); @b = __builtin_tseries(4, 1m, 2); exit() }" | grep -oE '"interval_start":"[0-9-]*' | uniq -c | wc -l; {sonde} -q -e "$D macro nsecs(x) { \$x = 0; x } begin { @ = tseries(5, 1s, 3); exit() }" | grep -c '5$'; {sonde} -q -e "$D macro nsecs() { comm } begin { @ = tseries(5, 1s, 3); exit() }"
EXPECT_RE ^ *2 [0-9]+:[0-9]+:$
EXPECT_RE ^2$
EXPECT_RE ^1$
STDERR nsecs() of this script tells the time of tseries(): it must be a number
RC 1

NAME a block whose last expression is an aggregation, in a macro, within another, with a key
PROG macro add(x) { let $y = x; sum($y) } begin { @ = add(3); @ = { let $k = 4; @z = $k; add($k + 1) }; @h[{ 1 + 1 }] = { print("in"); { @n = 7; hist(5) } }; exit() }
EXPECT_LINE in
EXPECT_LINE @: 8
EXPECT_LINE @z: 4
EXPECT_LINE @n: 7
EXPECT_RE ^@h\[2\]:\n\[4, 8\) +1 \|

NAME what is never run is warned of: behind return, break, continue, exit(), and an if that always ends
RUN {sonde} -q -e 'begin { if (pid) { return } else { exit(); return } print(1) } interval:ms:1 { for ($i : 0..3) { if ($i == 1) { continue } if ($i == 2) { break; print(2) } print($i) } exit(); return; print(3) }' 2>&1
EXPECT_RE \A(stdin:1:[\d-]+: WARNING: Unreachable statement\n.*\n +~+\nHINT: nothing comes behind the one before it\n){5}0\n\n*\Z

NAME several attributes of a structure
PROG struct A { char a; int b; } __attribute__((packed)) __attribute__((aligned(4))); struct __attribute__((packed)) __attribute__((aligned(16))) B { char x; } begin { print((sizeof(struct A), sizeof(struct B))); exit() }
EXPECT_LINE (8, 16)

NAME pointers into maps are numbers: an index that is not known, comparison, sums
PROG begin { @h = hist(5); $p = (uint64 *)&@h; print(*($p + nsecs % 6) <= 1); print($p[nsecs % 6] <= 1); @c = 5; $r = &@c; if ($r == 0) { print("none") } $z = $r + 1; print($z > $r); print(*$r); exit() }
EXPECT_RE \A\s*true\ntrue\ntrue\n5\n

NAME pointers to variables and maps may go anywhere: what they point to is read by the kernel's leave
PROG begin { @a = stats(5); $p = (uint64 *)&@a; $p += 1; print(*$p); @c = 5; @q = &@c; print(*@q); $i = nsecs % 1; $r = &@c; print($r[$i]); print(*&@c); $x = 7; $y = &$x; print(*$y); join(&@c); join(&$x); exit() }
EXPECT_RE \A\s*1\n5\n5\n5\n7\n

NAME what a pointer to a variable or a map points to, read as a structure: its members, bit fields, all of it, and the structure's own address
PROG struct S { int a; int b; } struct B { unsigned a:3; unsigned b:5; int c:4; } begin { @x = (uint64)0x700000003; @y = (uint64)0xfab; $s = (struct S *)&@x; print(($s.a, $s.b)); print(*$s); $n = *(struct S *)(&@x + 0); $p = &$n; print($p.b); $t = (struct B *)&@y; print(($t.a, $t.b, $t.c)); clear(@x); clear(@y); exit() }
EXPECT_LINE (3, 7)
EXPECT_LINE { .a = 3, .b = 7 }
EXPECT_LINE 7
EXPECT_LINE (3, 21, -1)

NAME an index beyond an array is told of, also behind a pointer
RUN {sonde} -e 'struct B { int z[2]; } begin { $p = pton("127.0.0.1"); $i = pid / pid + 5; print($p[$i]); $b = (struct B *)curtask; $n = $b.z[$i - 5]; $n = $b.z[$i]; exit() }' 2>&1
EXPECT_LINE 1
EXPECT_RE ^stdin:1:82-88: WARNING: Array access out of bounds. This can lead to unexpected results.$
EXPECT_RE ^stdin:1:141-149: WARNING: Array access out of bounds. This can lead to unexpected results.$
EXPECT_NOT stdin:1:121

NAME an index that is none of the array warns only then
RUN {sonde} -e 'begin { $p = pton("127.0.0.1"); $i = pid / pid; for ($k : 0..4) { $i = $p[$k]; } print($i); exit() }' 2>&1
EXPECT_LINE 1
EXPECT_NOT WARNING

NAME parts of bpftrace's standard library may be imported
PROG import "stdlib"; import "stdlib/strings"; import "stdlib/base.bpf.c"; begin { print(strlen("abc")); exit() }
EXPECT_LINE 3

NAME what is no part of it is not found
PROG import "stdlib/none"; begin { exit() }
RC 1
STDERR cannot find "stdlib/none" to import it
