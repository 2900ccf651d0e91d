#!/usr/bin/env python3
"""Runs sonde's tests and closes with one line: N passed, N failed, N skipped.

usage: run.py [--build DIR] [--suite unit,run,...] [--filter 'GLOB|GLOB...'] [--jobs N] [--waiting N] [--short|--extra] [--times FILE] [--must-run] [--beside CMD] [-v]
  --jobs N       of test programs and fuzz targets, which compute, so many run side by side (default: processors and one)
  --waiting N    of the blocks of .t files that may run side by side, whose time is mostly waiting, so many (default: three a processor)
  --second-tries N  so many of the tests that fail, and have no further try of their own, are run once more; for machines that others load (default: 0)
  --short        without the blocks that are LONG      --extra  only those that are EXTRA, which else run only where --filter names some tests
  --beside CMD   builds what the suites asan and fuzz run, with what the FEW and ALONE blocks of the suite run leave of the processors
  --times FILE   how long each file of tests and each test took, the longest first     --must-run   a suite whose tests were all skipped has failed

Suites
  unit   build/test/*_test programs (TAP on stdout)
  layers folders of src/ include and call only what lies below them (test/layers.py)
  asan   the tools and some of the unit tests under the address and undefined-behaviour sanitizers, looking for leaks
  fuzz   test/fuzz/*_fuzz.c, a few seconds each
  run    test/run/*.t: programs under sonde with their workload, against expected output
  vm     boots other kernels under emulation and runs in each of them, as suite `guest`, some of test/vm/*.t and test/run/*.t (test/vm/matrix.py);
         SONDE_VM_KERNEL=FILE adds a kernel given by path, SONDE_VM_GUESTS='amd64 6.1' chooses, SONDE_VM_FULL=1 runs every test

A .t file holds blocks separated by blank lines; a block is
  NAME text          PROG script text (may go on in lines that begin with white space)   ARGS command line options and parameters
  RUN shell command instead of PROG; {sonde}, {build}, {top} (the sources) and {tmp} (the current folder) are replaced; {copy:frames} by a copy of
                     {build}/frames that no other test traces, {name:frames} by its name (which comm is), {id} by a number of six digits that no other has
  WORKLOAD shell command started when probes are attached ({sonde} prints its word), ended after the test
  INT seconds: an interrupt (Ctrl-C) that long after the workload has ended, or after attaching if there is none
  EXPECT text that stdout contains    EXPECT_LINE a whole line    EXPECT_RE regular expression (multi-line)
  EXPECT_STACKS re: stdout has stacks, each one's first frame matches, and none has a frame of the tracer
  EXPECT_NOT text    STDERR text that stderr contains    RC exit status (0)    TIMEOUT seconds (15; three times as many where others run beside, twice beside one)
  RETRY n reason     one that samples or times gets n further tries; the closing lines count the tests that needed one. All others have one try.
  TOGETHER [WORD...] it may run beside others: it measures nothing, and sees only what it starts itself; of those with the same WORD one at a time.
                     FEW reason: beside one other only. ALONE reason: beside none, which is so where nothing is said. FILE TOGETHER or FILE FEW as a
                     block before them says it of all blocks of the file that do not. (Test programs of test/unit: T_FEW, T_ALONE and TEST_RETRY, see t.h.)
  EXTRA reason       `make check` leaves it out too (make check-extra has it): it is long, and what it looks at others look at more closely
  LONG               `make test` leaves it out (--short): it takes over 7 s beside others, or over 3 s with a processor for itself
  NEED feature       as `sonde info` names it, "name: yes" (!feature: no); or cmd:NAME, file:PATH, npm:NAME@VERSION, pyenv:VERSION (of Python), runtimes:PATH (unpacked by test/workload/runtimes.py), arch:MACHINE, ksym:SYMBOL, host (no guest), kmod (test/vm/kmod.py has built the module), 32-bit (programs): else skipped, with the reason
A block must expect something that is there, and a key that is not in this list is an error.
"""
import argparse, concurrent.futures, os, sys, time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, 'vm')]
from runner import child, files, tally, unit  # noqa: E402 (test/runner)
import layers  # noqa: E402
import matrix  # noqa: E402 (test/vm)

SUITES = {'layers': layers.run_layers, 'unit': unit.run_unit, 'asan': unit.run_asan, 'fuzz': unit.run_fuzz, 'run': files.run_run, 'vm': matrix.run,
          'guest': files.run_guest}

NEED_BESIDE = ('asan', 'fuzz')


def run_suite(whole, opt, name):
    t, start = whole.part(name), time.time()
    SUITES[name](t, opt)
    passed, failed, skipped = t.counts()
    t.say('# suite %s: %d tests in %.0f s' % (name, passed + failed + skipped, time.time() - start))
    if opt.filter == '*' and not passed + failed and (opt.must_run or not skipped):
        t.fail('suite %s' % name, 'ran no test')
    whole.add(t)


def built_beside(t, opt):
    """Waits for what --beside builds."""
    start, problem = time.time(), opt.built.wait(900)
    opt.built = t.say('# waited %.0f s for what asan and fuzz run' % (time.time() - start))
    if problem:
        t.fail('what asan and fuzz run', '%s: %s' % (opt.beside, problem))


def run_suites(t, opt, names):
    """In order; but what asan and fuzz look at does not depend on time, and guests leave half of the processors: they go on beside one another."""
    vm = None
    with concurrent.futures.ThreadPoolExecutor(1) as side:
        for name in names:
            if name in NEED_BESIDE and opt.built:
                built_beside(t, opt)
            if name in NEED_BESIDE and 'vm' in names and not vm:
                vm = side.submit(run_suite, t, opt, 'vm')
            if name != 'vm' or not vm:
                run_suite(t, opt, name)
        if vm:
            vm.result()


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--build', default=os.path.join(unit.TOP, 'build'))
    p.add_argument('--suite', default='layers,unit,run,asan,fuzz,vm')
    p.add_argument('--filter', default='*')
    p.add_argument('--from', dest='first', type=int, default=0, help=argparse.SUPPRESS)
    p.add_argument('--fuzz-seconds', type=int, default=3)
    p.add_argument('--jobs', type=int, default=(os.cpu_count() or 1) + 1)
    p.add_argument('--waiting', type=int, default=3 * (os.cpu_count() or 1))
    p.add_argument('--second-tries', type=int, default=0)
    p.add_argument('--short', action='store_true')
    p.add_argument('--extra', action='store_true')
    p.add_argument('--times')
    p.add_argument('--must-run', action='store_true')
    p.add_argument('--beside')
    p.add_argument('-v', action='store_true')
    opt = p.parse_args()
    opt.build = os.path.abspath(opt.build)
    child.clean()
    t = tally.Tally(opt.v, opt.second_tries)
    opt.built = None
    run_suites(t, opt, opt.suite.split(','))
    if opt.short:
        t.say('# without the long tests, which make check runs')
    if opt.times:
        t.write_times(opt.times)
    t.close()
    return 1 if t.failed else 0


if __name__ == '__main__':
    sys.exit(main())
