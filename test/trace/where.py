#!/usr/bin/env python3
"""where.py SPOOR PROGRAM [COMPILER...]: --where keeps calls by their values; SPECs and conditions that fit nothing are
refused. Without a compiler, what differs between machines."""
import os
import re
import subprocess
import sys

from harness import Spoor, check, check_same, main, run

OTHERS = ["-F", "outer", "-F", "catcher", "-F", "thrower", "-F", "leaf"]


def record(spoor, program, *options):
    done = run([spoor.path, "record", "-o", "trace", *options, "--", program])
    check(done.status == 0, f"{options}: status {done.status}: {done.stderr.decode()}")
    return done.stderr.decode()


def calls(spoor, *options):
    """The lines of a replay, without durations and threads, indented by depth."""
    done = run([spoor.path, "replay", *options, "trace"])
    check(done.status == 0, f"replay {options}: {done.stderr.decode()}")
    lines = [line.split("| ", 1)[1] for line in done.stdout.decode().splitlines() if "] | " in line]
    return [line for line in lines if not line.startswith("/*") and not re.match(r" *}", line)]


def begun(spoor, name, *options):
    """What calls of a function began with."""
    found = (re.match(rf" *{name}\((.*?)\)( \{{| = .*)?;?$", line) for line in calls(spoor, *options))
    return [match[1] for match in found if match]


NUMBERS = [
    ("answer/n > 3/", "answer", ["n=4", "n=5"] * 2),
    ("answer/n & 4 && n != 5 || n == 0/", "answer", ["n=0", "n=4"] * 2),
    ("answer/!(n < 5)/", "answer", ["n=5"] * 2),
    ("down/n < 3/", "down", ["n=2", "n=1", "n=0"]),
    ("buy/o->kind == PEN && o->price > 100/", "buy", ["o->kind=PEN, o->price=200"]),
    ("buy/o->price == 150.5/", "buy", ["o->price=150.5"]),
    ('buy/name == "abc"/', "buy", ['name="abc"']),
    ('buy/name >= "abcd"/', "buy", ['name="xyz"', 'name="abcd"']),
]


def by_arguments(spoor, program):
    for condition, name, right in NUMBERS:
        record(spoor, program, "--where", condition)
        check_same(condition, right, begun(spoor, name))
        record(spoor, program, "-A", name)
        check(len(begun(spoor, name)) > len(right), f"{name}: {calls(spoor)}")
        shown = begun(spoor, name, "--where", condition.replace("o->kind", "(*o).kind"))
        if "->" not in condition: # what a pointer points to was not recorded
            check(len(shown) == len(right), f"{condition}, of a view: {shown}")


def by_results(spoor, program):
    record(spoor, program, "--where", "counter/ret < 0/")
    check_same("results alone", ["counter() = -1;", "counter() = -3;"], calls(spoor))
    record(spoor, program, "--where", "answer/n > 1 && ret >= 0/", "-R", "answer")
    check_same("arguments and results", ["answer(n=2) = 2;", "answer(n=3) = 3;"] * 2, calls(spoor))
    record(spoor, program, "--where", "down/ret == 2/", "-F", "leaf", "-N", "leaf")
    check_same("recursion", ["down() = 2;"], calls(spoor))
    record(spoor, program, "--where", "answer/ret == -4/", "-F", "leaf")
    found = calls(spoor)
    check(found.count("answer() {") == 2, f"{found}")
    check(found.count("  leaf();") == 2, f"calls of others are children of their callers: {found}")


def by_several(spoor, program):
    record(spoor, program, "--where", "answer/n > 1/", "--where", "a*/n < 4/", "--where", "answer/ret > 2/")
    check_same("all conditions", ["answer(n=3) = 3;"] * 2, calls(spoor))


def at_traps(spoor, program):
    for condition, name, right in NUMBERS:
        record(spoor, program, "--tier=trap", "--trap-limit=1000000", "--where", condition)
        check_same(f"{condition}, at traps", right, begun(spoor, name))
    tiers = spoor.info()["functions"]["tiers"]
    check(tiers["trap"] and not any(count for name, count in tiers.items() if name != "trap"), f"{tiers}")


ROUND = ["outer(", "  catcher(", "    thrower(", "      leaf(", "  leaf(", "leaf("]
WITHOUT_CATCHER = ["outer(", "  thrower(", "    leaf(", "  leaf(", "leaf("]
WITHOUT_THROWER = ["outer(", "  catcher(", "    leaf(", "  leaf(", "leaf("]
WITHOUT_OUTER = ["catcher(", "  thrower(", "    leaf(", "leaf(", "leaf("]


def below_longjmp(spoor, program):
    """What an event that is left out would have shown is shown: the call that longjmp() has left is over."""
    for condition, without in [("catcher/n > 1/", WITHOUT_CATCHER), ("thrower/n > 1/", WITHOUT_THROWER),
                               ("outer/n > 1/", WITHOUT_OUTER)]:
        record(spoor, program, *OTHERS, "-N", "answer", "--where", condition)
        lines = [re.match(r" *\w+\(", line)[0] for line in calls(spoor) if "leaf" in line or "er(" in line]
        lines = [line for line in lines if line.strip() != "counter("]
        start = lines.index(without[0])
        check_same(condition, (without * 2 + ROUND * 2), lines[start:start + len(without) * 2 + len(ROUND) * 2])


def below_untraced_catcher(spoor, program):
    """longjmp() goes to a function that is not traced, called by one whose calls are left out."""
    record(spoor, program, *OTHERS, "-N", "catcher", "--where", "outer/n > 9/")
    found = [line for line in calls(spoor) if "leaf" in line or "thrower" in line]
    right = ["thrower() {", "  leaf();", "leaf();", "leaf();"] * 4
    start = found.index(right[0])
    check_same("thrower", right, found[start:start + len(right)])


def snapshots(spoor, program):
    record(spoor, program, "-F", "outer", "--trigger", "outer", "--where", "answer/n > 4 && ret < 0/")
    done = run([spoor.path, "replay", "trace.1"])
    kept = set(re.findall(r"answer\(.*\).*", done.stdout.decode())) # of the second thread, perhaps
    check(kept == {"answer(n=5) = -5;"}, done.stdout.decode())
    record(spoor, program, "--overflow=overwrite", "--where", "answer/n > 4 && ret < 0/")
    check_same("rings that are overwritten", ["answer(n=5) = -5;"] * 2, calls(spoor))


# In each line: triggers, the calls that fire, as the snapshots show the newest one.
TRIGGERS = [
    (["answer/n == 4/"], "answer", "n=4", 2),
    (["answer/n > 1 && ret == 3/"], "answer", "n=3", 2),
    (["answer/ret < -4/"], "answer", "", 2),
    (["buy/name == \"abcd\"/"], "buy", 'name="abcd"', None),
    (["answer/n == 4/", "answer/n == 3/", "answer/ret == 77/"], "answer", "n=", 4),
    (["answer/n > 2/>1h"], "answer", "", 0),
    (["answer/n > 2/>1ns"], "answer", "n=", 6),
    (["answer/n > 9/"], "answer", "", 0),
    (["answer/ret == 77/"], "answer", "", 0),
]


def fired(spoor, program, triggers):
    """How many calls fired, written or only counted."""
    options = [f"--trigger={trigger}" for trigger in triggers]
    for name in os.listdir("."):
        if name.startswith("trace"):
            os.unlink(name)
    text = record(spoor, program, *options, "--snapshot-gap=60m", "-F", "answer", "-F", "buy")
    more = re.search(r"(\d+) more triggers? came sooner", text)
    return os.path.exists("trace.1") + int(more[1] if more else 0), text


def triggers(spoor, program):
    for conditions, name, shown, count in TRIGGERS:
        found, text = fired(spoor, program, conditions)
        check(found == count if count is not None else found > 0, f"{conditions}: fired {found} times: {text}")
        done = run([spoor.path, "replay", "trace.1"]) if found else None
        check(not found or f"{name}({shown}" in done.stdout.decode(), f"{conditions}: {done and done.stdout.decode()}")


def while_recording(spoor, program):
    words = [spoor.path, "record", "-o", "trace", "-A", "answer", "--", program, "rounds"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        process.stdin.write("\n")
        pid = process.stdout.readline().strip()
        for options in (["--where", "answer/ret == 3/"], ["--where", "answer/n > 4/"], ["-A", "answer"]):
            done = run([spoor.path, "ctl", pid, "filter", *options])
            check(done.status == 0, f"ctl: {done.stderr.decode()}")
            process.stdin.write("\n")
            process.stdout.readline()
        done = run([spoor.path, "ctl", pid, "filter", "--where", "answer/m > 4/"])
        check(done.status == 1 and "^m" in done.stderr.decode(), f"{done.status}: {done.stderr.decode()}")
        process.stdin.close()
    every = [f"n={i}" for i in range(6)]
    check_same("filters while recording", every * 3 + ["", "n=5"] + every, begun(spoor, "answer"))


REFUSED = [
    (["-A", "buy@o->pric"], ["o->^pric", "near: price"]),
    (["-A", "buy@o->pric", "-A", "answer@m", "-A", "answer@n"], ["o->^pric", "^m: the function has no parameter"]),
    (["-R", "answer@ret->x"], ["ret->^x"]),
    (["--where", "buy/o->knd == PEN/"], ["o->^knd", "near: kind"]),
    (["--where", "buy/o->kind == PEM/"], ["^PEM"]),
    (["--where", "buy/o->kind = PEN/"], ["o->kind ^= PEN", '"=="']),
    (["--trigger", "buy/o->knd == PEN/"], ["--trigger", "o->^knd", "near: kind"]),
    (["--trigger", "buy/o->kind = PEN/"], ["o->kind ^= PEN"]),
    (["--no-follow", "--trigger", "bux/o->kind == PEN/"], ["bux", "matches no function"]),
    (["--while", "buy/o->kind == PEN/"], ["is not a function"]),
    (["--where", "buy"], ["PATTERN/CONDITION/"]),
    (["-A", "buy@o->"], ["^"]),
    (["-R", "buy@retval/s"], ["^retval/s: its type, double, does not go with the format"]),
    (["-A", "buy@arg1/q"], ["^q: a format is one of"]),
    (["-A", "buy@%foo/x"], ["^%foo", "no register of this name"]),
] + [(["-A", "buy", "--strings", number], ["from 1 to 4096"]) for number in ("0", "-1", "4097", "9x", "1.5")]


def refusals(spoor, program):
    for options, words in REFUSED:
        if os.path.exists("started"):
            os.unlink("started")
        done = run([spoor.path, "record", "-o", "trace", *options, "--", "sh", "-c", "touch started"]
                   if "--strings" in options else [spoor.path, "record", "-o", "trace", *options, "--", program])
        text = done.stderr.decode()
        check(done.status == 125 and all(word in text for word in words), f"{options}: {done.status}: {text}")
        check(not os.path.exists("started"), f"{options}: the program was started")
    done = run([spoor.path, "record", "-o", "trace", "-A", "[ab]*@n", "--", program])
    text = done.stderr.decode()
    check(done.status == 0 and "does not fit 1 of 2 functions: buy: ^n:" in text, f"{done.status}: {text}")
    check_same("functions that it fits", ["n=0", "n=1", "n=2"], begun(spoor, "answer")[:3])


# GCC drops the parameter x of part_lost(), which has no use for it.
DROPPED = """
static __attribute__((noinline)) int part_lost(int x, int y) { __asm__ volatile(""); return y + 1; }
static __attribute__((noinline)) int part_found(int x, int y) { __asm__ volatile(""); return x + y; }
int main(int c, char **v) {
    int sum = 0;
    for (int i = 0; i < 5; i++)
        sum += part_lost(i, c + i) + part_found(i, c);
    return sum < 0 || !v;
}
"""
NEVER = "no call of 1 of 2 functions can meet it: values are not known there, as in part_lost.constprop.0: x ("


def never_known(spoor, _):
    """What can keep no call of a function is told, and only that."""
    subprocess.run([*COMPILER, "-O2", "-g", "-x", "c", "-", "-o", "dropped"], input=DROPPED, text=True, check=True)
    for condition, kept, is_told in [("x > 1", 3, True), ("!(x > 1) && y", 2, True), ("x > 1 && y", 3, True),
                                     ("x > 1 || y > 1", 3 + 4, False), ("y > 0", 5 + 5, False)]:
        text = record(spoor, "./dropped", "--where", f"part_*/{condition}/")
        check((NEVER in text) == is_told, f"{condition}: {text}")
        check(text.count("can meet it") == is_told, f"{condition}, once: {text}")
        found = [line for line in calls(spoor) if "(" in line]
        check(len(found) == kept, f"{condition}: {found}")
    text = record(spoor, "./dropped", "--trigger", "part_*/x > 9/")
    check(NEVER in text and "--trigger" in text, text)


MACHINE = os.uname().machine
FIRST, SECOND, FLOAT = {"x86_64": ("%rdi", "%rsi", "%xmm0"), "aarch64": ("%x0", "%x1", "%d0")}.get(
    MACHINE, ("%r0", "%r1", "%d0"))
FORMS = [
    ("answer", "arg1/i32", "arg1=2"), ("answer", "arg1/x", "arg1=0x2"), ("answer", "arg1/o", "arg1=02"),
    ("answer", f"{FIRST}/x", f"{FIRST}=0x2"), ("answer", "arg1", "arg1=2"),
    ("answer", "arg1/d", "arg1=2"), ("answer", "n/x", "n=0x2"), ("buy", "arg2/s", 'arg2="abcd"'),
    ("buy", f"{SECOND}/s", f'{SECOND}="abcd"'), ("buy", "arg2/c", "arg2="), ("buy", "name/p", "name=0x"),
    ("half", "fparg1/64", "fparg1=3"), ("half", "fparg2/32", "fparg2=0.5"), ("half", "x/f64", "x=3"),
    ("half", f"{FLOAT}/f64", f"{FLOAT}=3"),
] + ([] if MACHINE.startswith("arm") else [("answer", "arg1/u64", "arg1=2")])


RESULTS = [
    ("buy", "retval/f64", "retval=100"), ("buy", "ret", "100"), ("answer", "retval/i32", "retval=-4"),
    ("answer", "retval/x", "retval=0xfffffffc"), ("answer", "retval", "retval=-4"),
    ("answer", "retval/u16", "retval=65532"),
    ("first_name", "retval/s", 'retval="abc"'), ("half", "retval/f64", "retval=2"),
]


def forms(spoor, program):
    for name, spec, right in FORMS:
        record(spoor, program, "-A", f"{name}@{spec}")
        found = begun(spoor, name)
        check(found and found[0 if name == "half" else 2].startswith(right), f"{spec}: {calls(spoor)}")
    for name, spec, right in RESULTS:
        record(spoor, program, "-R", f"{name}@{spec}")
        check(calls(spoor)[4 if name == "answer" else 0].endswith(f" {right};"), f"{spec}: {calls(spoor)}")
    record(spoor, program, "-A", "{buy}@arg2/s,o->price", "-R", "answer@retval/i32")
    check_same("two SPECs", ['arg2="abc", o->price=50'], begun(spoor, "buy")[:1])


def test(path, program):
    spoor = Spoor(path)
    here = [by_arguments, by_results, while_recording, forms]
    more = [at_traps, by_several, below_longjmp, below_untraced_catcher, snapshots, triggers, refusals, never_known]
    for part in here + (more if COMPILER else []):
        part(spoor, program)


COMPILER = sys.argv[3:]
paths = [os.path.realpath(argument) for argument in sys.argv[1:3]]
main(lambda: test(*paths))
