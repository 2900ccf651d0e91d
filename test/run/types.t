# Types: C declarations and macros in a script, the kernel's types and constants without headers.

FILE TOGETHER

NAME declarations, macros and conditionals of C
PROG #include <linux/sched.h>
  #define SQ(x) ((x)*(x))
  #define TWICE(a, b) (SQ(a) + SQ(b))
  #define NAME "abc"
  #define PIDOF(t) ((t)->tgid)
  #ifdef AF_INET
  #define HAVE 1
  #else
  #define HAVE 0
  #endif
  #if HAVE && !defined(NOT_THERE)
  struct in { int q; union { int u; char c[4]; }; unsigned b1:3, b2:5; };
  #endif
  union both { u32 w; u8 b[4]; };
  enum col { RED, GREEN = 5, BLUE };
  typedef struct { struct in a[3]; int m[2][3]; enum col c; union both ub; struct in *next; int (*fn)(int); int flex[]; } big_t;
  BEGIN { $v = 3; @m = 2; printf("%d %d %s %d\n", SQ($v + 1), TWICE(@m, $v), NAME, HAVE); clear(@m);
  printf("%d %d %d %d\n", sizeof(big_t), offsetof(big_t, c), offsetof(big_t, a[1].c), sizeof(struct in));
  $c = GREEN; printf("%s %d %s\n", $c, $c, BLUE); print(PIDOF((struct task_struct *)curtask) == pid); exit() }
EXPECT_LINE 16 13 abc 1
EXPECT_LINE 88 60 16 12
EXPECT_LINE GREEN 5 BLUE
EXPECT_LINE true

NAME pointers in an array point into the memory that the array lies in
PROG struct in { int q; char c; }; struct W { char before[32]; struct in *pin[1]; };
  uprobe:{copy:shapes}:whole { $p = (struct W *)arg0; print($p->pin[0]->q); $a = $p->pin; print($a[0]->q + 1); $c = *$p; print((*$c.pin[0]).q + 2);
  @m[1] = $p->pin; print(@m[1][0]->q + 3); clear(@m); print($p->pin[0]->c); print(((struct in **)(arg0 + 32))[0]->q + 4); exit() }
ARGS -k -c {copy:shapes}
EXPECT_LINE 99
EXPECT_LINE 100
EXPECT_LINE 101
EXPECT_LINE 102
EXPECT_LINE 122
EXPECT_LINE 103
EXPECT_NOT WARNING

NAME a macro with too many arguments
PROG #define SQ(x) ((x)*(x))
  BEGIN { print(SQ(1, 2)) }
RC 1
STDERR the macro SQ takes 1 argument, found 2

NAME sixty macros in one another, in expressions, in #if and in a struct; a thousand are refused
RUN mk() { for i in $(seq $1); do echo "#define A$i A$((i + 1)) - 1"; echo "#define F$i(x) F$((i + 1))(x) - 1"; done; echo "#define A$(($1 + 1)) 100"; echo "#define F$(($1 + 1))(x) x"; }; { mk 60; echo '#if A1 < 0'; echo '#error no'; echo '#endif'; echo 'struct S { char a[A1]; }; begin { print((A1, F1(100), sizeof(struct S))); exit() }'; } >a.bt; {sonde} a.bt; { mk 1000; echo 'begin { print(A1); print(F1(100)); exit() }'; } >b.bt; {sonde} b.bt
RC 1
EXPECT_LINE (40, 40, 40)
STDERR ERROR: the macro A1 expands to more than 2097152 tokens, or needs over 500 macros in one another
STDERR ERROR: the macro F1 expands to more than 2097152 tokens, or needs over 500 macros in one another

NAME a macro with an argument, used 100,000 times; macros that double themselves
RUN python3 -c "print('#define S(x) ' + '(' * 10 + 'x' + ')' * 10 + '\nbegin { \$y = (uint64)0;' + ' \$y += S(1);' * 100000 + ' print(\$y); exit() }')" >a.bt; {sonde} a.bt; { echo '#define A A+A+A+A'; echo 'begin { print(A); exit() }'; } >b.bt; { for i in $(seq 16); do echo "#define A$i (A$((i + 1)) + A$((i + 1)))"; done; echo '#define A17 pid'; echo 'begin { '; yes 'print(A1);' | head -9; echo 'exit() }'; } >c.bt; for f in b c; do (ulimit -v 2000000; {sonde} $f.bt); done
RC 1
EXPECT_LINE 100000
STDERR ERROR: Unknown identifier: 'A'
STDERR c.bt:26:7-9: ERROR: the expansion of #defines is too large: it has over 1000000 parts of expressions

NAME a macro that names itself
PROG #define R(x) R(x)+1
  BEGIN { print(R(1)) }
RC 1
STDERR Unknown function: 'R'

NAME constants of headers that need not be installed
PROG BEGIN { printf("%d %d %d %d %d %d %d %d %d %d ", AF_INET6, O_CREAT, EPERM, IFNAMSIZ, S_IFMT, PROT_EXEC, MSG_PEEK, SOCK_STREAM, IPPROTO_TCP, SIGKILL);
  printf("%d %d %d %d %d %d\n", ICMP_ECHO, ICMPV6_ECHO_REQUEST, EINPROGRESS, S_IFREG, ETH_P_IPV6, CLONE_VM); exit() }
EXPECT_LINE 10 64 1 16 61440 4 2 1 6 9 8 128 115 32768 34525 256

NAME the kernel's records: nested pointers, arrays, unions, anonymous members, bit fields, function pointers
NEED btf
PROG BEGIN { $t = (struct task_struct *)curtask; printf("%d %d %s %d\n", $t->tgid == pid, $t.signal.rlim[7].rlim_cur > 0, str($t->mm->exe_file->f_path.dentry->d_name.name), $t->in_execve);
  printf("%d %d %d\n", $t->thread_pid->numbers[0].nr > 0, $t->se.load.weight > 0, offsetof(struct task_struct, se.load.weight) == offsetof(struct task_struct, se) + offsetof(struct sched_entity, load.weight));
  print($t->comm); printf("%d\n", $t->files->fdt->max_fds); exit() }
EXPECT_LINE 1 1 sonde 0
EXPECT_LINE 1 1 1
EXPECT_LINE sonde
EXPECT_RE ^\d{2,}$

NAME the kernel's enumerators by name
NEED btf
PROG BEGIN { $e = (enum tcp_ca_state)2; printf("%s %d %s %d\n", $e, $e, TCP_LISTEN, TCP_LISTEN); print(PIDTYPE_TGID); exit() }
EXPECT_LINE TCP_CA_CWR 2 TCP_LISTEN 10
EXPECT_LINE PIDTYPE_TGID

NAME arrays from numbers and back
PROG BEGIN { $v = (uint8[8])0x0102030405060708; print($v); print((uint64)$v == 0x0102030405060708); $w = (uint16[])((uint32)0x00020001); printf("%d %d\n", $w[0], $w[1]); exit() }
EXPECT_LINE [8,7,6,5,4,3,2,1]
EXPECT_LINE true
EXPECT_LINE 1 2

NAME a null pointer on the way reads as nothing
NEED btf
PROG BEGIN { $f = (struct file *)0; printf("%d [%s]\n", $f->f_inode->i_mode, str($f->f_path.dentry->d_name.name));
  $g = (struct file *)0xdead000000000000; printf("bad %d [%s]\n", $g->f_inode->i_mode, str($g->f_path.dentry->d_name.name)); exit() }
EXPECT_LINE 0 []
EXPECT_LINE bad 0 []

NAME function pointers as symbols
NEED btf
PROG iter:task_file { if (ctx.task.tgid == pid && ctx.fd == 0) { print(ksym(ctx.file.f_op.read_iter)) } }
EXPECT_RE ^\w*read\w*$

NAME a per-CPU variable
NEED ksym:runqueues
PROG BEGIN { $r = (struct rq *)percpu_kaddr("runqueues"); $l = (struct rq *)percpu_kaddr("runqueues", ncpus - 1); printf("%d %d\n", $r->cpu == cpu, $l->cpu == ncpus - 1); exit() }
EXPECT_LINE 1 1

NAME types of a module: records of its own beside the kernel's
NEED file:/sys/kernel/btf/9p
PROG BEGIN { printf("%d %d\n", sizeof(struct v9fs_session_info) > 64, offsetof(struct v9fs_session_info, flags)); print(sizeof(((struct v9fs_inode *)0)->netfs) > sizeof(struct inode)); exit() }
EXPECT_RE ^1 0$
EXPECT_LINE true

NAME fields that kernels name differently: task_struct's state, by both names
RUN {sonde} -q -e 'struct task_struct { long pad; long state; } begin { printf("%d %d\n", offsetof(struct task_struct, __state), offsetof(struct task_struct, state)); exit() }'; {sonde} -q -e 'begin { printf("%d\n", offsetof(struct task_struct, __state) == offsetof(struct task_struct, state)); exit() }'
EXPECT_RE ^8 8\n\n*1\n

NAME typeinfo is a record
PROG begin { $x = 1; $y = nsecs; print(typeinfo($x + $y)); print(typeinfo(curtask).base_type); $t = typeinfo((1, "a")); print($t.full_type); @s = sum($y); print(typeinfo(@s)); print(typeinfo(1) == typeinfo(2)); if comptime (typeinfo(1) != typeinfo(nsecs)) { print("differ") } clear(@s); exit() }
EXPECT_LINE { .btf_id = 0, .base_type = int, .full_type = uint64 }
EXPECT_LINE pointer
EXPECT_LINE (int8,string[2])
EXPECT_LINE { .btf_id = 0, .base_type = sum_t, .full_type = usum_t }
EXPECT_LINE differ
EXPECT_LINE true

NAME macros take types
PROG macro size(t) { sizeof(t) } macro cut(t, e) { (t)e } macro var(t) { let $a : t = 7; sizeof($a) } macro deref(t, p) { (t *)p }
     begin { print((size(typeof(uint64 *)), size(typeof(struct list_head)), cut(typeof(uint8), 300), var(typeof(uint16)), sizeof(deref(typeof(uint8), 0)))); $b = "xyz"; print(size(typeof($b))); exit() }
NEED btf
EXPECT_LINE (8, 16, 44, 2, 8)
EXPECT_LINE 4

NAME a macro takes types of several words, and makes types of them
PROG macro size(a) { sizeof(a) } macro two(a) { sizeof(a[2]) } macro many(a, x) { (a[2])x } macro as(x, a) { (a)x } macro at(x, a) { sizeof(*(a*)x) }
     begin { print((size(struct list_head), size(unsigned char), size(uint8 *), two(uint32), two(typeof(uint16)), two(size_t), many(uint16, 66000), as(66000, uint16), as(8, struct file *), at(0, uint16))); exit() }
EXPECT_LINE (16, 1, 8, 8, 4, 16, [464,1], 464, 0x8, 2)

NAME a typedef is a type in typeof() and for variables
PROG begin { let $x: typeof(size_t) = 5; let $y: size_t = 6; print((sizeof(typeof(size_t)), sizeof(size_t), sizeof(size_t[3]), $x, $y)); exit() }
EXPECT_LINE (8, 8, 24, 5, 6)

NAME a cast to a typedef, whatever its operand begins with
PROG begin { $p = 5; $q = &$p; print(((uint64_t)-1, (pid_t)-1, (size_t)-$p, (size_t)*$q, (uint32_t)~0, (loff_t)$p - 1, ($p) - 1)); exit() }
EXPECT_LINE (18446744073709551615, -1, 18446744073709551611, 5, 4294967295, 4, 4)

NAME typeof is no value
PROG begin { print(typeof(1)) }
RC 1
STDERR stdin:1:15-24: ERROR: typeof() is an argument for macros that expect a type

NAME macros of a header that is installed, which no table has
NEED file:/usr/include/linux/fiemap.h
PROG #include <linux/fiemap.h>
  BEGIN { printf("%d %d\n", FIEMAP_FLAG_XATTR, FIEMAP_EXTENT_DATA_INLINE + FIEMAP_FLAG_SYNC); exit() }
EXPECT_LINE 2 513

NAME constants of headers that are known without them: of every size
PROG begin { print((MAP_FAILED, CLONE_INTO_CGROUP, LLONG_MIN, LLONG_MAX, AT_FDCWD, BTRFS_SUPER_MAGIC, EPERM)); exit() }
EXPECT_LINE (-1, 8589934592, -9223372036854775808, 9223372036854775807, -100, 2435016766, 1)

NAME texts of headers are no numbers
PROG begin { print(ELFMAG); exit() }
RC 1
STDERR stdin:1:15-21: ERROR: Unknown identifier: 'ELFMAG'

NAME constants and types of headers, where none is installed
NEED !host
NEED cmd:mount
RUN mount -t tmpfs none /usr/include && {sonde} -q -e '#include <net/sock.h>
 #include <linux/if.h>
 #include <errno.h>
 #include <fcntl.h>
 BEGIN { printf("%d %d %d %d %d\n", AF_INET, O_CREAT, ENOENT, IFNAMSIZ, sizeof(struct sock) > 100); exit() }'; r=$?; ls /usr/include | wc -l; umount /usr/include; exit $r
EXPECT_LINE 2 64 2 16 1
EXPECT_LINE 0

NAME an array of characters without a NUL is a text of all of them: printed, kept, as a key, compared, in a record
RUN cp {build}/calls .; {sonde} -q -c ./calls -e 'struct N { char n[4]; int x; }; struct L { char n[6]; }; uprobe:./calls:name_of { $n = (struct N *)arg0; print($n.n); printf("%s|%s|\n", $n.n, str($n.n)); print((*$n).n); $c = $n.n; print($c); @m = $n.n; @k[$n.n, 1] = count(); @r = *$n; print((strlen($n.n), $n.n == "name", $n.n == "nam", $n.n != "names", ((struct L *)arg0).n)); $long = "a longer text"; $long = $n.n; print($long); exit() }'
EXPECT_RE \Aname\nname\|name\|\nname\nname\n\(4, true, false, true, name-0\)\nname\n
EXPECT_LINE @m: name
EXPECT_RE ^@k\[name, 1\]: \d+$
EXPECT_RE ^@r: \{ \.n = name, \.x = \d+ \}$
