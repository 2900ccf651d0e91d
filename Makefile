# make            build/sonde
# make test       builds, runs the tests that need nothing else (minutes)
# make check      installs what is missing, builds, runs every test on this kernel and some in another
# make check-all  and in every other kernel there is
# make demo       installs what is missing, builds, profiles a small workload, draws its flame graph
# make install    PREFIX=/usr/local, DESTDIR=; uninstall. static, tarball, deb, release: package/package.mk
CC ?= gcc
comma := ,
# make CROSS_COMPILE=aarch64-linux-gnu- [static] [SYSROOT=/path] builds in build/arm64 (riscv64-linux-gnu-: build/riscv64); without SYSROOT against Debian's packages of
# that machine, which vm.py keeps in its cache. SONDE_MIN=1: a small program without libdw, for boards. STATIC=1: without shared libraries.
ifdef CROSS_COMPILE
CROSS_ARCH = $(if $(filter aarch64-%,$(CROSS_COMPILE)),arm64,$(if $(filter riscv64-%,$(CROSS_COMPILE)),riscv64))
ifneq ($(CROSS_ARCH),)
ifndef SYSROOT
SYSROOT := $(shell test/vm/vm.py --arch $(CROSS_ARCH) --tree)
endif
export SYSROOT
BUILD ?= build/$(CROSS_ARCH)
endif
# The C library is the tree's, and not that of the cross compiler, which may be older than what else is there.
CC := $(CROSS_COMPILE)gcc $(SYSROOT:%=--sysroot=%)$(if $(filter riscv64,$(CROSS_ARCH)),$(SYSROOT:%= -B%/usr/lib/riscv64-linux-gnu/))
AR := $(CROSS_COMPILE)ar
endif
BPFCC ?= clang
BUILD ?= $(if $(SONDE_MIN),build/min,build)
# Written as one name however it was given: it is in the flags, and what was built with others is built anew.
override BUILD := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))
CFLAGS ?= $(if $(SONDE_MIN),-Os,-O2) -g
# No path of this machine is in what is built, so it is the same bytes wherever that happens.
PATHS = -ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(BUILD)=build
# What protects a program that reads hostile files as root (docs/security.md). test/run/package.t shows that it is in the result.
MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
BPF_MACHINE := $(if $(findstring aarch64,$(MACHINE)),-DRT_ARM64)$(if $(findstring riscv64,$(MACHINE)),-DRT_RISCV64)
HARDEN_x86_64 = -fcf-protection -fstack-clash-protection
HARDEN_aarch64 = -mbranch-protection=standard
FORTIFY = $(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),$(if $(findstring -fsanitize,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3))
HARDEN_CFLAGS = -fPIE -fstack-protector-strong $(HARDEN_$(firstword $(subst -, ,$(MACHINE)))) $(FORTIFY)
# Relocations in their short form (DT_RELR), 220 KB less: what reads them is glibc from 2.36 on, which a program linked with it brings or asks for.
RELR := $(if $(and $(STATIC)$(SONDE_MIN),$(findstring x86_64,$(MACHINE))),$(if $(findstring yes,$(shell \
	printf '\043include <features.h>\n\043if __GLIBC_PREREQ(2, 36)\nyes\n\043endif\n' | $(CC) -E -P - 2>/dev/null)),-Wl$(comma)-z$(comma)pack-relative-relocs))
# Small programs have no unwind information of their own code (190 KB), nor of what is linked into it (8 KB): nothing in it unwinds, and they are stripped.
SLIM_CFLAGS = $(if $(STATIC)$(SONDE_MIN),-fno-asynchronous-unwind-tables -fno-unwind-tables)
# A small program is optimised as one, when it is linked: 30 KB less. gcc's archives of such objects are made by its own ar.
WHOLE := $(if $(SONDE_MIN),$(if $(findstring Free Software,$(shell $(CC) --version 2>/dev/null)),-flto=auto))
SLIM_LDFLAGS = $(if $(WHOLE),$(WHOLE) -ffunction-sections -fdata-sections $(HARDEN_CFLAGS) $(SLIM_CFLAGS) $(CFLAGS)) $(if $(STATIC),,$(if $(SONDE_MIN),-Wl$(comma)-T$(comma)package/slim.ld))
HARDEN_LDFLAGS = $(if $(STATIC),-static-pie,-pie) -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -Isrc -I$(BUILD)/gen -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers \
	-ffunction-sections -fdata-sections $(PATHS) $(if $(CURSES),-DSONDE_CURSES) $(if $(SONDE_MIN),-DRT_PACKED) $(HARDEN_CFLAGS) $(SLIM_CFLAGS) $(WHOLE) $(CFLAGS) $(EXTRA_CFLAGS)
ALL_LDFLAGS = -Wl,--gc-sections $(if $(STATIC),-Wl$(comma)-z$(comma)muldefs) $(RELR) $(HARDEN_LDFLAGS) $(SLIM_LDFLAGS) $(LDFLAGS)
# The live view. From its archives: a program that does not draw would load two libraries for nothing. With neither `sonde top` prints text.
has_lib = $(findstring /,$(shell $(CC) -print-file-name=$1))
CURSES := $(if $(SONDE_MIN),,$(if $(and $(call has_lib,libncursesw.a),$(call has_lib,libtinfo.a)),-l:libncursesw.a -l:libtinfo.a,$(if \
	$(and $(call has_lib,libncursesw.so),$(call has_lib,libtinfo.so),$(if $(STATIC),,y)),-lncursesw -ltinfo)))
LIBS = -lbpf $(if $(SONDE_MIN),,-ldw) -lelf -lz -liberty -llzma -lpthread -lm $(CURSES) $(EXTRA_LIBS)

# One short line a file, so that a warning is seen; V=1 shows the commands, make -s nothing.
Q := $(if $(V),,@)
SILENT := $(if $(V),1,$(findstring s,$(filter-out --%,$(firstword x$(MAKEFLAGS)))))
say = $(if $(SILENT),,@printf '  %-7s %s%s\n' '$1' '$2' '$(if $(filter-out build,$(BUILD)), ($(BUILD)))')

FOLDERS = base elf arch type ir ctype lang lower bpf probe run unwind runtime track stack sym out input session tool agent
SRCS := $(sort $(wildcard $(FOLDERS:%=src/%/*.c)) src/help.c src/cmdline.c src/complete.c)
# libcurl is opened by who sends (src/agent/send.c); a static program opens nothing.
CURL := $(if $(STATIC)$(SONDE_MIN),,$(wildcard $(SYSROOT)/usr/include/curl/curl.h $(SYSROOT)/usr/include/*/curl/curl.h))
SRCS := $(filter-out src/agent/$(if $(CURL),no)send.c,$(SRCS))
NO_DWARF = src/ctype/nodwarf.c src/sym/nodwarf.c $(if $(CURL),src/agent/nosend.c)
DWARF = src/ctype/dwarf.c src/ctype/dwarftype.c src/ctype/dwp.c src/sym/dwarf.c src/sym/relocate.c
SRCS := $(filter-out $(if $(SONDE_MIN),$(DWARF),src/ctype/nodwarf.c src/sym/nodwarf.c),$(SRCS))
OBJS := $(SRCS:src/%.c=$(BUILD)/%.o)
RT_SRCS := $(sort $(wildcard src/bpfrt/*.bpf.c))
RT_OBJS := $(RT_SRCS:src/bpfrt/%.bpf.c=$(BUILD)/bpfrt/%.bpf.o)

all: $(BUILD)/sonde

# What is missing is told by its name, before the first error about it. A cross build has headers of its own.
$(BUILD)/gen/.checked:
	@mkdir -p $(@D)
	@$(if $(CROSS_COMPILE),,CC="$(CC)" BPFCC="$(BPFCC)" CFLAGS="$(EXTRA_CFLAGS)" SONDE_MIN="$(SONDE_MIN)" scripts/deps.sh check)
	@touch $@
$(OBJS) $(RT_OBJS) $(BUILD)/main.o: | $(BUILD)/gen/.checked

# Written only when it differs: what depends on it is built anew after a change of flags or of the version.
changed = @mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$1)' >$@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(BUILD)/gen/flags: FORCE
	$(call changed,$(CC) $(ALL_CFLAGS))
$(OBJS) $(NO_DWARF:src/%.c=$(BUILD)/%.o) $(BUILD)/main.o $(BUILD)/slim.o: $(BUILD)/gen/flags

# Everything but main.c, for the tests. What takes the place of DWARF in a small build is compiled with every other, so that it does not rot.
$(BUILD)/libsonde.a: $(OBJS) | $(if $(SONDE_MIN),,$(NO_DWARF:src/%.c=$(BUILD)/%.o) $(BUILD)/slim.o)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(if $(WHOLE),$(patsubst %ar,%gcc-ar,$(AR)),$(AR)) rcsD $@ $(OBJS)

# Before the archives, so that these need not be asked for what it has.
SLIM = $(if $(STATIC),$(if $(SONDE_MIN),,$(BUILD)/slim.o))
$(BUILD)/sonde: $(BUILD)/main.o $(SLIM) $(BUILD)/libsonde.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# Scripts to import become C string literals: one quoted line a line. In a small program lines with only a comment are empty. Those of tools are packed (below).
$(BUILD)/gen/%.bt.inc: src/%.bt
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)sed $(if $(SONDE_MIN),-e 's$(comma)^[[:blank:]]*//.*$(comma)$(comma)') -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@
$(patsubst src/%.c,$(BUILD)/%.o,$(wildcard src/tool/*.c)): | $(patsubst src/%,$(BUILD)/gen/%.gz.h,$(wildcard src/tool/*.bt))
$(BUILD)/lang/import.o: | $(patsubst src/%.bt,$(BUILD)/gen/%.bt.inc,$(wildcard src/lang/*.bt))

$(BUILD)/%.o: src/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/slim.o: package/slim.c | $(BUILD)/gen/.checked
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/bpfrt/%.bpf.o: src/bpfrt/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$<)
	$(Q)$(BPFCC) -target bpf $(BPF_MACHINE) -mcpu=v3 -O2 -g $(PATHS) -Isrc -Wall -MMD -MP -c -o $@ $<

# ---- the runtime's tables, for src/bpf/rttab.c
bytes = od -An -v -tu1 | sed 's/[0-9][0-9]*/&,/g'
HOSTCC ?= cc
$(BUILD)/mkrt: tools/mkrt.c
	@mkdir -p $(@D)
	$(call say,HOSTCC,$<)
	$(Q)$(HOSTCC) -std=gnu17 -O1 -g -Wall -Wextra -o $@ $<
$(BUILD)/gen/rt_tab.h: $(BUILD)/mkrt $(RT_OBJS)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)$(BUILD)/mkrt $(BUILD)/gen/rt_insns $(BUILD)/gen/rt_lines $(RT_OBJS) >$@
# Written together with rt_insns and rt_lines: of a file that another one's recipe writes make may know the time from before.
$(BUILD)/gen/rt_%.h: $(BUILD)/gen/rt_tab.h
	$(Q)cat $(BUILD)/gen/rt_$* | $(bytes) >$@
$(BUILD)/gen/rt_%.xz.h: $(BUILD)/gen/rt_tab.h
	$(Q)xz --check=none --lzma2=preset=9e,lc=0,lp=3,pb=3 <$(BUILD)/gen/rt_$* | $(bytes) >$@ # what is alike recurs after 8 bytes
$(BUILD)/gen/rt_%.gz.h: $(BUILD)/gen/rt_tab.h
	$(Q)gzip -9n <$(BUILD)/gen/rt_$* | $(bytes) >$@
$(BUILD)/bpf/rttab.o: $(BUILD)/gen/rt_tab.h $(BUILD)/gen/rt_insns$(if $(SONDE_MIN),.xz).h $(BUILD)/gen/rt_lines.gz.h

# ---- the version
$(BUILD)/gen/version.h: FORCE
	$(call changed,#define SONDE_VERSION "$(shell package/version)")
$(BUILD)/bpf/info.o $(BUILD)/cmdline.o: $(BUILD)/gen/version.h

# ---- src/ctype/macros.list: names -> "#ifdef NAME, M(NAME), #else, NONE, #endif", and a name a line, packed
$(BUILD)/gen/ctype_consts.inc: src/ctype/macros.list
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)awk '!/^#/ {for (i = 1; i <= NF; i++) print "#ifdef " $$i "\nM(" $$i ")\n#else\nNONE\n#endif"}' $< >$@
$(BUILD)/gen/ctype_consts.gz.h: src/ctype/macros.list
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)awk '!/^#/ {for (i = 1; i <= NF; i++) print $$i}' $< | gzip -9n | $(bytes) >$@
$(BUILD)/ctype/macros.o: $(BUILD)/gen/ctype_consts.inc $(BUILD)/gen/ctype_consts.gz.h

# ---- text files as C strings
$(BUILD)/gen/%.h: src/%
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $< > $@
$(BUILD)/out/flame.o: $(BUILD)/gen/out/flame.js.gz.h $(BUILD)/gen/out/flame.css.h
# ... packed: bytes of a gzip file
$(BUILD)/gen/%.gz.h: src/%
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)gzip -9n <$< | $(bytes) >$@
$(BUILD)/out/page.o: $(patsubst src/%,$(BUILD)/gen/%.gz.h,$(wildcard src/out/page*.js) src/out/page.css src/out/page.html)

# ---- unit tests: test/unit/NAME_test.c -> build/test/NAME_test
UNIT_SRCS := $(wildcard test/unit/*_test.c)
UNIT_BINS := $(UNIT_SRCS:test/unit/%.c=$(BUILD)/test/%)
$(BUILD)/test/%_test: test/unit/%_test.c $(wildcard test/unit/*.h) $(BUILD)/libsonde.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -Itest/unit $(ALL_LDFLAGS) -o $@ $< $(BUILD)/libsonde.a $(LIBS)
unit: $(if $(T),$(BUILD)/test/$(T)_test,$(UNIT_BINS))
	@for t in $^; do echo "# $$t"; $$t || exit 1; done

# ---- sanitizers: one build for the suites asan and fuzz. (clang: what its fuzzer wants counted other programs linked with its sanitizers count, too.)
CHECKED = $(BUILD)-asan
CHECKS = -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=nonnull-attribute# no bytes from nowhere, memcpy(p, NULL, 0): next C allows them (WG14 N3322)
MAKE_CHECKED = $(MAKE) --no-print-directory BUILD=$(CHECKED) CC=$(BPFCC) CFLAGS="-O1 -g1 $(strip $(CHECKS))" \
	LDFLAGS="$(strip $(CHECKS))"

# ---- fuzz targets: make fuzz F=NAME [SECS=60] runs test/fuzz/NAME_fuzz.c from test/fuzz/corpus/NAME; what it finds stays in build/fuzz/
SECS ?= 60
$(BUILD)/%_fuzz: test/fuzz/%_fuzz.c $(BUILD)/libsonde.a
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -Itest/unit -Itest/fuzz $(ALL_LDFLAGS) -o $@ $< $(BUILD)/libsonde.a $(LIBS)
fuzz:
	+@$(MAKE_CHECKED) $(CHECKED)/$(F)_fuzz
	@mkdir -p $(BUILD)/fuzz/found/$(F)
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 $(CHECKED)/$(F)_fuzz -max_total_time=$(SECS) -timeout=10 -artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/found/$(F) $(wildcard test/fuzz/corpus/$(F))

# Generated scripts (test/gen), SECS seconds of those that print and SECS of larger ones that only load; PEER='COMMAND' compares another bpftrace too.
fuzz-long: $(BUILD)/sonde $(BUILD)/values
	test/gen/check.py $(BUILD)/sonde $(BUILD) --seconds $(SECS)
	test/gen/check.py $(BUILD)/sonde $(BUILD) --seconds $(SECS) --load --size 12
	$(if $(PEER),test/gen/check.py $(BUILD)/sonde $(BUILD) --seconds $(SECS) --blocks 4 --size 5 --as-is --peer '$(PEER)')

# VERIFY_SCRIPTS generated scripts of 12 programs each of a fresh seed through the verifiers of the guests' kernels; SEED=N repeats one.
VERIFY_SCRIPTS ?= 84
verify-guests: $(BUILD)/sonde $(BUILD)/values
	@for r in bullseye bookworm backports; do echo "== $$r"; \
		test/vm/vm.py --share $(CURDIR) $$([ $$r = bookworm ] || echo --release $$r) --timeout 7200 -- "uname -r; $(CURDIR)/test/gen/check.py $(CURDIR)/$(BUILD)/sonde $(CURDIR)/$(BUILD) --count $(VERIFY_SCRIPTS) --load --size 9 $(if $(SEED),--seed $(SEED))" || exit 1; done

# ---- benchmarks of single parts: bench/NAME.c -> build/bench/NAME
BENCHES = $(patsubst %.c,$(BUILD)/%,$(wildcard bench/*_bench.c))
$(BUILD)/bench/%: bench/%.c $(BUILD)/libsonde.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(BUILD)/libsonde.a $(LIBS)

PROGS = $(patsubst test/progs/%.c,$(BUILD)/%,$(wildcard test/progs/*.c))
$(PROGS): $(BUILD)/%: test/progs/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -O2 -g -fomit-frame-pointer $(PROGFLAGS) -o $@ $< -lpthread
$(BUILD)/watch: PROGFLAGS = -no-pie
$(BUILD)/bare: PROGFLAGS = -g0 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-schedule-insns2
$(BUILD)/bare: test/workload/bare.c
# Some as 32-bit code, where the compiler makes such programs and the machine runs them. asm/: gcc-multilib has it for -m32, but conflicts with cross compilers.
M32 = -m32 -idirafter /usr/include/x86_64-linux-gnu
PROGS_32 = $(if $(shell printf '\043include <stdio.h>\nint main(void) { return 0; }' | $(CC) $(M32) -x c -o $(BUILD)/can32 - 2>/dev/null && $(BUILD)/can32 && echo yes),$(BUILD)/frames32 $(BUILD)/deep32)
$(BUILD)/frames32 $(BUILD)/deep32: $(BUILD)/%32: test/progs/%.c
	@mkdir -p $(@D)
	$(call say,CC,$< (32 bit))
	$(Q)$(CC) -O2 -g -fomit-frame-pointer $(M32) -o $@ $< -lpthread
# The same program with frame pointers.
PROGS += $(BUILD)/framesfp
$(BUILD)/framesfp: test/progs/frames.c
	@mkdir -p $(@D)
	$(call say,CC,$< (with frame pointers))
	$(Q)$(CC) -O2 -g -fno-omit-frame-pointer $(PROGFLAGS) -o $@ $< -lpthread
# Static probes with arguments.
PROGS += $(BUILD)/usdtargs
$(BUILD)/usdtargs: test/progs/usdt.c
	@mkdir -p $(@D)
	$(call say,CC,$< (with arguments))
	$(Q)$(CC) -O2 -g -fomit-frame-pointer -DARGS -o $@ $<
ifeq ($(BPF_MACHINE),-DRT_ARM64)
$(BUILD)/frames $(BUILD)/framesfp: PROGFLAGS = -mbranch-protection=pac-ret+leaf
endif

# ---- other targets
# For the guest of test/vm: a static sonde; the programs that it traces are linked as programs usually are.
arm64:
	@scripts/deps.sh vm
	@$(MAKE) --no-print-directory CROSS_COMPILE=aarch64-linux-gnu- BUILD=$(BUILD)/arm64 STATIC=1 EXTRA_LIBS="$(STATIC_LIBS)" \
		$(BUILD)/arm64/sonde $(PROGS:$(BUILD)/%=$(BUILD)/arm64/%)

# For that guest, against Debian 13's packages; with shared libraries, which the guest's tree has, too: ld 2.40 (Debian 12) dies at the static link.
riscv64:
	@scripts/deps.sh riscv64
	@$(MAKE) --no-print-directory CROSS_COMPILE=riscv64-linux-gnu- BUILD=$(BUILD)/riscv64 \
		$(BUILD)/riscv64/sonde $(PROGS:$(BUILD)/%=$(BUILD)/riscv64/%)

# ---- the two commands
demo:
	@scripts/deps.sh build
	@$(MAKE) --no-print-directory -j2 $(BUILD)/sonde $(BUILD)/workload
	@scripts/demo.sh $(BUILD)

# Two services with known answers, and the pictures that tell them (as root): into story/
demo-story:
	@scripts/deps.sh build
	@$(MAKE) --no-print-directory -j2 $(BUILD)/sonde $(BUILD)/story
	@scripts/demo-story.sh $(BUILD) story

# The programs that docs/tutorial.md looks at.
lessons: $(addprefix $(BUILD)/,workload waits calls frames cold nest recurse)

# test: what needs a minute or two. check: this kernel, and some of one other; what asan and fuzz run is built with what the tests leave of the processors. check-all: what takes longer, every other kernel too. FLAGS: for test/run.py.
test: test-programs
	@test/run.py --build $(BUILD) --suite layers,unit,run --short $(FLAGS)

check:
	@scripts/deps.sh test
	@$(MAKE) --no-print-directory test-programs
	@scripts/deps.sh vm || echo 'guests may be skipped'
	@SONDE_VM_GUESTS='amd64 6.1' test/run.py --build $(BUILD) --beside '$(MAKE) --no-print-directory BUILD=$(BUILD) -j2 checked-builds' $(FLAGS)

# The blocks of .t files that check leaves out.
check-extra: test-programs
	@test/run.py --build $(BUILD) --suite run --extra $(FLAGS)

check-all: check
	@$(MAKE) --no-print-directory check-extra
	@$(MAKE) --no-print-directory check-package
	@$(MAKE) --no-print-directory check-trust
	@$(MAKE) --no-print-directory check-threads
	@$(MAKE) --no-print-directory check-speed
	@$(MAKE) --no-print-directory check-guests
	@$(MAKE) --no-print-directory check-kernels

# Never in the way: 200 kills at random moments leave nothing, ten tracers at once count right, as do 10,000 processes, 5,000 threads and 100,000 executed programs, minutes of storms with flat memory (TRUST=3600: an hour of them).
TRUST ?= 180
check-trust: test-programs
	@test/workload/kills.py $(BUILD)/sonde $(BUILD) --kills 200 --seconds 900
	@test/workload/crowd.py $(BUILD)/sonde $(BUILD)
	@test/workload/many.py $(BUILD)/sonde $(BUILD)
	@bench/soak --seconds $(TRUST) $(BUILD)

# What sonde takes by what its peers take in the same run, against bench/history.tsv: nothing may be at 1.5 times what was recorded last.
SPEED ?= startup,events,frames,clang,probes,symbols,tables,report,machine
check-speed: $(BUILD)/sonde
	@bench/run --check --only $(SPEED) $(BUILD)

# The threads of sonde under the thread sanitizer, beside programs that come and go.
check-threads: test-programs
	@$(MAKE) --no-print-directory -j2 BUILD=$(BUILD)-tsan CFLAGS="-O1 -g1 -fsanitize=thread -Wno-format-truncation -Wno-tsan" LDFLAGS="-fsanitize=thread" $(BUILD)-tsan/sonde
	@test/workload/races.py $(BUILD)-tsan/sonde $(BUILD)

# The guests that check leaves out.
check-guests: test-programs
	@scripts/deps.sh vm && $(MAKE) --no-print-directory -j2 arm64 || echo 'guests may be skipped'
	@SONDE_VM_GUESTS='arm64 6.1,amd64 6.12,amd64 6.1 stacks,amd64 6.1 tools,amd64 5.10 verifier' test/run.py --build $(BUILD) --suite vm $(FLAGS)

# More kernels, the newest there are among them: those of matrix.py's OTHERS that KERNELS names.
KERNELS ?= amd64 sid,amd64 5.15,amd64 6.8,amd64 experimental,amd64 5.10
check-kernels: test-programs
	@scripts/deps.sh vm || echo 'guests may be skipped'
	@SONDE_VM_GUESTS='$(KERNELS)' test/run.py --build $(BUILD) --suite vm $(FLAGS)

# Where both are asked for, one after the other: two makes would write one archive at once.
test-programs: $(filter $(BUILD)/sonde all,$(MAKECMDGOALS))
	@scripts/deps.sh build
	@$(MAKE) --no-print-directory $(if $(V),,-s) -j2 $(BUILD)/sonde $(PROGS) $(UNIT_BINS) $(BENCHES)
	@$(MAKE) --no-print-directory $(if $(V),,-s) progs32

progs32:
	@$(if $(PROGS_32),$(MAKE) --no-print-directory $(PROGS_32),echo '32-bit programs cannot be built or run here: their tests are skipped')
# All tests in all guests; takes as long as emulation does.
check-vm: test-programs
	@$(MAKE) --no-print-directory -j2 arm64
	@SONDE_VM_FULL=1 test/run.py --build $(BUILD) --suite vm

# What the suites asan and fuzz run.
ASAN_TESTS = base type parse expand format out profile page cdecl ehframe symfile usdt_arg bpf run
FUZZERS = $(patsubst test/fuzz/%.c,%,$(wildcard test/fuzz/*_fuzz.c))
checked-builds:
	+@$(MAKE_CHECKED) $(CHECKED)/sonde $(foreach t,$(ASAN_TESTS),$(if $(wildcard test/unit/$(t)_test.c),$(CHECKED)/test/$(t)_test)) $(FUZZERS:%=$(CHECKED)/%)

include package/package.mk

clean:
	rm -rf $(BUILD)

-include $(OBJS:.o=.d) $(RT_OBJS:.o=.d) $(BUILD)/main.d $(BUILD)/slim.d
.PHONY: riscv64 all demo demo-story lessons test check check-all check-extra check-trust check-threads check-guests check-kernels check-vm test-programs progs32 checked-builds clean unit fuzz fuzz-long verify-guests arm64 FORCE
.DELETE_ON_ERROR:
