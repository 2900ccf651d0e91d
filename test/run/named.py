#!/usr/bin/env python3
"""What a page of Markdown says that there is: named.py TOP PAGE. Prints each file of the tree, target of make and unit test that the page names and that is not there, a
line each; then how many it names. A name ends at a blank; one that begins with a folder of src is in it; what has capitals in it for a part (`NAME`) is none."""
import os
import re
import sys

top, page = sys.argv[1:3]
text = open(page).read()
makefiles = ''.join(open(os.path.join(top, f)).read() for f in ('Makefile', 'package/package.mk'))
targets = set(re.findall(r'^([\w -]+):(?!=)', makefiles, re.M))
targets = {t for line in targets for t in line.split()}
folders = '|'.join(f for f in os.listdir(os.path.join(top, 'src')) if os.path.isdir(os.path.join(top, 'src', f)))
names = set()
for words in re.findall(r'`([^`\n]+)`', text):
    names |= {w for w in re.findall(r'(?:^|(?<=[\s/"]))((?:src|test|bench|docs|scripts|package|man|tools)/[\w./-]+)(?![\w*./-])', words) if not re.search('NAME', w)}
    names |= {'src/' + w for w in re.findall(r'(?:^|(?<=[\s"]))((?:%s)/[\w-]+\.[a-z.]*[a-z])(?![\w*])' % folders, words) if 'NAME' not in w}
    names |= {'make ' + t for t in re.findall(r'(?:^|&& )(?:sudo )?make ((?!-)[\w-]+)(?!\w*=)', words)}
    names |= {'make unit T=' + t for t in re.findall(r'make unit T=(\w+)', words)}
for link in re.findall(r'\]\(([^)#:]+)\)', text):
    names.add(os.path.normpath(os.path.join(os.path.relpath(os.path.dirname(os.path.abspath(page)), top), link)))


def there(name):
    if name.startswith('make unit T='):
        return os.path.exists(os.path.join(top, 'test/unit', name.split('=')[1] + '_test.c'))
    if name.startswith('make '):
        return name.split()[1] in targets
    return os.path.exists(os.path.join(top, name))


for name in sorted(names):
    if not there(name):
        print('not there:', name)
print(len(names), 'names')
