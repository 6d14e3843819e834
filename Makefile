# SPDX-License-Identifier: GPL-2.0
#
# entitylock: see "make help".  As an external module: make -C KDIR M=$PWD.

KERNEL ?= 6.1
TIMEOUT ?= 600
MINUTES ?= 10
O := $(CURDIR)/build

# Another architecture's programs, and what is there of others' libraries for them.
ifneq ($(filter %-arm64,$(KERNEL)),)
O := $(O)/arm64
arm64 := $(or $(ENTITYLOCK_CACHE),/var/cache/entitylock)/arm64/usr
export CROSS := 1
export CC := aarch64-linux-gnu-gcc
export AR := aarch64-linux-gnu-ar
export CPPFLAGS := -isystem $(arm64)/include
export LDFLAGS := -L$(arm64)/lib/aarch64-linux-gnu
export PKG_CONFIG_LIBDIR := $(arm64)/lib/aarch64-linux-gnu/pkgconfig
endif

# Parts with many programs are built by all CPUs, unless it was said how.
jobs = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

# Passed through to the kernel's build: warnings, sparse.
module_args := $(foreach v,W C,$(if $($(v)),$(v)=$($(v))))

# The command as it was given: make does not look into it.
export VM_CMD := $(value CMD)
export VM_APPEND := $(value APPEND)
vm_run = scripts/vm.sh --kernel $(KERNEL) --timeout $(TIMEOUT) --append "$$VM_APPEND"

.PHONY: all module userspace selftests setup vm demo
.PHONY: test test-debug test-matrix test-leaks test-planted test-kcsan coverage
.PHONY: check bench bench-native offline torture torture-prove killstorm histories clean help
.PHONY: fuzz fuzz-merge
.PHONY: install install-module install-utils install-man install-dkms uninstall deb test-packages

all: module userspace

# With the kernel to boot and to build for; a KDIR of one's own needs none.
setup:
	@scripts/setup.sh base $(if $(KDIR),,kernel-$(KERNEL))

module: setup
	@scripts/module.sh $(or $(KDIR),$(KERNEL)) $(module_args)

userspace: setup
	@mkdir -p $(O)
	@+flock $(O)/.lock $(MAKE) $(jobs) --no-print-directory -s -C userspace O=$(O)/userspace

selftests: userspace
	@+flock $(O)/.lock $(MAKE) $(jobs) --no-print-directory -s -C selftests O=$(O)

vm: all
	@$(vm_run) -- "$$VM_CMD"

demo: all
	@$(vm_run) -- userspace/examples/demo/demo.sh

test: TIMEOUT := 3000
test-debug: TIMEOUT := 7200
test-debug: KERNEL := debug
test test-debug: all selftests
	@scripts/setup.sh offline
	@$(vm_run) --debug-opts -- selftests/run.sh $(TESTS)

# The kernels are set up, built for and booted one after the other.
test-matrix:
	@$(if $(findstring file,$(origin KERNEL)),,echo "say MATRIX='$(KERNEL)', not KERNEL=" >&2; exit 1)
	@+MATRIX='$(MATRIX)' TESTS='$(TESTS)' scripts/matrix.sh

test-leaks: KERNEL := debug
test-leaks: all selftests
	@$(vm_run) --timeout 3600 --append 'kmemleak=on slab_debug=F' -- selftests/kmemleak.sh $(TESTS)

# Modules with a fault to order, each to be found by what looks for its kind.
test-planted: KERNEL := debug
test-planted: setup selftests
	@selftests/planted/run.sh

# Data races: the tests in which things go on at once, and a short torture.
test-kcsan: KERNEL := debug-kcsan
test-kcsan: TIMEOUT := 7200
test-kcsan: MINUTES := 5
test-kcsan: all selftests
	@$(build_torture)
	@$(vm_run) -- selftests/kcsan.sh $(MINUTES) $(TESTS)

coverage_counts = $(O)/coverage/counts.tar

# What was reached is told also when a test failed.
coverage: KERNEL := debug-gcov
coverage: TIMEOUT := 7200
coverage: all selftests
	@mkdir -p $(O)/coverage
	@status=0; \
	$(vm_run) -- selftests/coverage/run.sh $(TESTS) > $(coverage_counts) || status=$$?; \
	[ ! -s $(coverage_counts) ] || \
		selftests/coverage/report.py $(if $(TESTS),,--whole) $(coverage_counts) || exit; \
	exit $$status

bench_csv = $(O)/bench/$(KERNEL)$(if $(ICOUNT),-icount).csv

# Whole calls in a virtual machine.
bench: TIMEOUT := 1200
bench: all
	@scripts/setup.sh bench offline
	@+flock $(O)/.lock $(MAKE) $(jobs) --no-print-directory -s -C selftests/bench O=$(O)
	@$(vm_run) $(if $(ICOUNT),--icount) -- selftests/bench/run.sh $(if $(ICOUNT),--short) $(ROWS) > $(bench_csv)
	@selftests/bench/report.sh $(bench_csv)

native_csv = $(O)/bench/native-$(KERNEL)$(if $(ICOUNT),-icount).csv
native_vm = scripts/vm.sh --kernel $(KERNEL) --timeout $(TIMEOUT) $(if $(ICOUNT),--icount) --no-module

# The module's own code, by a module that calls it, at this machine's speed unless it is
# instructions that are counted; then an idle gate where there are, or could be, more CPUs.
bench-native: KERNEL := $(if $(ICOUNT),6.1,uml)
bench-native: TIMEOUT := 1200
bench-native: setup
	@scripts/setup.sh bench
	@scripts/module.sh --out $(O)/bench/native/$(KERNEL) $(KERNEL) EL_NATIVE=1
	@MEM=$(or $(MEM),3G) $(native_vm) -- selftests/bench/native.sh > $(native_csv)
	@for cpus in 1 4 16; do \
		$(if $(filter uml,$(KERNEL)),CPUS=$$cpus) $(native_vm) --append possible_cpus=$$cpus -- \
			selftests/bench/native.sh subjects=calls entities=0 | \
			grep gate >> $(native_csv) || exit; \
	done
	@selftests/bench/report.sh $(native_csv)

offline_csv = $(O)/offline/$(KERNEL)$(if $(SMALL),-small).csv

# Time is counted in instructions: how busy this machine is does not count, and idle time
# takes none.  The tables also when an update was lost.
offline: TIMEOUT := 1200
offline: all
	@scripts/setup.sh offline
	@mkdir -p $(O)/offline
	@status=0; \
	echo '# the clock counts instructions: a nanosecond each' > $(offline_csv); \
	$(vm_run) --icount -- userspace/examples/offline/run.sh $(if $(SMALL),small) >> $(offline_csv) || \
		status=$$?; \
	userspace/examples/offline/report.sh $(offline_csv) && exit $$status

build_torture = +flock $(O)/.lock $(MAKE) $(jobs) --no-print-directory -s -C selftests/torture O=$(O)

torture: all
	@$(build_torture)
	@$(vm_run) --timeout $$(($(MINUTES) * 75 + 600)) -- selftests/torture.sh $(MINUTES) $(ARGS)

# Modules with a fault to order, which the torture must find, beside a sound one.
torture-prove: all
	@$(build_torture)
	@for fault in nolock lostwake gateleak; do \
		scripts/module.sh --out $(O)/torture/$$fault $(KERNEL) EL_BREAK=$$fault || exit; \
	done
	@scripts/module.sh --out $(O)/torture/sound $(KERNEL)
	@$(vm_run) --no-module -- selftests/torture.sh --prove $(O)/torture

KILLS ?= 2000

killstorm: all selftests
	@$(vm_run) --timeout 14400 --debug-opts -- $(O)/selftests/killstorm $(KILLS)

CALLS ?= 1000000
fuzz = $(O)/selftests/fuzz
build_fuzz = +mkdir -p $(O)/fuzz && flock $(O)/.lock $(MAKE) --no-print-directory -s -C selftests/fuzz O=$(O)

# Programs that reach something new, and the last ones, if one of them was the machine's.
fuzz: TIMEOUT := 14400
fuzz: all
	@$(build_fuzz)
	@$(vm_run) --debug-opts --keep $(O)/fuzz/$(KERNEL).last -- \
		$(fuzz) --calls $(CALLS) --log /run/vm/keep $(ARGS) > $(O)/fuzz/$(KERNEL).found

# What was found goes into the tree's corpus, as few and as short as reach the same.
fuzz-merge: TIMEOUT := 7200
fuzz-merge: KERNEL := debug
fuzz-merge: all
	@$(build_fuzz)
	@$(vm_run) -- $(fuzz) --merge selftests/fuzz/corpus $(wildcard $(O)/fuzz/*.found) > $(O)/fuzz/merged
	@grep '^#' selftests/fuzz/corpus | cat - $(O)/fuzz/merged > $(O)/fuzz/corpus
	@mv $(O)/fuzz/corpus selftests/fuzz/corpus

SECONDS ?= 20
history = $(O)/histories/$(KERNEL).history

# What was recorded stays there, to be looked into.
histories: all
	@+flock $(O)/.lock $(MAKE) $(jobs) --no-print-directory -s -C selftests/histories O=$(O)
	@$(vm_run) --timeout $$(($(SECONDS) + 600)) -- \
		$(O)/histories/record --seconds $(SECONDS) $(ARGS) > $(history)
	@selftests/histories/prove.sh $(O)/histories/check $(history)

check: all selftests
	@scripts/setup.sh check kernel-6.12 kernel-7.2
	@scripts/check.sh $(CHECKS)

# For the running kernel, unless another is named.
install_kernel = $(or $(KDIR),$(if $(findstring file,$(origin KERNEL)),/lib/modules/$(shell uname -r)/build,$(KERNEL)))
install_part = @+$(MAKE) --no-print-directory -s -C

# What is staged into DESTDIR is built with what there is.
install_setup = $(if $(DESTDIR),@:,@scripts/setup.sh)
headers = $(if $(KDIR),,$(if $(filter /%,$(install_kernel)),headers,kernel-$(KERNEL)))

install: install-module install-utils install-man

install-module:
	$(install_setup) install-module $(headers)
	@scripts/install-module.sh $(install_kernel) $(module_args)
	$(install_part) packaging install-system

install-utils:
	$(install_setup) install-utils
	@mkdir -p $(O)
	@+flock $(O)/.lock $(MAKE) $(jobs) --no-print-directory -s -C userspace O=$(O)/userspace install
	$(install_part) packaging install-completion
	@[ -n "$(DESTDIR)" ] || ldconfig

install-man install-dkms:
	$(install_part) packaging $@

uninstall:
	@scripts/install-module.sh --remove
	$(install_part) userspace O=$(O)/userspace uninstall
	$(install_part) packaging uninstall
	@[ -n "$(DESTDIR)" ] || ldconfig

deb:
	@scripts/setup.sh deb
	@scripts/deb.sh

# Installed and built by DKMS here, on a copy of the root; loaded, used and purged there.
packages := $(O)/packages.tar

test-packages: TIMEOUT := 1200
test-packages: all deb
	@scripts/setup.sh kernel-6.1 kernel-6.12
	@$(vm_run) -- selftests/run.sh install.sh
	@selftests/packages_install.sh $(packages)
	@for kernel in 6.1 6.12; do \
		scripts/vm.sh --kernel $$kernel --timeout $(TIMEOUT) --no-module -- \
			selftests/packages.sh $(packages) || exit; \
	done

clean:
	rm -rf $(O)

help:
	@sed -n 's/^#? \?//p' Makefile

#? make [KERNEL=6.1 | KDIR=/path]   the module, the library and the command, into build/
#? make demo            real processes coordinating through the module, in a virtual machine
#? make test            the self-tests, in a virtual machine (TESTS='fifo 32/fifo': only those)
#? make test-debug      the same on the sanitised kernel
#? make test-matrix     the same on all kernels (MATRIX='6.1 7.2': on those), with a table; hours
#? make test-leaks      nothing is left in memory that nothing refers to (kmemleak)
#? make test-kcsan      data races: concurrent tests, and the torture (MINUTES=5)
#? make coverage        how much of the module the tests reach (TESTS=: what those do)
#? make test-planted    that kernel and the tests find the faults that they are there for
#? make vm CMD='...'    a shell command in a virtual machine, the module loaded
#? make bench           what the calls cost, beside their peers; kept in build/bench/
#?                      (ICOUNT=1: in instructions; ROWS='calls release': those groups)
#? make bench-native    the same of the module's own code, without system calls, at this
#?                      machine's own speed (user-mode Linux); ICOUNT=1: instructions, on 6.1
#? make offline         rows of a database, edited in four ways: what each costs; in build/offline/
#?                      (SMALL=1: a minute, where the whole takes 6)
#? make torture         random verbs from many processes (MINUTES=10 ARGS='--seed N
#?                      --hotplug --pressure --priorities')
#? make torture-prove   the torture finds the faults that it is there for
#? make killstorm       processes that do all there is are killed, 2,000 (KILLS=)
#? make fuzz            a million calls of all verbs by chance, guided with KERNEL=debug
#?                      (CALLS= ARGS='--seed N'); make fuzz-merge: what it has found
#?                      goes into selftests/fuzz/corpus
#? make histories       what many processes did, recorded (SECONDS=20) and checked afterwards
#? make check           style, static analysis, layouts, rules without a test
#? make install         module, library, command and pages, for the running kernel (KERNEL=,
#?                      KDIR=), below PREFIX (/usr/local); DESTDIR=, BUILT=1, SIGN_KEY=,
#?                      SIGN_CERT=: see Documentation/install.rst.  Parts: install-module,
#?                      install-utils, install-man; install-dkms: the source, for dkms
#? make uninstall       what install has installed
#? make deb             Debian packages, into build/deb/
#? make test-packages   those installed, used, and purged, in virtual machines
#? make setup           install what all of it needs; done by the others as they need it
#? make clean
#?
#? KERNEL=  the kernel to build for and to boot: 6.1 (default), 6.1-rt, 6.12, 6.12-rt,
#?          6.12-arm64, 7.2, debug, debug-gcov, debug-kcsan, uml
#? TIMEOUT= seconds until a virtual machine is killed (600); APPEND= kernel arguments;
#? MEM=, CPUS= its size (2G, 2); W=1 warnings and C=1 sparse in the module's build.
