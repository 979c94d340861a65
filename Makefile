# A thin front of Meson.
#
#   make             build/spoor, without root, once the packages are there
#   make ARCH=aarch64   the same for AArch64, in build-aarch64: with Debian's cross compiler, and libraries
#                    that tools/sysroot fetches into that directory from Debian's mirror; ARCH=arm for 32-bit Arm
#   make demo        install missing packages, build, trace a real program, show its report
#   make check       install missing packages, build, test, lint: what every change must pass, in 12 minutes
#   make check-fast  for one's own loop, in 2 minutes: unit tests, each program of test/trace once, lint of changed files
#   make check-long  what make check leaves out: all ways of building, sanitizers, emulated machines, stress, soak and
#                    sweeps; ROUNDS=12 of the tests that trace programs, with ring sizes and overflow policies by
#                    chance, repeatable by SEED=. SHARD=2/6 is the 2nd of 6 parts, each of which takes an hour at most
#   make check-arm   what runs on Arm's processors, in machines that QEMU emulates; make check-long has it, too
#   make bench       build/bench.json and a table
#   make bench-pauses   how long programs stand still when spoor comes, and when it leaves
#   make bench-servers  whether servers are as fast as before when spoor has come and left;
#                    SERVERS="redis node" are some of them
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

.PHONY: all demo check check-fast check-long check-arm bench bench-pauses bench-servers lint sanitize install clean \
	setup set-up-with-tests set-up-with-sanitizers built-for-arm units-for-arm

all: setup
	ninja -C $(BUILD) product

# Ninja itself sets up anew when a meson.build has changed; a directory whose setup was cut short has
# no build.ninja. Warnings are errors here, not where meson is called directly, by compilers that are newer.
set-up = test -f $(1)/build.ninja || \
	meson setup $$(test ! -f $(1)/meson-private/coredata.dat || echo --reconfigure) -Dwerror=true $(cross-file) $(1)

# What is linked with that is not of this machine; nothing of the system changes.
cross-file = $(if $(ARCH),--cross-file $(BUILD)/sysroot/meson.ini -Dtests=disabled)
debian-aarch64 = arm64
debian-arm = armhf
$(BUILD)/sysroot/meson.ini: tools/sysroot
	tools/sysroot $(debian-$(ARCH)) $(BUILD)/sysroot
	touch $@

setup: $(if $(ARCH),$(BUILD)/sysroot/meson.ini)
	@$(call set-up,$(BUILD))

# An earlier "make" may have found no test libraries; and what compilers are missing for is left out, so what has been
# installed since the last setup makes for another one.
enable-tests = { meson configure $(BUILD) | grep -Eq '^ *tests +enabled ' && \
	test ! /var/lib/dpkg/status -nt $(BUILD)/build.ninja; } || meson setup --reconfigure -Dtests=enabled $(BUILD)

# Not built: tools/run-tests builds what the tests need that it runs.
set-up-with-tests: setup
	@$(enable-tests)

set-up-with-sanitizers:
	@$(call set-up,$(SANITIZE)) -Dtests=enabled -Dbuildtype=debugoptimized \
		-Db_sanitize=address,undefined

# For the tests in emulated machines. Where Debian's libraries cannot be fetched, these count as skipped.
# An earlier "make ARCH=" may have found no emulator.
built-for-arm:
	@for arch in aarch64 arm; do \
		grep -qs '^exe_wrapper' build-$$arch/sysroot/meson.ini || rm -f build-$$arch/sysroot/meson.ini; \
		own="ARCH=$$arch BUILD=build-$$arch"; \
		if $(MAKE) $$own build-$$arch/sysroot/meson.ini; then $(MAKE) $$own || exit 1; \
		else echo "make: without libraries for $$arch its tests are skipped" >&2; fi; \
	done

packages-%:
	@tools/packages install build $*

packages-arm packages-long: packages-%:
	@tools/packages install build check $*

# With make -j, too, nothing is built before its packages are there.
demo: packages-demo
	$(MAKE) all
	tools/demo $(BUILD)/spoor

# Many tests wait for the programs that they run: half as many again as processors keep these busy.
waiting = --num-processes=$(shell expr $$(nproc) \* 3 / 2)

# Two processors have more to do when what waits for the network goes on beside the rest.
check: packages-check
	$(MAKE) -j3 set-up-with-tests set-up-with-sanitizers built-for-arm
	tools/run-tests $(BUILD) $(waiting) --suite=fast --suite=check -- $(SANITIZE) --setup=sanitize --suite=parsers

check-fast: packages-check
	$(MAKE) set-up-with-tests
	ninja -C $(BUILD) product
	tools/lint changed $(BUILD)
	tools/run-tests $(BUILD) $(waiting) --suite=fast

# The unit tests that need nothing but a processor: qemu-user has Arm's.
units-for-arm: built-for-arm
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

bench: packages-bench
	$(MAKE) all
	python3 bench/bench.py $(BUILD)/spoor $(BUILD)/bench.json

bench-pauses: packages-bench
	$(MAKE) all
	python3 bench/pauses.py $(BUILD)/spoor

# The servers are those of make check-long.
bench-servers: packages-long
	$(MAKE) all
	python3 bench/servers.py $(BUILD)/spoor $(SERVERS)

lint: set-up-with-tests
	tools/run-tests $(BUILD) --setup=long --suite=lint

sanitize: set-up-with-sanitizers
	tools/run-tests $(SANITIZE) --setup=sanitize

# Reconfigures only for another prefix, so that "sudo make install" after "make" just copies.
install: all
	@meson configure $(BUILD) | grep -Eq '^ *prefix +$(PREFIX) ' || \
		{ meson configure $(BUILD) --prefix=$(PREFIX) && ninja -C $(BUILD); }
	DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf $(BUILD) $(SANITIZE)
