# The same workload under other programs' tools, where they run (test/run/peer.py): the same times, or who does not run and why.
# bcc's own need a compiler's view of kernel headers; what differs by design is in man sonde-tools.

FILE FEW

NAME peers: libbpf-tools' offcputime sees the same waits, a thread's sleeps and a lock's waiter
LONG
NEED file:/usr/sbin/offcputime
RUN {top}/test/run/peer.py {sonde} '{build}/waits sleep 20 50 64' napper64 '/usr/sbin/offcputime -p PID' 'offcputime --complete=off -p PID'; {top}/test/run/peer.py {sonde} '{build}/waits lock 20 50 65' waiter65 '/usr/sbin/offcputime -p PID' 'offcputime -p PID'
TIMEOUT 60
EXPECT_RE \A(agrees\n|.* does not run here: (.*\n)+){2}\Z

NAME peers: libbpf-tools' wakeuptime sees the same waits
NEED file:/usr/sbin/wakeuptime
RUN {top}/test/run/peer.py {sonde} '{build}/waits lock 20 50 66' waiter66 '/usr/sbin/wakeuptime -p PID' 'wakeuptime -p PID' 10
TIMEOUT 60
EXPECT_RE \A(agrees\n|.* does not run here: (.*\n)+)\Z

NAME peers: bcc's offcputime sees the same waits, or has no headers to compile with
NEED file:/usr/sbin/offcputime-bpfcc
RUN {top}/test/run/peer.py {sonde} '{build}/waits sleep 20 50 67' napper67 '/usr/sbin/offcputime-bpfcc -p PID' 'offcputime --complete=off -p PID'
TIMEOUT 60
EXPECT_RE \A(agrees\n|.* does not run here: (.*\n)+)\Z
