# A thin front of Meson.
#
#   make             builds build/spoor, without root, if the packages are installed
#   make ARCH=aarch64   the same for AArch64, in build-aarch64: with Debian's cross compiler, and libraries
#                    that tools/sysroot fetches into that directory from Debian's mirror; ARCH=arm for 32-bit Arm
#   make demo        installs missing packages, builds, traces a real program, shows its report
#   make check       installs missing packages, builds, tests, lints: every change must pass it; takes 12 minutes
#   make check-fast  while you work, in 2 minutes: unit tests, each program of test/trace once, lint of changed files
#   make check-long  all that make check leaves out: all build variants, sanitizers, emulated machines, stress, soak and
#                    sweeps; ROUNDS=3 of the tests that trace programs, with random ring sizes and overflow policies,
#                    repeatable by SEED=. SHARD=2/6 is the 2nd of 6 parts, each of which takes an hour at most
#   make check-arm   the tests for Arm, in machines that QEMU emulates; a part of make check-long
#   make cost        counts the instructions of stubs, drainer and report, and compares them with test/cost/limits.txt;
#                    UPDATE=1 writes that file
#   make bench       writes build/bench.json and drawings of it, and prints tables; ONLY=price,exec some groups of figures;
#                    ROUNDS=5; LONG=1 also a minute at full rate; ANYWAY=1 although others use the processors
#   make bench-pauses   measures how long programs stand still at attach and detach: ONLY=attach
#   make bench-servers  measures whether servers are as fast as before, after many visits of spoor;
#                    SERVERS="redis node" selects some
#   make lint        format, static analysis, layers, sizes
#   make sanitize    the unit tests with ASan and UBSan
#   make install     DESTDIR= PREFIX=
#
# Debian packages are listed in tools/packages.txt.

ARCH =
ifneq ($(filter-out aarch64 arm,$(ARCH)),)
$(error ARCH=$(ARCH) is not known: it is ARCH=aarch64 for what Debian calls arm64, ARCH=arm for armhf)
endif
BUILD = build$(ARCH:%=-%)
SANITIZE = build-sanitize
PREFIX = /usr/local

.PHONY: all demo check check-fast check-long check-arm cost bench bench-pauses bench-servers lint sanitize install clean \
	setup set-up-with-tests set-up-with-sanitizers built-for-aarch64 built-for-arm set-up-for-aarch64 set-up-for-arm \
	generated units-for-arm

all: setup
	ninja -C $(BUILD) product

# $(call set-up,DIRECTORY,OPTIONS). Ninja itself sets up again when a meson.build has changed. A directory with an
# interrupted setup has no build.ninja. Warnings are errors here, but not if meson is called directly: other compilers
# have other warnings.
set-up = test -f $(1)/build.ninja || { command -v meson ninja >/dev/null && \
	meson setup $$(test ! -f $(1)/meson-private/coredata.dat || echo --reconfigure) -Dwerror=true $(cross-file) $(2) $(1); \
	} || { tools/packages advise build; exit 1; }

# Libraries for another architecture are in the build directory; the system is not changed.
cross-file = $(if $(ARCH),--cross-file $(BUILD)/sysroot/meson.ini -Dtests=disabled)
debian-aarch64 = arm64
debian-arm = armhf
$(BUILD)/sysroot/meson.ini: tools/sysroot
	tools/sysroot $(debian-$(ARCH)) $(BUILD)/sysroot
	touch $@

setup: $(if $(ARCH),$(BUILD)/sysroot/meson.ini)
	@$(call set-up,$(BUILD))

# Sets up again if an earlier "make" found no test libraries, or if packages were installed since: tests without their
# compilers are left out.
enable-tests = { meson configure $(BUILD) | grep -Eq '^ *tests +enabled ' && \
	test ! /var/lib/dpkg/status -nt $(BUILD)/build.ninja; } || meson setup --reconfigure -Dtests=enabled $(BUILD)

# Builds nothing: tools/run-tests builds what its tests need.
set-up-with-tests:
	@$(call set-up,$(BUILD),-Dtests=enabled)
	@$(enable-tests)

sanitizers = -Db_sanitize=address$(comma)undefined
comma = ,
# -O0 and lines only: a third of the time of -O2 -g. Warnings differ with the optimizer; the other builds show them.
set-up-with-sanitizers:
	@$(call set-up,$(SANITIZE),-Dtests=enabled -Doptimization=0 '-Dc_args=-g1 -w' $(sanitizers))

# For the tests of another processor. If Debian's libraries cannot be fetched, these tests count as skipped.
# Without an exe_wrapper line, an earlier "make ARCH=" found no emulator: then meson.ini is made again.
for-processor = grep -qs '^exe_wrapper' build-$(1)/sysroot/meson.ini || rm -f build-$(1)/sysroot/meson.ini; \
	if $(MAKE) ARCH=$(1) BUILD=build-$(1) build-$(1)/sysroot/meson.ini; then $(MAKE) ARCH=$(1) BUILD=build-$(1) $(2); \
	else echo "make: without libraries for $(1) its tests are skipped" >&2; fi

built-for-aarch64 built-for-arm: built-for-%:
	@$(call for-processor,$*,all)

# Enough for the check that their sources compile.
set-up-for-aarch64 set-up-for-arm: set-up-for-%:
	@$(call for-processor,$*,generated)

generated: setup
	ninja -C $(BUILD) generated

packages-%:
	@tools/packages install build $*

packages-arm packages-long: packages-%:
	@tools/packages install build check $*

# A recursive make, so that nothing is built before its packages are installed, also with make -j.
demo: packages-demo
	$(MAKE) all
	tools/demo $(BUILD)/spoor

# -j3: other work goes on while one of them waits for the network. Many tests wait for programs that sleep: one more than
# there are processors keeps all of these busy.
check: packages-check
	$(MAKE) -j3 set-up-with-tests set-up-with-sanitizers set-up-for-aarch64 set-up-for-arm
	MESON_TESTTHREADS=$$(($$(nproc) + 1)) tools/run-tests $(BUILD) --suite=fast --suite=check -- $(SANITIZE) --setup=sanitize --suite=parsers

check-fast: packages-check
	$(MAKE) set-up-with-tests
	ninja -C $(BUILD) product
	tools/lint changed $(BUILD)
	tools/run-tests $(BUILD) --suite=fast

# The unit tests that need no more than a processor run in qemu-user.
units-for-arm: built-for-aarch64 built-for-arm
	@for arch in aarch64 arm; do \
		test ! -f build-$$arch/build.ninja || meson configure build-$$arch -Dtests=enabled || exit 1; \
	done
run-units-for-arm = -- build-aarch64 --setup=long -- build-arm --setup=long

check-arm: packages-arm
	$(MAKE) set-up-with-tests units-for-arm
	tools/run-tests $(BUILD) --setup=long --suite=arm $(run-units-for-arm)

check-long: packages-long
	$(MAKE) set-up-with-tests set-up-with-sanitizers units-for-arm
	tools/run-long $(if $(SHARD),--shard=$(SHARD)) $(if $(ROUNDS),--rounds=$(ROUNDS)) $(if $(SEED),--seed=$(SEED)) \
		$(BUILD) $(SANITIZE) build-aarch64 build-arm

cost: set-up-with-tests
	tools/run-tests $(BUILD) --suite=cost

bench: packages-bench
	$(MAKE) all
	ninja -C $(BUILD) bench/make-trace
	python3 bench/bench.py $(BUILD)/spoor $(BUILD)/bench.json

bench-pauses: packages-bench
	$(MAKE) all
	python3 bench/bench.py --only=attach $(BUILD)/spoor $(BUILD)/bench-pauses.json

# Uses the same servers as make check-long.
bench-servers: packages-long
	$(MAKE) all
	python3 bench/servers.py $(BUILD)/spoor $(SERVERS)

lint: set-up-with-tests
	tools/run-tests $(BUILD) --setup=long --suite=lint

sanitize: set-up-with-sanitizers
	tools/run-tests $(SANITIZE) --setup=sanitize

# Reconfigures only for another prefix: "sudo make install" after "make" only copies.
install: all
	@meson configure $(BUILD) | grep -Eq '^ *prefix +$(PREFIX) ' || \
		{ meson configure $(BUILD) --prefix=$(PREFIX) && ninja -C $(BUILD); }
	DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf $(BUILD) $(SANITIZE)
