#!/usr/bin/env python3
"""page.py SONDE: is docs/ir.md still true? Its examples are run and compared, its tables compared with src/ir/ops.def and src/base/passes.def."""
import os, re, shlex, subprocess, sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
read = lambda name: open(os.path.join(TOP, name)).read()


def compare(what, page, source):
    same = page == source
    print('%s: %d, %s' % (what, len(source), 'as in the source' if same else 'page %s, source %s' % (page, source)))
    return same


def example(text):
    command, _, want = text.partition('\n')
    p = subprocess.run([sys.argv[1]] + shlex.split(command)[2:], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    got = p.stdout.decode().rstrip('\n')
    same = p.returncode == 0 and got == want.rstrip('\n')
    print('example %s: %s' % (command, 'as printed' if same else 'now prints\n' + got))
    return same


page = read('docs/ir.md')
table = lambda heading: re.findall(r'^\| `(\w+)` \|', page.split('\n## %s\n' % heading)[1].split('\n## ')[0], re.M)
passes = re.findall(r'^(?:SCRIPT|OPT|CODE)_PASS\((\w+),', read('src/base/passes.def'), re.M)
passes = list(dict.fromkeys(passes[passes.index('lower'):passes.index('link') + 1]))
conditions = re.search(r'ir_cond_names\[\w+\] = \{(.*?)\}', read('src/ir/ops.c')).group(1)
good = [compare('ops', table('Ops'), re.findall(r'^OP\(\w+, "(\w+)"', read('src/ir/ops.def'), re.M)),
        compare('passes', table('Passes'), passes),
        compare('conditions', re.findall(r'`(\w+)`', re.search(r'^.*Conditions: (.*)$', page, re.M).group(1)), re.findall(r'\w+', conditions))]
examples = re.findall(r'^```\n(\$ .*?)^```$', page, re.M | re.S)
good += [example(e) for e in examples]
print('%d examples' % len(examples))
sys.exit(not all(good))
