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
INSTALLED = $(foreach m,$(sort $(wildcard man/*.[1-9])),share/man/man$(subst .,,$(suffix $m))/$(notdir $m):$m) \
	$(foreach f,$(sort $(wildcard tools/*.bt)),share/sonde/tools/$(notdir $f):$f) \
	$(foreach f,README.md CHANGELOG.md LICENSE $(sort $(wildcard docs/*.md)),share/doc/sonde/$f:$f) \
	$(if $(wildcard completions/sonde.bash),$(bash)/sonde:completions/sonde.bash) \
	$(if $(wildcard completions/_sonde),share/zsh/site-functions/_sonde:completions/_sonde) \
	$(if $(wildcard completions/sonde.fish),share/fish/vendor_completions.d/sonde.fish:completions/sonde.fish)
LINKED = $(foreach t,$(TOOLS),bin/sonde-$t:sonde $(bash)/sonde-$t:sonde \
	$(if $(wildcard man/sonde-$t.*),,share/man/man8/sonde-$t.8:sonde-tools.8))
to = $(DESTDIR)$(PREFIX)

install: $(BUILD)/sonde
	$(call say,INSTALL,$(to))
	$(Q)install -D -m755 $(BUILD)/sonde $(to)/bin/sonde && $(OBJCOPY_STRIP) $(to)/bin/sonde
	$(Q)set -e; for i in $(INSTALLED); do install -D -m644 $${i#*:} $(to)/$${i%%:*}; done; \
		for i in $(LINKED); do ln -sfn $${i#*:} $(to)/$${i%%:*}; done

# Folders are left that were there before or hold something else.
uninstall:
	$(call say,REMOVE,$(to))
	$(Q)for i in bin/sonde $(INSTALLED) $(LINKED); do rm -f $(to)/$${i%%:*}; done
	$(Q)for d in share/sonde/tools share/sonde share/doc/sonde/docs share/doc/sonde; do [ ! -d $(to)/$$d ] || rmdir --ignore-fail-on-non-empty $(to)/$$d; done

# One file without shared libraries, compiled for size: at most 4 MB. Debian's static libdw wants bzip2, its debuginfod client only dlopens.
STATIC_LIBS ?= $(if $(SONDE_MIN),,-lbz2)
static:
	@$(if $(CROSS_COMPILE),,scripts/deps.sh static)
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/static STATIC=1 CFLAGS="-Os -g" EXTRA_LIBS="$(STATIC_LIBS)" $(BUILD)/static/sonde
	$(Q)$(OBJCOPY_STRIP) -o $(BUILD)/static/sonde-$(call arch,$(MACHINE)) $(BUILD)/static/sonde
arch = $(patsubst x86_64,amd64,$(patsubst aarch64,arm64,$(firstword $(subst -, ,$1))))

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

# Minutes each, so they are no part of `make test`: sizes, a release twice in two folders, the package in bare systems of two Debian releases.
at_most = size=$$(stat -c %s $1); echo "$1: $$size bytes, at most $2"; [ $$size -le $2 ]
check-package: deb static
	@$(MAKE) --no-print-directory SONDE_MIN=1 BUILD=$(BUILD)/min $(BUILD)/min/sonde
	@$(OBJCOPY_STRIP) -o $(BUILD)/min/sonde-small $(BUILD)/min/sonde
	@$(call at_most,$(BUILD)/static/sonde-$(call arch,$(MACHINE)),4000000)
	@$(call at_most,$(BUILD)/min/sonde-small,1500000)
	@for f in $(BUILD)/static/sonde-$(call arch,$(MACHINE)) $(BUILD)/min/sonde-small; do \
		[ "$$($$f -q -e 'BEGIN { printf("%d\n", 6 * 7); exit(); }')" = 42 ] || { echo "$$f does not run" >&2; exit 1; }; done
	@package/reproducible $(RELEASE)/sonde-$(version).tar.gz
	@for s in bookworm sid; do package/try-deb $$s $(RELEASE) || exit 1; done

.PHONY: install uninstall static tarball deb release check-package
