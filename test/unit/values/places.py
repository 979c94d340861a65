#!/usr/bin/env python3
"""Compares the places of arguments and results with what compilers do, for random signatures.

    places.py TEST_PLACES ABI N SEED COMPILER…

Generates N functions with random types. The program, made by COMPILER, calls an assembly function
with each signature; that function writes down all registers and the stack. Then the program calls
functions that return each type. TEST_PLACES gets the types, the values and what was written down:
it must find each value. ABI is x86_64, aarch64, arm-hard or arm-soft; Arm's programs run in QEMU.
With "x86_64,packed", most arguments are small structs, packed ones among them, with bit fields.
"""
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
EMULATORS = {"x86_64": [], "aarch64": ["qemu-aarch64-static"], "arm-hard": ["qemu-arm-static"],
             "arm-soft": ["qemu-arm-static"]}

PROBES = {
    "x86_64": r"""
probe:
    mov %rax, dump(%rip)
    lea dump(%rip), %rax
    mov %rdx, 8(%rax); mov %rcx, 16(%rax); mov %rbx, 24(%rax); mov %rsi, 32(%rax)
    mov %rdi, 40(%rax); mov %rbp, 48(%rax); mov %r8, 64(%rax); mov %r9, 72(%rax)
    mov %r10, 80(%rax); mov %r11, 88(%rax)
    movups %xmm0, 128(%rax); movups %xmm1, 144(%rax); movups %xmm2, 160(%rax)
    movups %xmm3, 176(%rax); movups %xmm4, 192(%rax); movups %xmm5, 208(%rax)
    movups %xmm6, 224(%rax); movups %xmm7, 240(%rax)
    mov %rsp, 416(%rax)
    lea 424(%rax), %rdi
    mov %rsp, %rsi
    mov $8192, %ecx
    rep movsb
    ret
result:
    push %rbx
    mov %rdi, %rax
    mov %rsi, %rdi
    mov %rdx, %rbx
    call *%rax
    lea dump(%rip), %rcx
    mov %rax, (%rcx)
    mov %rdx, 8(%rcx)
    movups %xmm0, 128(%rcx)
    movups %xmm1, 144(%rcx)
    test %ebx, %ebx
    jz 1f
    fstpt 384(%rcx)
    dec %ebx
    jz 1f
    fstpt 400(%rcx)
1:  pop %rbx
    ret
""",
    "aarch64": r"""
probe:
    adrp x16, dump
    add x16, x16, :lo12:dump
    stp x0, x1, [x16]; stp x2, x3, [x16, 16]; stp x4, x5, [x16, 32]; stp x6, x7, [x16, 48]
    str x8, [x16, 64]
    add x17, x16, 128
    stp q0, q1, [x17]; stp q2, q3, [x17, 32]; stp q4, q5, [x17, 64]; stp q6, q7, [x17, 96]
    mov x17, sp
    str x17, [x16, 416]
    add x16, x16, 424
    mov x0, 8192
1:  ldrb w1, [x17], 1
    strb w1, [x16], 1
    subs x0, x0, 1
    b.ne 1b
    ret
result:
    stp x29, x30, [sp, -16]!
    mov x16, x0
    mov x8, x1
    blr x16
    adrp x16, dump
    add x16, x16, :lo12:dump
    stp x0, x1, [x16]; stp x2, x3, [x16, 16]
    add x17, x16, 128
    stp q0, q1, [x17]; stp q2, q3, [x17, 32]
    ldp x29, x30, [sp], 16
    ret
""",
    "arm": r"""
    .arm
    .type probe, %function
probe:
    push {r4, r5}
    ldr r12, =dump
    mov r4, #0
    str r0, [r12]; str r4, [r12, #4]; str r1, [r12, #8]; str r4, [r12, #12]
    str r2, [r12, #16]; str r4, [r12, #20]; str r3, [r12, #24]; str r4, [r12, #28]
    @VECTORS@
    add r1, sp, #8
    add r0, r12, #416
    str r1, [r0]
    str r4, [r0, #4]
    add r0, r0, #8
    mov r2, #8192
1:  ldrb r3, [r1], #1
    strb r3, [r0], #1
    subs r2, r2, #1
    bne 1b
    pop {r4, r5}
    bx lr
    .type result, %function
result:
    push {r4, lr}
    mov r12, r0
    mov r0, r1
    blx r12
    ldr r12, =dump
    mov r4, #0
    str r0, [r12]; str r4, [r12, #4]; str r1, [r12, #8]; str r4, [r12, #12]
    str r2, [r12, #16]; str r4, [r12, #20]; str r3, [r12, #24]; str r4, [r12, #28]
    @VECTORS@
    pop {r4, pc}
    .pool
"""}
ARM_VECTORS = "\n".join(f"    vstr d{i}, [r12, #{128 + 16 * i}]" for i in range(8))


class Type:
    """One type: its C declaration, kind, and how its values are made."""
    def __init__(self, number, kind, name, c, flags=0, of=0, members=(), elements=0, values=()):
        self.number, self.kind, self.name, self.c, self.flags = number, kind, name, c, flags
        self.of, self.members, self.elements, self.values = of, members, elements, values


class Generator:
    # How often a type is a struct, and one is packed, a member a bit field, a member a struct.
    STRUCT, PACKED, BIT_FIELD, INNER = 0.4, 0.05, 0.08, 0.2

    def __init__(self, abi, rng):
        self.abi, self.rng = abi, rng
        self.types, self.declared = [], []
        self.wide = abi in ("x86_64", "aarch64")
        self.scalars = self.make_scalars()

    def add(self, *args, **kwargs):
        self.types.append(Type(len(self.types) + 1, *args, **kwargs))
        return self.types[-1]

    def make_scalars(self):
        found = [self.add("integer", name, name, flags) for name, flags in (
            ("char", "character"), ("signed char", "signed"), ("short", "signed"), ("unsigned short", ""),
            ("int", "signed"), ("unsigned", ""), ("long", "signed"), ("long long", "signed"), ("_Bool", "boolean"))]
        if self.wide:
            found.append(self.add("integer", "__int128", "__int128", "signed"))
        for name in ("float", "double", "long double"):
            found.append(self.add("float", name, name, "quad" if self.abi == "aarch64" else ""))
            found.append(self.add("float", "_Complex " + name, "_Complex " + name,
                                  "complex" + (",quad" if self.abi == "aarch64" else "")))
        found.append(self.add("pointer", "void *", "void *"))
        self.declared.append("enum color { RED, GREEN = 7, BLUE = 100000 };")
        found.append(self.add("enum", "color", "enum color", ""))
        return found

    def vector(self):
        element = self.rng.choice([t for t in self.scalars if t.name in ("int", "float", "short", "double")])
        size = self.rng.choice((8, 16))
        if self.abi.startswith("arm") or (element.name == "double" and size == 8):
            return self.scalar()
        name = f"v{len(self.types)}"
        self.declared.append(f"typedef {element.c} {name} __attribute__((vector_size({size})));")
        bytes_of = {"int": 4, "float": 4, "short": 2, "double": 8}[element.name]
        return self.add("array", name, name, "vector", element.number, elements=size // bytes_of)

    def scalar(self):
        return self.rng.choice(self.scalars)

    def member(self, depth):
        """A type, and how many elements of it a member has (0: no array)."""
        choice = self.rng.random()
        if choice < self.INNER and depth < 3:
            inner = self.struct(depth + 1)
        else:
            inner = self.repeated if self.rng.random() < self.same else self.scalar()
        return inner, self.rng.choice((0, 0, 0, 0, 1, 2, 3))

    def bits(self):
        """The declared type of a bit field, and its bits."""
        return self.scalars[self.rng.choice((4, 5))], self.rng.randint(1, 31)

    def packing(self):
        """What stands before and behind a packed struct."""
        return "", " __attribute__((packed))"

    def alignment(self, number):
        """16 of types that have a scalar of 16 bytes: a packed one has another place, which no debugger knows."""
        t = self.types[number - 1]
        inner = [t.of] if t.kind == "array" else [number for _, number, _ in t.members]
        if t.flags == "vector" or t.name in ("__int128", "long double", "_Complex long double"):
            return 16
        return max([self.alignment(n) for n in inner], default=1)

    def struct(self, depth=0):
        self.repeated, self.same = self.scalar(), self.rng.choice((0, 0.9, 1))
        union = self.rng.random() < 0.15
        name, members, text = f"s{len(self.types)}_{depth}", [], []
        for i in range(self.rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 5))):
            if self.rng.random() < self.BIT_FIELD:
                inner, bits = self.bits()
                text.append(f"{inner.c} m{i} : {bits};")
                members.append((f"m{i}", inner.number, bits))
                continue
            inner, elements = self.member(depth)
            if elements:
                array = self.add("array", "", "", "", inner.number, elements=elements)
                text.append(f"{inner.c} m{i}[{elements}];")
                members.append((f"m{i}", array.number, 0))
            else:
                text.append(f"{inner.c} m{i};")
                members.append((f"m{i}", inner.number, 0))
        narrow = all(self.alignment(number) < 16 for _, number, _ in members)
        packed = self.abi == "x86_64" and narrow and self.rng.random() < self.PACKED
        word = "union" if union else "struct"
        begin, end = self.packing() if packed else ("", "")
        self.declared.append(f"{begin}{word} {name} {{ {' '.join(text)} }}{end};")
        return self.add(word, name, f"{word} {name}", members=members)

    def any(self):
        choice = self.rng.random()
        return (self.struct() if choice < self.STRUCT else
                self.vector() if choice < self.STRUCT + 0.07 else self.scalar())


class PackedGenerator(Generator):
    """Of packed structs, most of which fit registers."""
    STRUCT, PACKED, BIT_FIELD, INNER = 0.8, 0.5, 0.3, 0.5

    def scalar(self):
        wanted = "char", "short", "int", "unsigned", "long", "_Bool", "float", "double", "enum color"
        return self.rng.choice([t for t in self.scalars if t.name in wanted or t.c in wanted])

    def bits(self):
        name, most = self.rng.choice((("short", 16), ("int", 32), ("unsigned", 32), ("long", 64)))
        bits = self.rng.choice((most, 16, self.rng.randint(1, most)))
        return next(t for t in self.scalars if t.name == name), bits

    def packing(self):
        return self.rng.choice((("", " __attribute__((packed))"),
                                ("#pragma pack(push, 1)\n", ";\n#pragma pack(pop)\n"),
                                ("#pragma pack(push, 2)\n", ";\n#pragma pack(pop)\n")))


def fill(name, t, rng):
    """C code that gives the variable NAME of type T a value, without NaN and other patterns that a copy changes."""
    seed = rng.randint(1, 2**31)
    return f"    fill(&{name}, {t.number}, {seed}u);\n"


PRELUDE = r"""
#include <stddef.h>
#include <stdio.h>
#include <string.h>
struct dump { unsigned long long registers[16]; unsigned char vectors[16][16], x87[2][16];
              unsigned long long sp; unsigned char stack[8192]; };
struct dump dump;
void result(void *function, void *memory, int x87);
static unsigned state;
static unsigned next(void) { state = state * 1103515245u + 12345u; return state >> 8 & 0xffff; }
static void fill_bytes(void *at, size_t size) {
    for (size_t i = 0; i < size; i++) ((unsigned char *)at)[i] = (unsigned char)next();
}
static void print(const char *what, const void *at, size_t size) {
    printf("%s ", what);
    for (size_t i = 0; i < size; i++) printf("%02x", ((const unsigned char *)at)[i]);
    printf(size ? "\n" : "-\n");
}
static void print_dump(void) { print("dump", &dump, sizeof dump); }
static void fill(void *at, int type, unsigned seed);
static void fill_type(void *at, int type);
"""


def floats(t):
    base = t.name.replace("_Complex ", "")
    count = 2 if t.name.startswith("_Complex") else 1
    return f"for (int i = 0; i < {count}; i++) (({base} *)at)[i] = ({base})next() / 64 - 300;"


def filler(generator):
    """The function that fills an object of each type."""
    text = ["static void fill_type(void *at, int type) {\n    switch (type) {\n"]
    for t in generator.types:
        if t.kind == "float":
            body = floats(t)
        elif t.name == "_Bool":
            body = "*(unsigned char *)at = next() & 1;"
        elif t.kind == "array" and t.name and "vector" in t.flags:
            inner = generator.types[t.of - 1]
            body = (f"for (int i = 0; i < {t.elements}; i++) fill_type((char *)at + i * sizeof({inner.c}), "
                    f"{t.of});")
        elif t.kind == "array":
            inner = generator.types[t.of - 1]
            body = (f"for (int i = 0; i < {t.elements}; i++) fill_type((char *)at + i * sizeof({inner.c}), "
                    f"{t.of});")
        elif t.kind in ("struct", "union"):
            lines = []
            for name, number, bits in t.members[:1] if t.kind == "union" else t.members:
                if bits:
                    lines.append(f"(({t.c} *)at)->{name} = ({generator.types[number - 1].c})(next() ^ next() << 16);")
                else:
                    lines.append(f"fill_type((char *)at + offsetof({t.c}, {name}), {number});")
            body = " ".join(lines)
        else:
            body = f"fill_bytes(at, sizeof({t.c}));"
        text.append(f"    case {t.number}: {body} break;\n")
    text.append("    }\n}\nstatic void fill(void *at, int type, unsigned seed) { state = seed; fill_type(at, type); }\n")
    return "".join(text)


def describe(generator):
    """A function that prints all types, with the compiler's sizes and offsets."""
    text = ["static void describe(void) {\n    unsigned long long word;\n    (void)word;\n"]
    for t in generator.types:
        size = f"(unsigned long)sizeof({t.c})"
        if t.kind == "array" and not t.name:
            size = f"{t.elements} * (unsigned long)sizeof({generator.types[t.of - 1].c})"
        text.append(f'    printf("type {t.kind} %lu {t.flags or "-"} {t.of} {t.elements} {t.name.replace(" ", "_") or "-"}'
                    f'\\n", {size});\n')
        for name, number, bits in t.members:
            if bits:
                text.append(f"    {{ {t.c} x; memset(&x, 0, sizeof x); x.{name} = 1; size_t at = 0, bit = 0;\n"
                            "      const unsigned char *p = (const unsigned char *)&x;\n"
                            "      while (!p[at]) at++; while (!(p[at] >> bit & 1)) bit++;\n"
                            f'      printf("member {name} {number} %lu {bits}\\n", (unsigned long)(at * 8 + bit)); }}\n')
            else:
                text.append(f'    printf("member {name} {number} %lu 0\\n", 8 * (unsigned long)offsetof({t.c}, {name}));\n')
    text.append("}\n")
    return "".join(text)


def x87_of(generator, t):
    """How many registers of the x87 stack a result takes."""
    if t.name == "_Complex long double":
        return 2
    if t.kind == "union":
        inner = [g for g in (generator.types[n - 1] for _, n, _ in t.members) if not is_empty(generator, g)]
        return int(bool(inner) and all(x87_of(generator, i) == 1 for i in inner))
    while t.kind in ("struct", "array"):
        if t.kind == "array" and "vector" in t.flags or (t.kind == "array" and t.elements != 1):
            return 0
        inner = [number for _, number, _ in t.members] if t.kind == "struct" else [t.of]
        inner = [n for n in inner if not is_empty(generator, generator.types[n - 1])]
        if len(inner) != 1:
            return 0
        t = generator.types[inner[0] - 1]
        if t.kind == "union":
            return x87_of(generator, t)
    return 1 if t.name == "long double" else 0


def is_empty(generator, t):
    if t.kind == "array":
        return is_empty(generator, generator.types[t.of - 1])
    return t.kind in ("struct", "union") and all(
        is_empty(generator, generator.types[n - 1]) and not bits for _, n, bits in t.members)


def source(g, count, rng):
    calls, main, results = [], [], []
    for i in range(count):
        arguments = [g.any() for _ in range(rng.choice((1, 2, 3, 4, 5, 6, 8, 11)))]
        kind, varargs = g.any() if rng.random() < 0.5 else None, rng.random() < 0.1
        parameters = ", ".join(f"{t.c} a{j}" for j, t in enumerate(arguments)) + (", ..." if varargs else "")
        calls.append(f'{kind.c if kind else "void"} call{i}({parameters}) __asm__("probe");\n')
        main.append(f"static __attribute__((noinline)) void do_call{i}(void) {{\n" + "".join(f"    {t.c} a{j};\n    memset(&a{j}, 0, sizeof a{j});\n"
                                        for j, t in enumerate(arguments)))
        main += [fill(f"a{j}", t, rng) for j, t in enumerate(arguments)]
        main.append(f"    call{i}({', '.join(f'a{j}' for j in range(len(arguments)))}"
                    f"{', 1, 2.0' if varargs else ''});\n"
                    f'    printf("call {kind.number if kind else 0} {int(varargs)} {len(arguments)}\\n");\n')
        main += [f'    print("argument {t.number}", &a{j}, sizeof a{j});\n' for j, t in enumerate(arguments)]
        main.append("    print_dump();\n}\n")
        t = g.any()
        results.append(f"{t.c} global{i};\n{t.c} return{i}(void) {{ return global{i}; }}\n")
        calls.append(f"extern {t.c} global{i};\n{t.c} return{i}(void);\n")
        x87 = x87_of(g, t) if g.abi == "x86_64" else 0
        main.append(f"static __attribute__((noinline)) void do_return{i}(void) {{\n" + fill(f"global{i}", t, rng) +
                    f"    static {t.c} memory; memset(&memory, 0, sizeof memory);\n"
                    f"    result((void *)return{i}, &memory, {x87});\n"
                    f'    print("result {t.number}", &global{i}, sizeof global{i});\n'
                    "    print_dump();\n}\n")
    types = "\n".join(g.declared) + "\n"
    text = (types + PRELUDE + "".join(calls) + filler(g) + describe(g) +
            "".join(main) + "static __attribute__((noinline)) void call_all(void) {\n" +
            "".join(f"    do_call{i}();\n    do_return{i}();\n" for i in range(count)) + "}\n"
            "int main(void) {\n    char room[16384];\n    __asm__ volatile(\"\" : : \"r\"(room) : \"memory\");\n"
            "    describe();\n    call_all();\n    __asm__ volatile(\"\" : : \"r\"(room) : \"memory\");\n"
            "    return 0;\n}\n")
    return text, types + "\n".join(results)


def assembly(abi):
    text = PROBES["arm" if abi.startswith("arm") else abi].replace(
        "@VECTORS@", ARM_VECTORS if abi == "arm-hard" else "")
    text = text.replace(";", "\n")
    return "    .text\n    .globl probe, result\n" + text + '\n    .section .note.GNU-stack,"",%progbits\n'


def is_old_clang(compiler):
    """Clang before 18 passes __int128 in a way of its own."""
    if "clang" not in compiler[0]:
        return False
    shown = subprocess.run([compiler[0], "-dumpversion"], check=True, capture_output=True, text=True).stdout
    return int(shown.split(".")[0]) < 18


def run(test, kind, count, seed, compiler):
    rng = random.Random(seed)
    abi, _, packed = kind.partition(",")
    generator = PackedGenerator(abi, rng) if packed else Generator(abi, rng)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        main, results = source(generator, count, rng)
        (work / "main.c").write_text(main)
        (work / "results.c").write_text(results)
        (work / "probe.s").write_text(assembly(abi))
        level = rng.choice(("-O0", "-O1", "-O2"))
        subprocess.run([*compiler, level, "-w", "-Wno-psabi", "-static", "-o", work / "program", work / "main.c", work / "results.c",
                        work / "probe.s"], check=True)
        shown = subprocess.run([*EMULATORS[abi], work / "program"], check=True, capture_output=True, text=True).stdout
    checked = subprocess.run([test, abi, *(["old-clang"] if is_old_clang(compiler) else [])], input=shown, capture_output=True, text=True)
    print(checked.stdout[-4000:], checked.stderr[-2000:], sep="", end="")
    if checked.returncode:
        print(f"seed {seed} {level}: {' '.join(compiler)}")
    return checked.returncode


def main():
    test, kind, count, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    compiler = sys.argv[5:]
    for tool in [compiler[0], *EMULATORS[kind.partition(",")[0]]]:
        if not shutil.which(tool):
            print(f"{tool} is missing")
            return SKIPPED
    rounds = [min(100, count - i) for i in range(0, count, 100)]
    return max(run(test, kind, n, seed + i, compiler) for i, n in enumerate(rounds))


if __name__ == "__main__":
    sys.exit(main())
