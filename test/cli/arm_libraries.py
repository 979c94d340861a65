#!/usr/bin/env python3
"""arm_libraries.py SWEEP SYSROOT BUILD DIRECTORY ARCHITECTURE ENTRIES EXITS

SYSROOT (tools/sysroot) fetches Debian's libraries for ARCHITECTURE into DIRECTORY, once. SWEEP (tools/sweep) checks all
windows in them with the programs of BUILD. No window is wrong. At least ENTRIES per cent of the functions have a traced
entry, and at least EXITS per cent a traced entry and exact exits."""
import os
import subprocess
import sys

PACKAGES = ["libc6", "libstdc++6", "libgcc-s1", "libssl3", "libsqlite3-0", "libglib2.0-0", "zlib1g", "liblzma5",
            "libpcre2-8-0", "libexpat1", "libxml2", "libncursesw6", "libreadline8", "libcurl4"]
SKIP = 77


def fetched(sysroot, directory, architecture):
    done = os.path.join(directory, "fetched")
    if not os.path.exists(done):
        subprocess.run([sysroot, architecture, directory, *PACKAGES], check=True)
        with open(done, "w", encoding="utf-8"):
            pass


def main(sweep, sysroot, build, directory, architecture, entries, exits):
    directory = os.path.join(directory, "libraries-" + architecture)
    try:
        fetched(sysroot, directory, architecture)
    except (OSError, subprocess.CalledProcessError) as why:
        print(f"libraries for {architecture} could not be fetched: {why}")
        return SKIP
    return subprocess.run([sweep, "--build", build, "--entries", entries, "--exits", exits,
                           *(os.path.join(directory, where) for where in ("lib", "usr/lib"))], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
