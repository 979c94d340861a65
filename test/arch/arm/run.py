#!/usr/bin/env python3
"""Plans modules of 32-bit Arm, patches them, and runs them in QEMU's user-mode emulator, in both states.

    run.py SOURCE WRITE_PATCHED

Exits with 77 if compiler or emulator are missing.
"""
import os
import shutil
import subprocess
import sys
import tempfile

COMPILER, EMULATOR = "arm-linux-gnueabihf-gcc", "qemu-arm-static"
WITHOUT_MARKS = ["arm-linux-gnueabihf-objcopy", "--strip-symbol=$a", "--strip-symbol=$t", "--strip-symbol=$d"]
MODULE, AREA, FAR_AREA, ABOVE_PROGRAM = "0x1000000", "0x1400000", "0x18000000", "0x800000"
LINK = ["-nostdlib", "-static", "-no-pie", f"-Wl,-Ttext={MODULE},--build-id=none,-e,start",
        "-Wl,--defsym=__aeabi_unwind_cpp_pr0=0,-z,noexecstack"]


def main():
    source, write_patched = (os.path.abspath(a) for a in sys.argv[1:])
    compiler, emulator = shutil.which(COMPILER), shutil.which(EMULATOR)
    if not compiler or not emulator:
        print(f"{COMPILER} or {EMULATOR} is missing")
        return 77
    here, ground = (os.path.join(source, "test/arch", f) for f in ("arm", "a32"))
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        program, result = (os.path.join(folder, n) for n in ("program", "result"))
        subprocess.run([compiler, "-static", "-marm", "-O1", "-D_GNU_SOURCE",
                        "-I", os.path.join(source, "src"), "-I", ground, "-I", here,
                        os.path.join(here, "trampolines.c"), os.path.join(ground, "code_memory.c"),
                        os.path.join(ground, "state.S"), "-o", program], check=True)
        for name in ("module", "inner"):
            module = os.path.join(folder, name)
            subprocess.run([compiler, *LINK, os.path.join(here, f"{name}.S"), "-o", module], check=True)
            if name == "inner":
                subprocess.run([*WITHOUT_MARKS, module], check=True)
            for how in ("whole", "traps", "filtered", "far"):
                area = FAR_AREA if how == "far" else AREA
                subprocess.run([write_patched, module, area, result, how, "0", ABOVE_PROGRAM], check=True)
                status |= subprocess.run([emulator, "-cpu", "max", program, result, how, name],
                                         check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
