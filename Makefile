# make            build/sonde
# make check      installs what is missing, builds, runs every test
# make demo       installs what is missing, builds, profiles a small workload, draws its flame graph
CC ?= gcc
# make CROSS_COMPILE=aarch64-linux-gnu- [static] [SYSROOT=/path] builds in build/arm64; without SYSROOT against Debian's arm64 packages, which
# vm.py keeps in its cache.
ifdef CROSS_COMPILE
ifeq ($(CROSS_COMPILE),aarch64-linux-gnu-)
ifndef SYSROOT
SYSROOT := $(shell test/vm/vm.py --arch arm64 --tree)
endif
export SYSROOT
BUILD ?= build/arm64
endif
CC := $(CROSS_COMPILE)gcc $(SYSROOT:%=--sysroot=%)
AR := $(CROSS_COMPILE)ar
endif
BPF_MACHINE := $(if $(findstring aarch64,$(shell $(CC) -dumpmachine)),-DRT_ARM64)
BPFCC ?= clang
BUILD ?= build
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
VERSION ?= 0.1.0
ALL_CFLAGS = -DSONDE_VERSION='"$(VERSION)"' -std=gnu17 -D_GNU_SOURCE -Isrc -I$(BUILD)/gen -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers $(CFLAGS) $(EXTRA_CFLAGS)
LIBS = -lbpf -ldw -lelf -lz -liberty -llzma -lpthread $(EXTRA_LIBS)

FOLDERS = base lang ctype ir bpf probe run unwind sym out session tool
SRCS := $(wildcard $(FOLDERS:%=src/%/*.c)) src/help.c src/cmdline.c
SRCS := $(wildcard $(SRCS))
OBJS := $(SRCS:src/%.c=$(BUILD)/%.o)
RT_SRCS := $(wildcard src/bpfrt/*.bpf.c)
RT_OBJS := $(RT_SRCS:src/bpfrt/%.bpf.c=$(BUILD)/bpfrt/%.bpf.o)

all: $(BUILD)/sonde

# Everything but main.c, for the tests.
$(BUILD)/libsonde.a: $(OBJS)
	@rm -f $@
	$(AR) rcs $@ $(OBJS)

$(BUILD)/sonde: $(BUILD)/main.o $(BUILD)/libsonde.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

# Tool scripts become C string literals: one quoted line a line.
$(BUILD)/gen/tool/%.bt.inc: src/tool/%.bt
	@mkdir -p $(@D)
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@
$(patsubst src/%.c,$(BUILD)/%.o,$(wildcard src/tool/*.c)): | $(patsubst src/tool/%.bt,$(BUILD)/gen/tool/%.bt.inc,$(wildcard src/tool/*.bt))

$(BUILD)/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/bpfrt/%.bpf.o: src/bpfrt/%.bpf.c
	@mkdir -p $(@D)
	$(BPFCC) -target bpf $(BPF_MACHINE) -mcpu=v3 -O2 -g -Isrc -Wall -MMD -MP -c -o $@ $<

# ---- the runtime's tables, for src/bpf/link.c
HOSTCC ?= cc
$(BUILD)/mkrt: tools/mkrt.c
	@mkdir -p $(@D)
	$(HOSTCC) -std=gnu17 -O1 -g -Wall -Wextra -o $@ $<
$(BUILD)/gen/rt_tab.h: $(BUILD)/mkrt $(RT_OBJS)
	@mkdir -p $(@D)
	$(BUILD)/mkrt $(RT_OBJS) >$@
$(BUILD)/bpf/link.o: $(BUILD)/gen/rt_tab.h

# ---- src/ctype/macros.list: names -> "#ifdef NAME, M(NAME), #endif"
$(BUILD)/gen/ctype_macros.inc: src/ctype/macros.list
	@mkdir -p $(@D)
	awk '!/^#/ {for (i = 1; i <= NF; i++) print "#ifdef " $$i "\nM(" $$i ")\n#endif"}' $< >$@
$(BUILD)/ctype/macros.o: $(BUILD)/gen/ctype_macros.inc

# ---- text files as C strings
$(BUILD)/gen/%.h: src/%
	@mkdir -p $(@D)
	sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $< > $@
$(BUILD)/out/flame.o: $(BUILD)/gen/out/flame.js.h $(BUILD)/gen/out/flame.css.h

# ---- unit tests: test/unit/NAME_test.c -> build/test/NAME_test
UNIT_SRCS := $(wildcard test/unit/*_test.c)
UNIT_BINS := $(UNIT_SRCS:test/unit/%.c=$(BUILD)/test/%)
$(BUILD)/test/%_test: test/unit/%_test.c $(wildcard test/unit/*.h) $(BUILD)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Itest/unit $(LDFLAGS) -o $@ $< $(BUILD)/libsonde.a $(LIBS)
unit: $(if $(T),$(BUILD)/test/$(T)_test,$(UNIT_BINS))
	@for t in $^; do echo "# $$t"; $$t || exit 1; done

# ---- fuzz targets: make fuzz F=NAME [SECS=60] runs test/fuzz/NAME_fuzz.c from test/fuzz/corpus/NAME; what it finds stays in build/fuzz/
SECS ?= 60
$(BUILD)/%_fuzz: test/fuzz/%_fuzz.c $(BUILD)/libsonde.a
	$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -Itest/unit -Itest/fuzz $(LDFLAGS) -o $@ $< $(BUILD)/libsonde.a $(LIBS)
fuzz:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz CC=$(BPFCC) CFLAGS="-O1 -g -fsanitize=fuzzer-no-link,address,undefined" $(BUILD)/fuzz/$(F)_fuzz
	@mkdir -p $(BUILD)/fuzz/found/$(F)
	$(BUILD)/fuzz/$(F)_fuzz -max_total_time=$(SECS) -timeout=10 -artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/found/$(F) $(wildcard test/fuzz/corpus/$(F))

# ---- benchmarks of single parts: bench/NAME.c -> build/bench/NAME
$(BUILD)/bench/%: bench/%.c $(BUILD)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libsonde.a $(LIBS)

PROGS = $(patsubst test/progs/%.c,$(BUILD)/%,$(wildcard test/progs/*.c))
$(PROGS): $(BUILD)/%: test/progs/%.c
	@mkdir -p $(@D)
	$(CC) -O2 -g -fomit-frame-pointer $(PROGFLAGS) -o $@ $< -lpthread
$(BUILD)/watch: PROGFLAGS = -no-pie
ifneq ($(BPF_MACHINE),)
$(BUILD)/frames: PROGFLAGS = -mbranch-protection=pac-ret+leaf
endif

# ---- other targets
# One file without shared libraries. Debian's static libdw wants bzip2, its debuginfod client only dlopens.
static:
	@scripts/deps.sh static
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/static LDFLAGS="$(LDFLAGS) -static" EXTRA_LIBS="$(STATIC_LIBS)" $(BUILD)/static/sonde
STATIC_LIBS ?= -lbz2
# For the guest of test/vm: a static sonde; the programs that it traces are linked as programs usually are.
arm64:
	@scripts/deps.sh vm
	@$(MAKE) --no-print-directory CROSS_COMPILE=aarch64-linux-gnu- BUILD=$(BUILD)/arm64 LDFLAGS="$(LDFLAGS) -static" EXTRA_LIBS="$(STATIC_LIBS)" \
		$(BUILD)/arm64/sonde $(PROGS:$(BUILD)/%=$(BUILD)/arm64/%)

# ---- the two commands
demo:
	@scripts/deps.sh build
	@$(MAKE) --no-print-directory -j2 $(BUILD)/sonde $(BUILD)/workload
	@scripts/demo.sh $(BUILD)

check:
	@scripts/deps.sh test
	@$(MAKE) --no-print-directory -j2 $(BUILD)/sonde $(PROGS) $(UNIT_BINS)
	@$(MAKE) --no-print-directory -j2 checked-builds
	@scripts/deps.sh vm && $(MAKE) --no-print-directory -j2 arm64 || echo 'guests may be skipped'
	@test/run.py --build $(BUILD)

# All tests in all guests; takes as long as emulation does.
check-vm: $(BUILD)/sonde $(PROGS)
	@$(MAKE) --no-print-directory -j2 arm64
	@SONDE_VM_FULL=1 test/run.py --build $(BUILD) --suite vm

# What the suites asan and fuzz run.
ASAN_TESTS = base type parse expand format out profile cdecl ehframe symfile usdt bpf run
FUZZERS = $(patsubst test/fuzz/%.c,%,$(wildcard test/fuzz/*_fuzz.c))
checked-builds:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-asan CFLAGS="-O1 -g1 -fsanitize=address,undefined" \
		LDFLAGS="-fsanitize=address,undefined" $(BUILD)-asan/sonde $(foreach t,$(ASAN_TESTS),$(if $(wildcard test/unit/$(t)_test.c),$(BUILD)-asan/test/$(t)_test))
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz CC=$(BPFCC) CFLAGS="-O1 -g1 -fsanitize=fuzzer-no-link,address,undefined" \
		$(FUZZERS:%=$(BUILD)/fuzz/%)

install: $(BUILD)/sonde
	install -D -m755 $(BUILD)/sonde $(DESTDIR)$(PREFIX)/sbin/sonde
	for t in profile offcputime offwaketime wakeuptime stackcount; do ln -sf sonde $(DESTDIR)$(PREFIX)/sbin/sonde-$$t; done
	install -D -m644 completions/sonde.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/sonde
	for t in profile offcputime offwaketime wakeuptime stackcount; do ln -sf sonde $(DESTDIR)$(PREFIX)/share/bash-completion/completions/sonde-$$t; done
	for m in man/*.[0-9]; do install -D -m644 $$m $(DESTDIR)$(PREFIX)/share/man/man$${m##*.}/$$(basename $$m); done

clean:
	rm -rf $(BUILD)

-include $(OBJS:.o=.d) $(RT_OBJS:.o=.d) $(BUILD)/main.d
.PHONY: all demo check check-vm checked-builds install clean unit fuzz static arm64
.DELETE_ON_ERROR:
