"""Runs code of its own making again and again, which only /tmp/perf-PID.map names, and looks which name `sonde` prints for it: usage: mapnames.py SONDE CASE
Waits for the name that the file has by then, at most some twenty seconds; prints the names that were seen. x86-64."""
import ctypes, mmap, os, subprocess, sys, time

CODE = b"\x55\x48\x89\xe5\xb8\x6e\0\0\0\x0f\x05\x5d\xc3"  # push %rbp; mov %rsp, %rbp; getppid(2); pop %rbp; ret
sonde, case = sys.argv[1:]
room = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
room.write(CODE)
at = ctypes.addressof(ctypes.c_char.from_buffer(room))
run = ctypes.CFUNCTYPE(None)(at)
path = "/tmp/perf-%d.map" % os.getpid()


def line(name, where=at):
    return "%x %x %s\n" % (where, len(CODE), name)


def write(text, mode="w", to=path):
    with open(to, mode) as f:
        f.write(text)


def seen():
    run()
    name = "none"
    while (text := tracer.stdout.readline()) != "--\n":
        assert text, "sonde has ended"
        name = next((word for word in text.split("+") if word.strip().endswith("_function")), name)
    return name.strip()


def until(name):
    for _ in range(400):
        if seen() == name:
            break
        time.sleep(0.05)
    print(seen())


try:
    write("" if case == "late" else line("old_function"))
    tracer = subprocess.Popen([sonde, "-q", "-p", str(os.getpid()), "-e", 'tracepoint:syscalls:sys_enter_getppid /pid == %d/ { printf("%%s--\\n", ustack(1)) }' % os.getpid()],
                              stdout=subprocess.PIPE, text=True, env=dict(os.environ, __BPFTRACE_NOTIFY_PROBES_ATTACHED="1"))
    tracer.stdout.readline()  # it has attached
    until("none" if case == "late" else "old_function")
    if case == "anew":  # longer than it was
        write(line("other_function", at + 2048) * 9 + line("new_function"))
    elif case == "replaced":
        write(line("new_function"), to=path + ".new")
        os.rename(path + ".new", path)
    else:
        write(line("new_function"), "a")
    until("new_function")
    tracer.terminate()
    tracer.wait()
finally:
    os.unlink(path)
