"""Counts results and prints them, from several threads; says at the end what passed only at a retry."""
import copy, threading


class Tally:
    def __init__(self, verbose, second_tries=0):
        self.passed = self.failed = self.skipped = 0
        self.verbose = verbose
        self.second_tries = [second_tries]  # how many of the tests that fail may be run once more
        self.retried = []  # 'name (reason)'
        self.times = []    # (seconds, suite, name)
        self.suite = ''
        self.lock = threading.RLock()

    def part(self, suite):
        """One for a suite by itself, until add(): its own counts; retries, times and output are ours."""
        part = copy.copy(self)
        part.passed = part.failed = part.skipped = 0
        part.suite = suite
        return part

    def add(self, part):
        with self.lock:
            self.passed, self.failed, self.skipped = (a + b for a, b in zip(self.counts(), part.counts()))

    def say(self, text):
        with self.lock:
            print(text, flush=True)

    def ok(self, name, retry=None):
        """retry: the reason that the test gives for its further tries, when it needed one."""
        with self.lock:
            self.passed += 1
            if retry:
                self.retried.append('%s (%s)' % (name, retry))
            if self.verbose:
                self.say('ok      %s' % name)

    def fail(self, name, why):
        with self.lock:
            self.failed += 1
            self.say('FAILED  %s\n        %s' % (name, why.rstrip().replace('\n', '\n        ')))

    def skip(self, name, why):
        with self.lock:
            self.skipped += 1
            self.say('skipped %s: %s' % (name, why))

    def may_try_again(self):
        with self.lock:
            self.second_tries[0] -= 1
            return self.second_tries[0] >= 0

    def again(self, name, why):
        """why: its first line is said, what follows stands below it."""
        first, _, more = why.partition('\n')
        self.say('note    %s: run again: %s' % (name, first) + ''.join('\n        ' + l for l in more.rstrip().split('\n') if more))

    def took(self, name, seconds, say=True):
        with self.lock:
            self.times.append((seconds, self.suite, name))
        if self.verbose and say:
            self.say('# %5.1f s %s' % (seconds, name))

    def write_times(self, path):
        """The sum of each file of tests (what is before the first ": ", in a guest the second), then each test, each list with the longest first."""
        files = {}
        for seconds, suite, name in self.times:
            file = suite + ' ' + ': '.join(name.split(': ')[:2 if suite == 'vm' else 1])
            files[file] = files.get(file, 0) + seconds
        with open(path, 'w') as f:
            for file, seconds in sorted(files.items(), key=lambda x: -x[1]):
                f.write('%7.1f s  %s\n' % (seconds, file))
            f.write('\n')
            for seconds, suite, name in sorted(self.times, reverse=True):
                f.write('%7.1f s  %s  %s\n' % (seconds, suite, name))

    def counts(self):
        return self.passed, self.failed, self.skipped

    def close(self):
        """The last line is the one that others read."""
        self.say('# %d passed only at a retry%s' % (len(self.retried), ''.join('\n#   ' + r for r in self.retried)))
        self.say('%d passed, %d failed, %d skipped' % self.counts())
