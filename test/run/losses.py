#!/usr/bin/env python3
"""The list of losses (docs/losses.md) against the code and the tests: prints what one has and another lacks, a line each, then how many losses there are.

usage: losses.py TOP
Input: the names in the code: the second argument of each report_loss(), "type" of the objects that src/out/json.c and src/input/input.c write of themselves.
       The first column of the table; the files its last column names. Tests: a block of a .t file, or a unit test, that wants the object with that type.
"""
import glob
import os
import re
import sys

FOLDERS = ('test/run', 'test/vm', 'test/unit')


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def in_code(top):
    names = set()
    for path in glob.glob(top + '/src/*/*.c'):
        text = read(path)
        calls = len(re.findall(r'(?<!void )\breport_loss\(', text))
        told = re.findall(r'(?<!void )\breport_loss\(\w+, "(\w+)"', text)
        if calls != len(told):
            print('%s: a report_loss() whose name is no literal' % path)
        names.update(told)
    names.update(re.findall(r'json_count\(r, "(lost_\w+)"', read(top + '/src/out/json.c')))
    names.update(re.findall(r'\{\\"type\\": \\"(\w+)\\"', read(top + '/src/input/input.c')))
    return names


def in_docs(top):
    """{type: last column}"""
    rows = {}
    for line in read(top + '/docs/losses.md').splitlines():
        cells = line.split('|')
        if line.startswith('| `') and len(cells) == 6:
            rows.update((name, cells[4]) for name in re.findall(r'`(\w+)`', cells[1]))
    return rows


def wanted_by_tests(top):
    """{type: names of the files that want its object}"""
    wants = {}
    for folder in FOLDERS:
        for path in glob.glob('%s/%s/*.[tc]' % (top, folder)):
            found = re.findall(r'"type": "(\w+)"', read(path)) if path.endswith('.t') else re.findall(r'\\"(\w+)\\", \\"count\\"', read(path))
            for name in found:
                wants.setdefault(name, set()).add(os.path.basename(path))
    return wants


def main(top):
    code, docs, wants = in_code(top), in_docs(top), wanted_by_tests(top)
    for name in sorted(code - set(docs)):
        print('%s: the code tells of it, docs/losses.md does not' % name)
    for name in sorted(set(docs) - code):
        print('%s: in docs/losses.md, but nothing tells of it' % name)
    for name in sorted(code & set(docs)):
        if name not in wants:
            print('%s: no test wants its object' % name)
        for path in re.findall(r'`((?:test/vm/)?\w+\.t)`', docs[name]):
            if not any(os.path.exists('%s/%s/%s' % (top, folder, os.path.basename(path))) for folder in FOLDERS):
                print('%s: there is no test %s' % (name, path))
        if '.t`' in docs[name] and not any(os.path.basename(path) in wants.get(name, ()) for path in re.findall(r'`([\w/]+\.t)`', docs[name])):
            print('%s: no file that the last column names wants its object' % name)
    print('%d losses' % len(code & set(docs)))


main(sys.argv[1])
