#!/usr/bin/env python3
"""`spoor symbolize` on images of several machines, with and without debugging information, and on logs."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

SPOOR, SOURCE = os.environ["SPOOR"], os.path.abspath(sys.argv[1])
FLAGS = ("-O1", "-g", "-ffreestanding", "-fno-pic", "-nostdlib", "-static", "-fno-stack-protector")
LLD = ("-fuse-ld=lld", "-Wl,-z,max-page-size=4096", "-Wl,--build-id=sha1")
MACHINES = {
    "Cortex-M": ("clang", "--target=armv7m-none-eabi", "-mthumb", *LLD, "-Wl,--image-base=0x8000000"),
    "AArch64": ("clang", "--target=aarch64-none-elf", *LLD),
    "x86-64": ("gcc", "-no-pie", "-fcf-protection=none", "-Wl,--build-id=sha1"),
    "i386": ("gcc", "-m32", "-no-pie", "-fcf-protection=none", "-Wl,--build-id=sha1"),
    "DWARF 4": ("gcc", "-gdwarf-4", "-no-pie", "-Wl,--build-id=sha1"),
    "split DWARF": ("gcc", "-gsplit-dwarf", "-no-pie"),
}


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          timeout=60, **more)


def lines_of(word):
    """{name: number of the line that says "WORD name"}"""
    with open(SOURCE, encoding="ascii") as f:
        return {m[1]: i for i, line in enumerate(f, 1) if (m := re.search(rf"{word} (\w+) \*/", line))}


MARK, CALL = lines_of("MARK"), lines_of("CALL")


class Symbolize(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)

    def path(self, name):
        return os.path.join(self.directory, name)

    def build(self, machine, *flags):
        compiler, *options = MACHINES[machine]
        image = self.path(machine.replace(" ", "-") + ".elf")
        subprocess.run([compiler, *FLAGS, *options, *flags, SOURCE, "-o", image], check=True,
                       cwd=self.directory)
        return image

    def symbols(self, image):
        """{name: (address, size)}, by readelf."""
        text = run("readelf", "-sW", image, text=True).stdout
        rows = re.findall(r"(?m)^ *\d+: ([0-9a-f]+) +(\d+) +\w+ +\w+ +\w+ +\d+ (\w+)", text)
        return {name: (int(address, 16), int(size)) for address, size, name in rows}

    def ask(self, image, *words):
        result = run(SPOOR, "symbolize", "--json", image, *words)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return json.loads(result.stdout)

    def frames(self, image, address, *options):
        (found,) = self.ask(image, *options, hex(address))
        self.assertEqual(found["address"], address)
        for frame in found["frames"]:
            if frame["file"] is not None:
                self.assertEqual(os.path.basename(frame["file"]), os.path.basename(SOURCE))
        return [(f["function"], f["line"], f["inlined"]) for f in found["frames"]]

    def rewrite(self, image, text, *options):
        result = run(SPOOR, "symbolize", *options, image, input=text)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout

    # ---- places ----

    def test_inlined_functions_of_each_machine(self):
        for machine in MACHINES:
            with self.subTest(machine=machine):
                image = self.build(machine)
                address = self.symbols(image)["at_leaf"][0]
                self.assertEqual(self.frames(image, address & ~1 if machine == "Cortex-M" else address),
                                 [("leaf", MARK["leaf"], True), ("middle", CALL["leaf"], True),
                                  ("outer", CALL["middle"], False)])

    def test_offsets_from_functions(self):
        image = self.build("Cortex-M")
        start, size = self.symbols(image)["outer"]
        self.assertEqual(start & 1, 1)
        for address in (start + size - 3, start + size - 2):  # the last instruction, and its Thumb bit
            (found,) = self.ask(image, hex(address))
            self.assertEqual((found["frames"][-1]["function"], found["frames"][-1]["offset"]),
                             ("outer", size - 2))

    def test_return_addresses(self):
        for machine in ("Cortex-M", "AArch64", "x86-64"):
            with self.subTest(machine=machine):
                image = self.build(machine)
                start, size = self.symbols(image)["last"]
                behind = start + size
                self.assertEqual(self.frames(image, behind, "--return"), [("last", CALL["stop"], False)])
                self.assertNotEqual(self.frames(image, behind)[0][0], "last")
                (found,) = self.ask(image, "-r", hex(behind))
                self.assertEqual((found["return"], found["frames"][0]["offset"]), (True, size))

    def test_addresses_outside_code(self):
        image = self.build("x86-64")
        sink = self.symbols(image)["sink"][0]
        self.assertEqual(self.frames(image, 0), [])
        self.assertEqual(self.frames(image, sink), [])
        self.assertEqual(self.frames(image, 2**64 - 1), [])
        self.assertEqual(self.frames(image, 0, "--return"), [])
        result = run(SPOOR, "symbolize", image, "0", text=True)
        self.assertEqual(result.stdout, "0x0000000000000000 ?? (no code of the image)\n")

    def test_authentication_codes_and_tags(self):
        image = self.build("AArch64")
        address = self.symbols(image)["at_leaf"][0]
        for code in (0x0023 << 48, 0x6b << 56, 0x7f5f << 48, 0xf000000000000000):
            self.assertEqual(len(self.frames(image, address | code)), 3, hex(code))
        self.assertEqual(self.frames(image, address | 1 << 55), [])

    def test_labels_without_size(self):
        image = self.build("Cortex-M")
        bare = self.symbols(image)["bare"][0] & ~1
        self.assertEqual(self.frames(image, bare + 4)[-1][0], "bare")

    def test_load_address_of_a_shared_library(self):
        library = self.path("lib.so")
        subprocess.run(["gcc", "-g", "-O1", "-fPIC", "-shared", "-nostdlib", SOURCE, "-o", library],
                       check=True)
        address = self.symbols(library)["at_leaf"][0]
        base = 0x7f12_3456_7000
        self.assertEqual(self.frames(library, address)[0][:2], ("leaf", MARK["leaf"]))
        self.assertEqual(self.frames(library, base + address, "--base", hex(base))[0][:2],
                         ("leaf", MARK["leaf"]))
        self.assertEqual(self.frames(library, address, "--base", hex(base)), [])

    def test_demangled_names(self):
        source, image = self.path("a.cc"), self.path("a.elf")
        with open(source, "w", encoding="ascii") as f:
            f.write("namespace n { template <class T> struct S { static inline\n"
                    "__attribute__((always_inline)) void put(T x) { *(volatile T *)x = x; } };\n"
                    "void f(long x) { S<long>::put(x); } }\nextern \"C\" void _start() { n::f(3); }\n")
        subprocess.run(["g++", "-g", "-O1", "-no-pie", "-nostdlib", "-static", source, "-o", image],
                       check=True)
        start = self.symbols(image)["_ZN1n1fEl"][0]
        (found,) = self.ask(image, hex(start))
        self.assertEqual([f["function"] for f in found["frames"]],
                         ["n::S<long>::put(long)", "n::f(long)"])

    # ---- less information ----

    def test_image_without_debugging_information(self):
        image = self.build("AArch64", "-g0")
        address = self.symbols(image)["outer"][0] + 4
        result = run(SPOOR, "symbolize", image, f"{address:x}", text=True)
        self.assertEqual(result.stdout, f"0x{address:016x} outer+0x4\n")

    def test_image_without_symbols(self):
        image = self.build("x86-64", "-g0")
        address = self.symbols(image)["outer"][0]
        subprocess.run(["strip", image], check=True)
        self.assertEqual(self.frames(image, address), [(None, None, False)])

    def stripped(self, machine):
        image = self.build(machine)
        address = self.symbols(image)["at_leaf"][0]
        objcopy = "llvm-objcopy-14" if MACHINES[machine][0] == "clang" else "objcopy"
        if not shutil.which(objcopy):
            self.skipTest(objcopy + " is missing")
        debug = self.path("image.debug")
        subprocess.run([objcopy, "--only-keep-debug", image, debug], check=True)
        subprocess.run([objcopy, "--strip-all", image], check=True)
        return image, debug, objcopy, address

    def test_debug_file_by_link_and_checksum(self):
        for machine in ("x86-64", "i386", "Cortex-M"):
            with self.subTest(machine=machine):
                image, debug, objcopy, address = self.stripped(machine)
                subprocess.run([objcopy, "--remove-section=.note.gnu.build-id",
                                "--add-gnu-debuglink=" + debug, image], check=True)
                self.assertEqual(self.frames(image, address)[0], ("leaf", MARK["leaf"], True))
                with open(debug, "ab") as f:
                    f.write(b"x")
                self.assertEqual(self.frames(image, address), [(None, None, False)])

    # ---- code that the linker has discarded ----

    def test_discarded_functions(self):
        """Debugging information places discarded functions at low addresses, too. The code is linked at 4."""
        source, image = self.path("gone.c"), self.path("gone.elf")
        with open(source, "w", encoding="ascii") as f:
            f.write("volatile int v;\n" + "void gone(void) {" + " v++;" * 200 + " }\n" +
                    "void kept(void) { v = 1; }\nvoid _start(void) { kept(); }\n")
        for compiler in (["gcc", "-no-pie"], ["clang", "--target=armv7m-none-eabi", "-fuse-ld=lld"]):
            subprocess.run([*compiler, "-g", "-O0", "-nostdlib", "-static", "-ffunction-sections",
                            "-Wl,--gc-sections", "-Wl,-Ttext=4", "-Wl,-z,max-page-size=4", source,
                            "-o", image], check=True)
            symbols = self.symbols(image)
            self.assertNotIn("gone", symbols)
            for name, line in (("kept", 3), ("_start", 4)):
                start, size = symbols[name]
                start -= compiler[0] == "clang"  # the Thumb bit
                for found in self.ask(image, *map(hex, range(start, start + size))):
                    self.assertEqual([f["function"] for f in found["frames"]], [name])
                    self.assertIn(found["frames"][0]["line"], (None, line))

    # ---- logs ----

    def test_functions_added_to_a_log(self):
        image = self.build("Cortex-M")
        symbols = self.symbols(image)
        leaf, behind = symbols["at_leaf"][0] & ~1, symbols["last"][0] - 1 + symbols["last"][1]
        place = (f" (leaf at {SOURCE}:{MARK['leaf']}, inlined in middle at {SOURCE}:{CALL['leaf']}, "
                 f"inlined in outer+0x{leaf + 1 - symbols['outer'][0]:x} at {SOURCE}:{CALL['middle']})")
        call = f" (last+0x{symbols['last'][1]:x} at {SOURCE}:{CALL['stop']})"
        text = (b"boot \xff\xfe\x00 ok\r\n#0 0x%08x\n#1 0x%08x" b"\n" b"r0=0x%08x v=0x20001000 +0x%x 0x%x1\n"
                b"no end" % (leaf, behind | 1, leaf | 1, leaf, leaf))
        expected = (b"boot \xff\xfe\x00 ok\r\n#0 0x%08x%s\n#1 0x%08x%s\nr0=0x%08x%s v=0x20001000 +0x%x 0x%x1\n"
                    b"no end" % (leaf, place.encode(), behind | 1, call.encode(), leaf | 1,
                                 place.encode(), leaf, leaf))
        self.assertEqual(self.rewrite(image, text), expected)

    def test_long_lines(self):
        image = self.build("x86-64", "-g0")
        start = self.symbols(image)["outer"][0]
        text = b"x" * 300000 + b" 0x%x" % start + b" y" * 300000 + b" 0x%x" % start
        self.assertEqual(self.rewrite(image, text),
                         text.replace(b"0x%x" % start, b"0x%x (outer+0x0)" % start))

    def test_unfinished_lines_of_a_log(self):
        image = self.build("x86-64", "-g0")
        start = self.symbols(image)["outer"][0]
        with subprocess.Popen([SPOOR, "symbolize", image], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as child:
            for written, wanted in ((b"login: ", b"login: "), (b"0x%x" % start, b"0x%x" % start),
                                    (b"\n", b" (outer+0x0)\n")):
                child.stdin.write(written)
                child.stdin.flush()
                self.assertEqual(child.stdout.read(len(wanted)), wanted)
            child.stdin.close()
            self.assertEqual(child.stdout.read(), b"")
        self.assertEqual(child.returncode, 0)

    def test_line_numbers_in_json(self):
        image = self.build("x86-64")
        start = self.symbols(image)["outer"][0]
        out = self.rewrite(image, b"\n#0 0x%x\nx 0x10\n#1 0x%x" % (start, start + 1), "--json")
        found = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([(f["line"], f["address"], f["return"]) for f in found],
                         [(2, start, False), (4, start + 1, True)])
        self.assertEqual(found[1]["frames"][-1]["function"], "outer")

    # ---- bad input ----

    def refused(self, status, why, *words):
        result = run(SPOOR, "symbolize", *words, stdin=subprocess.DEVNULL, text=True)
        self.assertEqual((result.returncode, result.stdout), (status, ""))
        self.assertEqual(result.stderr, f"spoor: {why}\n")

    def test_bad_images(self):
        image = self.build("x86-64")
        with open(image, "rb") as f:
            good = f.read()
        for name, content, why in (
                ("empty", b"", "not an ELF program or library"),
                ("text", b"#!/bin/sh\n", "not an ELF program or library"),
                ("short", good[:10], "ends within its ELF header"),
                ("cut", good[:40], "ends within its ELF header"),
                ("big", good[:5] + b"\2" + good[6:],
                 "is a big-endian program: spoor reads little-endian ones"),
                ("odd", good[:4] + b"\7" + good[5:], "its ELF identification is invalid"),
                ("object", good[:16] + struct.pack("<H", 1) + good[18:],
                 "is neither a program nor a shared library (an object or core file?)")):
            with open(self.path(name), "wb") as f:
                f.write(content)
            self.refused(1, f"{self.path(name)}: {why}", self.path(name), "0x1000")
        self.refused(1, f"{self.path('none')}: No such file or directory", self.path("none"))
        self.refused(1, f"{self.directory}: Is a directory", self.directory, "1")
        self.refused(1, "/dev/null: not an ELF program or library", "/dev/null")

    def test_damaged_images(self):
        image = self.build("x86-64")
        with open(image, "rb") as f:
            good = f.read()
        for size in range(64, len(good), 97):
            with open(self.path("cut"), "wb") as f:
                f.write(good[:size])
            result = run(SPOOR, "symbolize", self.path("cut"), "0x401000", text=True)
            self.assertIn(result.returncode, (0, 1))
            self.assertEqual(result.stderr.count("\n"), result.returncode)

    def test_wrong_usage(self):
        self.refused(2, "symbolize: an operand is missing (IMAGE): try 'spoor symbolize --help'")
        self.refused(2, "main: is not an address: give hexadecimal numbers, like 0x80012f4",
                     "/bin/true", "main")
        self.refused(2, "symbolize: option '--base': 'top' is not an address, like 0x8000000:"
                     " try 'spoor symbolize --help'", "--base=top", "/bin/true")


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
