#!/usr/bin/env python3
"""Builds the module sondeline.c for a guest's kernel, with debug information.

usage: kmod.py [--release NAME] BUILD     (the guests' releases: vm.py)

In: the kernel's package in vm.py's cache; linux-headers of the same version, fetched through apt into that cache (15 MB). Out: BUILD/kmod-VERSION/sondeline.ko, whose path is
printed; status 77 and a reason where there is no compiler, no package, or the module does not build.
"""
import argparse, glob, os, re, shutil, subprocess, sys, tempfile
import vm

HERE = os.path.dirname(os.path.abspath(__file__))


def headers(version, release):
    """The unpacked tree of linux-headers-VERSION and what it needs."""
    top = os.path.join(vm.CACHE, 'amd64%s-headers-%s' % ('-' + release if release else '', version))
    with vm.cache_lock():
        if os.path.isdir(top):
            return top
        opts, name = vm.apt_options('amd64', release), 'linux-headers-' + version
        needs = re.findall(r'Depends: (linux-(?:headers|kbuild|compiler)-\S+)', vm.sh(['apt-cache'] + opts + ['depends', name]).stdout)
        with tempfile.TemporaryDirectory() as tmp:
            r = vm.sh(['apt-get'] + opts + ['download', name] + needs, cwd=tmp, timeout=300)
            debs = glob.glob(tmp + '/*.deb')
            if r.returncode or not debs:
                raise vm.Missing('apt-get download %s: %s' % (name, r.stdout.strip().split('\n')[-1]))
            vm.unpack(debs, top)
    return top


def build(folder, release=None):
    """The module's path; Missing says why there is none."""
    for tool in ('make', 'gcc', 'apt-get'):
        if not shutil.which(tool):
            raise vm.Missing('no ' + tool)
    version = os.path.basename(vm.fetch_kernel('amd64', release)[1])
    out = os.path.join(os.path.abspath(folder), 'kmod-' + version)
    ko, source = os.path.join(out, 'sondeline.ko'), os.path.join(HERE, 'sondeline.c')
    if os.path.exists(ko) and os.path.getmtime(ko) >= os.path.getmtime(source):
        return ko
    src = os.path.join(headers(version, release), 'usr/src')
    tree = os.path.join(src, 'linux-headers-' + version)
    with open(tree + '/Makefile') as f:
        include = re.sub('(?<=[ =])/usr/src/', src + '/', f.read())
    with open(tree + '/Makefile', 'w') as f:  # it includes the common one by its place on an installed system
        f.write(include)
    os.makedirs(out, exist_ok=True)
    shutil.copy(source, out)
    with open(out + '/Makefile', 'w') as f:
        f.write('obj-m := sondeline.o\nccflags-y := -g\n')
    r = vm.sh(['make', '-C', tree, 'M=' + out, 'CC=gcc', 'CONFIG_DEBUG_INFO_BTF_MODULES=', 'modules'], timeout=300)  # no pahole(1) needed
    if r.returncode or not os.path.exists(ko):
        raise vm.Missing('sondeline.ko: ' + r.stdout.strip()[-300:])
    return ko


def main():
    p = argparse.ArgumentParser(usage=__doc__.split('\n\n')[1])
    p.add_argument('--release')
    p.add_argument('build')
    o = p.parse_args()
    try:
        print(build(o.build, o.release))
    except (vm.Missing, OSError, subprocess.SubprocessError) as e:
        print('kmod.py: %s' % e, file=sys.stderr)
        sys.exit(77)


if __name__ == '__main__':
    main()
