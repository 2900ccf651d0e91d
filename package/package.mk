# Installing and packaging: install, uninstall, static, tarball, deb, release (all of these), and what shows that they are right (check-package).
# In: build/sonde, man/, completions/, tools/, docs/. Out: files under DESTDIR and PREFIX, or in build/release with SHA256SUMS.
# Two releases of one commit are the same bytes, in whatever folder they are made (package/reproducible).
PREFIX ?= /usr/local
TOOLS = profile offcputime offwaketime wakeuptime stackcount
RELEASE = $(BUILD)/release
version = $(shell package/version)
OBJCOPY_STRIP = $(CROSS_COMPILE)strip --strip-all --remove-section=.comment

# What is installed, each as "FOLDER/NAME FILE": the one list for install and uninstall. Links: "FOLDER/NAME = TARGET".
bash = share/bash-completion/completions
ZSH_FOLDER ?= site-functions# of zsh below PREFIX; Debian's packages have vendor-completions
INSTALLED = $(foreach m,$(sort $(wildcard man/*.[1-9])),share/man/man$(subst .,,$(suffix $m))/$(notdir $m):$m) \
	$(foreach f,$(sort $(wildcard tools/*.bt)),share/sonde/tools/$(notdir $f):$f) \
	$(foreach f,README.md CHANGELOG.md LICENSE $(sort $(wildcard docs/*.md docs/*.svg deploy/*)),share/doc/sonde/$f:$f) \
	$(bash)/sonde:completions/sonde.bash share/zsh/$(ZSH_FOLDER)/_sonde:completions/_sonde share/fish/vendor_completions.d/sonde.fish:completions/sonde.fish
LINKED = $(foreach t,$(TOOLS),bin/sonde-$t:sonde $(bash)/sonde-$t:sonde share/fish/vendor_completions.d/sonde-$t.fish:sonde.fish)
to = $(DESTDIR)$(PREFIX)

# Pages that are made from tables. They are kept, since a cross build cannot run what it builds; test/run/package.t tells when they are not up to date.
man: $(BUILD)/sonde
	$(Q)package/manpages $(BUILD)/sonde man >/dev/null

install: $(BUILD)/sonde
	$(call say,INSTALL,$(to))
	$(Q)install -D -m755 $(BUILD)/sonde $(to)/bin/sonde && $(OBJCOPY_STRIP) $(to)/bin/sonde
	$(Q)set -e; for i in $(INSTALLED); do install -D -m644 $${i#*:} $(to)/$${i%%:*}; done; \
		for i in $(LINKED); do ln -sfn $${i#*:} $(to)/$${i%%:*}; done

# Folders are left that were there before or hold something else.
uninstall:
	$(call say,REMOVE,$(to))
	$(Q)for i in bin/sonde $(INSTALLED) $(LINKED); do rm -f $(to)/$${i%%:*}; done
	$(Q)for d in share/sonde/tools share/sonde share/doc/sonde/docs share/doc/sonde/deploy share/doc/sonde; do [ ! -d $(to)/$$d ] || rmdir --ignore-fail-on-non-empty $(to)/$$d; done

# One file without shared libraries, compiled for size. Debian's static libdw wants bzip2, its debuginfod client only dlopens.
STATIC_LIBS ?= $(if $(SONDE_MIN),,-lbz2)
static:
	@$(if $(CROSS_COMPILE),,scripts/deps.sh static)
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/static STATIC=1 CFLAGS="-Os -g" EXTRA_LIBS="$(STATIC_LIBS)" $(BUILD)/static/sonde
	$(Q)$(OBJCOPY_STRIP) -o $(BUILD)/static/sonde-$(call arch,$(MACHINE)) $(BUILD)/static/sonde
# The same with a libcurl of its own, so that its agent sends without any library: for images FROM scratch. With the certificates of this machine beside it.
STATIC_CURL ?= $(BUILD)/curl
CURL_LIBS ?= -lmbedtls -lmbedx509 -lmbedcrypto -lcares
CERTIFICATES ?= /etc/ssl/certs/ca-certificates.crt
static-agent:
	@scripts/deps.sh static-agent
	$(call say,CURL,$(STATIC_CURL))
	$(Q)package/static-curl $(STATIC_CURL)
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/static-agent STATIC=1 CURL=$(STATIC_CURL) CFLAGS="-Os -g" \
		EXTRA_CFLAGS="-isystem $(STATIC_CURL)/include -DSONDE_CURL_LINKED -DCURL_STATICLIB" EXTRA_LIBS="-L$(STATIC_CURL)/lib -lcurl $(CURL_LIBS) $(STATIC_LIBS)" $(BUILD)/static-agent/sonde
	$(Q)$(OBJCOPY_STRIP) -o $(BUILD)/static-agent/sonde-agent-$(call arch,$(MACHINE)) $(BUILD)/static-agent/sonde
	$(Q)cp $(CERTIFICATES) $(BUILD)/static-agent/
arch = $(patsubst x86_64,amd64,$(patsubst aarch64,arm64,$(firstword $(subst -, ,$1))))

# A small one (SONDE_MIN) on musl, at a fixed address: musl-gcc has no -static-pie. Its libraries are built once, from Debian's sources.
MUSL ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sonde-musl
musl:
	@scripts/deps.sh musl
	@package/musl $(MUSL)
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/musl CC=musl-gcc SONDE_MIN=1 STATIC=1 EXTRA_CFLAGS="-isystem $(MUSL)/include -isystem $(MUSL)/kernel" LDFLAGS="-L$(MUSL)/lib -static" $(BUILD)/musl/sonde
	$(Q)$(OBJCOPY_STRIP) -o $(BUILD)/musl/sonde-$(call arch,$(MACHINE)) $(BUILD)/musl/sonde

# Into build/release; SHA256SUMS names all that lies there.
sums = cd $(RELEASE) && rm -f SHA256SUMS && sha256sum * >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS
tarball:
	@rm -rf $(RELEASE) && mkdir -p $(RELEASE)
	$(call say,TAR,$(RELEASE)/sonde-$(version).tar.gz)
	$(Q)package/tarball $(RELEASE)
	$(Q)$(sums)
deb: tarball
	$(call say,DEB,$(RELEASE))
	$(Q)package/deb $(RELEASE)/sonde-$(version).tar.gz $(RELEASE) >$(BUILD)/deb.log 2>&1 || { cat $(BUILD)/deb.log >&2; exit 1; }
	$(Q)$(sums)
release: deb static
	@$(MAKE) --no-print-directory CROSS_COMPILE=aarch64-linux-gnu- static
	$(Q)for f in $(BUILD)/static/sonde-* $(BUILD)/arm64/static/sonde-*; do cp $$f $(RELEASE)/sonde-$(version)-$${f##*/sonde-}; done
	$(Q)$(sums)
	@cat $(RELEASE)/SHA256SUMS

# Minutes each, so they are no part of `make test`. Sizes, also against what README says; hardening of the static programs; package and program made twice; the package in
# bare systems of two Debian releases, the program in an empty folder; a build by clang; checksums. SUITES: the releases of Debian and Ubuntu to try.
SUITES ?= bookworm noble sid
native = $(BUILD)/static/sonde-$(call arch,$(MACHINE))
at_most = size=$$(stat -c %s $1); echo "$1: $$size bytes, at most $2"; [ $$size -le $2 ]
goal = size=$$(stat -c %s $1); [ $$size -le $2 ] || echo "$1: $$((size - $2)) bytes more than they should be ($2)"
hardened = test/run/hardened.py $1/sonde $1/libsonde.a | awk '!/: yes$$/ { print "$1: " $$0; bad = 1 } END { exit bad || NR < 7 }'
runs = [ "$$($1 -q -e 'BEGIN { printf("%d\n", 6 * 7); exit(); }')" = 42 ] || { echo "$1 does not run" >&2; exit 1; }
check-package: check-source check-deb check-static check-static-agent check-static-arm64 check-musl check-compilers
	@package/reproducible $(RELEASE)/sonde-$(version).tar.gz $(RELEASE)/sonde_*_$(call arch,$(MACHINE)).deb $(native)

check-deb: deb
	@cd $(RELEASE) && sha256sum --quiet -c SHA256SUMS && echo "checksums of $$(wc -l <SHA256SUMS) files"
	@for s in $(SUITES); do package/try-deb $$s $(RELEASE) || exit 1; done

# The same systems with nothing but the source and README.
check-source: tarball
	@for s in $(SUITES); do package/try-source $$s $(RELEASE)/sonde-$(version).tar.gz || exit 1; done

check-static: static
	@$(MAKE) --no-print-directory SONDE_MIN=1 BUILD=$(BUILD)/min $(BUILD)/min/sonde
	@$(OBJCOPY_STRIP) -o $(BUILD)/min/sonde-small $(BUILD)/min/sonde
	@$(call at_most,$(native),$$(sed -n 's/.*runs without libraries (\([0-9]\)\.\([0-9]\) MB).*/\1\299999/p' README.md))
	@$(call at_most,$(BUILD)/min/sonde-small,1500000)
	@$(call goal,$(native),4000000)
	@$(call hardened,$(BUILD)/static)
	@$(call runs,$(BUILD)/min/sonde-small)
	@package/try-static $(native)

# What it sends, plain and by TLS, as the tests judge it that judge the other one.
agent = $(BUILD)/static-agent
check-static-agent: static-agent
	@$(call goal,$(agent)/sonde-agent-$(call arch,$(MACHINE)),5000000)
	@$(call hardened,$(agent))
	@package/try-static $(agent)/sonde-agent-$(call arch,$(MACHINE))
	@$(MAKE) --no-print-directory BUILD=$(agent) $(agent)/waits
	@test/run.py --build $(agent) --suite run --must-run --filter 'agent: OpenTelemetry*|agent: Pyroscope*|agent: TLS*'

# It runs in the guests (test/vm); here its size and its hardening are seen.
check-static-arm64:
	@scripts/deps.sh vm
	@$(MAKE) --no-print-directory CROSS_COMPILE=aarch64-linux-gnu- BUILD=$(BUILD)/arm64 static
	@$(call goal,$(BUILD)/arm64/static/sonde-arm64,4000000)
	@$(call hardened,$(BUILD)/arm64/static)

check-musl: musl
	@$(call at_most,$(BUILD)/musl/sonde-$(call arch,$(MACHINE)),2000000)
	@package/try-static $(BUILD)/musl/sonde-$(call arch,$(MACHINE))

check-compilers:
	@$(MAKE) --no-print-directory CC=clang BUILD=$(BUILD)/clang EXTRA_CFLAGS=-Werror $(BUILD)/clang/sonde
	@$(call runs,$(BUILD)/clang/sonde)
	@$(call hardened,$(BUILD)/clang)

.PHONY: man install uninstall static static-agent musl tarball deb release check-package check-source check-deb check-static check-static-agent check-static-arm64 check-musl check-compilers
