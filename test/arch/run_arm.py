#!/usr/bin/env python3
"""Builds a program of the folder a32, t32 or stopped. Runs it in QEMU's user-mode emulator: on QEMU's largest
processor, and on one of Armv7-A, without Armv8's instructions.

    run_arm.py [--armv6] [--one] SOURCE FOLDER NAME...   NAME.c, with the folder's other files and the backend itself

--one: runs on the largest processor only. --armv6: builds with floating point in software, and runs on an Armv6
processor (ARM1176) only. Exits with 1 if the program fails on a processor, with 77 if compiler or emulator are missing.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

ARMV6 = "--armv6" in sys.argv
TRIPLET = "arm-linux-gnueabi" if ARMV6 else "arm-linux-gnueabihf"
COMPILER, OBJCOPY, EMULATOR = TRIPLET + "-gcc", TRIPLET + "-objcopy", "qemu-arm-static"
PROCESSORS = ["arm1176"] if ARMV6 else ["max"] if "--one" in sys.argv else ["max", "cortex-a7"]
STATES = {"a32": "-marm", "t32": "-mthumb", "stopped": "-marm"}
SHARED = ("code_memory.c", "machine.c")


def embed_agent(source, folder):
    """Writes the agent as an include file to FOLDER, as src/agent/meson.build does for the host."""
    built = os.path.join(folder, "agent")
    subprocess.run([COMPILER, "-c", "-ffreestanding", "-I", os.path.join(source, "src"),
                    os.path.join(source, "src/agent/arm.S"), "-o", built + ".o"], check=True)
    subprocess.run([OBJCOPY, "-O", "binary", "-j", ".text", built + ".o", built + ".bin"], check=True)
    subprocess.run([sys.executable, os.path.join(source, "tools/embed.py"),
                    os.path.join(folder, "agent-arm.inc"), "arm_agent", built + ".bin"], check=True)


def compile_to(output, source, state, folder, *words):
    subprocess.run([COMPILER, *(["-march=armv6", "-DARMV6"] if ARMV6 else []), "-static", STATES[state], "-O1",
                    "-D_GNU_SOURCE", "-I", os.path.join(source, "src"), "-I", os.path.join(source, "test/arch", state),
                    "-I", folder, *words, "-o", output], check=True)
    return output


def backend(source, state, folder):
    """FOLDER/backend.o, which all programs of STATE share."""
    built = os.path.join(folder, "backend.o")
    if os.path.exists(built):
        return built
    here = os.path.join(source, "test/arch", state)
    shared = [os.path.join(here, name) for name in SHARED]
    common = [*glob.glob(os.path.join(here, "*.S")), *filter(os.path.exists, shared),
              *(os.path.join(source, "src", name) for name in ("values/run.c", "base/mem.c")),
              *(os.path.join(source, "src/arch", name)
                for name in ("capture.c", "judge.c", "disasm.c", "remainder.c", "arm_hosts.c")),
              *sorted(glob.glob(os.path.join(source, "src/arch/arm/*.c")))]
    return compile_to(built, source, state, folder, "-r", *common)


def build(source, state, name, folder):
    """Builds FOLDER/NAME, with the include file of embed_agent()."""
    return compile_to(os.path.join(folder, name), source, state, folder,
                      os.path.join(source, "test/arch", state, name + ".c"), backend(source, state, folder))


def failing_on(program):
    """The processors on which PROGRAM fails."""
    for processor in PROCESSORS:
        status = subprocess.run([EMULATOR, "-cpu", processor, program], check=False).returncode
        if status:
            yield f"{os.path.basename(program)} on {processor}: status {status}"


def main():
    source, state, *names = [word for word in sys.argv[1:] if not word.startswith("--")]
    source = os.path.abspath(source)
    if not shutil.which(COMPILER) or not shutil.which(EMULATOR):
        print(f"{COMPILER} or {EMULATOR} is missing")
        return 77
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        embed_agent(source, folder)
        for name in names:
            failures += failing_on(build(source, state, name, folder))
    for failure in failures:
        print(failure)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
