#!/usr/bin/env python3
"""Builds a program of this folder for AArch64. Runs it in QEMU's user-mode emulator: on QEMU's largest processor, and
on one of Armv8.0, which has neither LSE atomic instructions nor pointer authentication.

    run.py [--one] SOURCE NAME...       NAME.c, with code_memory.c, state.S and the backend itself

--one: on the largest processor only. Exits with 1 if the program fails on a processor, with 77 if compiler or emulator
are missing.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"
OBJCOPY = "aarch64-linux-gnu-objcopy"
PROCESSORS = ["max"] if "--one" in sys.argv else ["max", "cortex-a53"]


def embed_agent(source, folder):
    """Writes the agent as an include file to FOLDER, as src/agent/meson.build does for the host."""
    built = os.path.join(folder, "agent")
    subprocess.run([COMPILER, "-c", "-ffreestanding", "-I", os.path.join(source, "src"),
                    os.path.join(source, "src/agent/aarch64.S"), "-o", built + ".o"], check=True)
    subprocess.run([OBJCOPY, "-O", "binary", "-j", ".text", built + ".o", built + ".bin"], check=True)
    subprocess.run([sys.executable, os.path.join(source, "tools/embed.py"),
                    os.path.join(folder, "agent-aarch64.inc"), "a64_agent", built + ".bin"], check=True)


def compile_to(output, source, folder, *words):
    subprocess.run([COMPILER, "-static", "-O1", "-D_GNU_SOURCE", "-I", os.path.join(source, "src"),
                    "-I", os.path.join(source, "test/arch/a64"), "-I", folder, *words, "-o", output], check=True)
    return output


def backend(source, folder):
    """FOLDER/backend.o, which all programs share."""
    built = os.path.join(folder, "backend.o")
    if os.path.exists(built):
        return built
    here = os.path.join(source, "test/arch/a64")
    common = [os.path.join(here, "code_memory.c"), os.path.join(here, "state.S"),
              *(os.path.join(source, "src", name) for name in ("values/run.c", "base/mem.c")),
              *(os.path.join(source, "src/arch", name)
                for name in ("capture.c", "judge.c", "disasm.c", "remainder.c", "arm_hosts.c")),
              *sorted(glob.glob(os.path.join(source, "src/arch/aarch64/*.c")))]
    return compile_to(built, source, folder, "-r", *common)


def build(source, name, folder):
    """Builds FOLDER/NAME, with the include file of embed_agent()."""
    return compile_to(os.path.join(folder, name), source, folder, os.path.join(source, "test/arch/a64", name + ".c"),
                      backend(source, folder))


def failing_on(program):
    """The processors on which PROGRAM fails."""
    for processor in PROCESSORS:
        status = subprocess.run([EMULATOR, "-cpu", processor, program], check=False).returncode
        if status:
            yield f"{os.path.basename(program)} on {processor}: status {status}"


def main():
    source, *names = [word for word in sys.argv[1:] if not word.startswith("--")]
    if not shutil.which(COMPILER) or not shutil.which(EMULATOR):
        print(f"{COMPILER} or {EMULATOR} is missing")
        return 77
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        embed_agent(source, folder)
        for name in names:
            failures += failing_on(build(source, name, folder))
    for failure in failures:
        print(failure)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
