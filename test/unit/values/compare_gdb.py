#!/usr/bin/env python3
"""Compares the arguments and results of each function with gdb's at the same calls.

    compare_gdb.py STEPPER MOST CASES COMPILER... -- SOURCE...

Each SOURCE is built and run twice: by STEPPER (stepper.c), and in gdb. CASES are options of the compiler, with ","
between them: "-O0,-O2". A value that differs is an error. Values that are not known are counted by their reasons.
"""
import collections
import json
import math
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE, SKIPPED = Path(__file__).parent, 77
# Of all runs: what nobody has written on the stack or in the heap is then the same, too. (gdb sees a call twice if one of
# Go's signals comes there. With one processor no goroutine waits for a thread that gdb holds.)
ENVIRONMENT = {"MALLOC_PERTURB_": "165", "GOGC": "off", "GODEBUG": "asyncpreemptoff=1", "GOMAXPROCS": "1"}


class Comparison:
    """Counts, for arguments and results apart. Each value is in one of "equal", "wrong", "unknown", "only spoor", and
    "unsteady": gdb shows something else in each of its runs."""

    def __init__(self):
        self.counts = {kind: collections.Counter() for kind in ("arguments", "results")}
        self.reasons = {kind: collections.Counter() for kind in self.counts}
        self.wrong, self.less, self.more, self.unsteady = [], [], [], []
        self.right = set()  # which of the equal ones are compared strictly

    def add_gone(self, kind, what, ours, exists):
        """One that the function does not have, whatever gdb finds in the register. EXISTS: what the compiler says; None: it is
        not known."""
        missing = ours.get("missing")
        self.counts[kind]["gone" if missing == "gone" else "none by the compiler"] += 1
        if exists if missing == "gone" else not missing:
            self.wrong.append(f"{what}: spoor {json.dumps(ours)[:300]}, the compiler {'has' if exists else 'took away'} this result")

    def add(self, kind, what, ours, theirs, exists=None):
        counts = self.counts[kind]
        if ours.get("missing") == "gone" or exists is False:
            self.add_gone(kind, what, ours, exists)
            return
        unknown = theirs is None or bool({"unknown", "error", "other"} & set(theirs))
        line = f"{what}: spoor {json.dumps(ours)[:300]}, gdb {json.dumps(theirs)[:300]}"
        counts["all"] += 1
        counts["gdb optimized out"] += theirs is not None and "unknown" in theirs
        if "missing" in ours:
            counts["unknown"] += 1
            self.reasons[kind][ours["missing"]] += 1
            counts["only gdb"] += not unknown
            if not unknown and "by" in theirs:
                counts[f"only gdb, by its {theirs['by']}"] += 1
            self.less += [] if unknown else [line]
        elif unknown:
            counts["only spoor"] += 1
            self.more.append(line)
        elif "unsteady" in theirs:
            counts["unsteady"] += 1
            self.unsteady.append(line)
        elif not equal(ours["value"], theirs, ours.get("cut", False)):
            counts["wrong"] += 1
            self.wrong.append(line)
        else:
            counts["equal"] += 1
            if is_strict(ours["value"], theirs):
                self.right.add(what)
            for word in ("unsteady", "moved"):
                counts[word + " in part"] += f'"{word}"' in json.dumps(theirs)

    def skip(self, kind, why):
        """One that is not compared."""
        self.counts[kind][why] += 1

    def percent_unknown(self, kind):
        return 100 * self.counts[kind]["unknown"] / max(1, self.counts[kind]["all"])

    def summary(self, kind):
        counts, reasons = self.counts[kind], self.reasons[kind]
        why = "".join(f", {count} {reason}" for reason, count in sorted(reasons.items()))
        rest = ", ".join(f"{count} {name}" for name, count in counts.items() if count and name not in ("all", "unknown"))
        return f"{kind}: {counts['all']}, ? {self.percent_unknown(kind):.2f} %{why}; {rest}"


    def row(self, kind, name, functions):
        """A row of the tables in doc/COVERAGE.md."""
        counts, reasons = self.counts[kind], self.reasons[kind]
        if not counts["all"]:
            return f"| {name} | {kind} | 0 |"
        first = [functions] if kind == "arguments" else []
        why = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items())) or "–"
        none = [] if kind == "arguments" else [counts["gone"], counts["none by the compiler"]]
        cells = [name, *first, counts["all"], f"{self.percent_unknown(kind):.1f} %", why, *none, counts["only gdb"],
                 counts["gdb optimized out"], counts["unsteady"]]
        return "| " + " | ".join(map(str, cells)) + " |"


def is_strict(value, theirs):
    """Whether equal() looks at each number of VALUE: gdb knows all of it, and knows it in both runs."""
    shown = json.dumps(theirs)
    loose = any(f'"{word}"' in shown for word in ("unsteady", "moved", "unknown", "error", "deep", "other"))
    return not loose and not (isinstance(value, dict) and "text" in theirs)


def is_on_heap(value):
    return value.get("heap") or is_in_go_heap(value.get("pointer", 0))


def have_moved(first, again):
    """Addresses of the same text, or of none, on the heap, whose order depends on random numbers."""
    return is_on_heap(first) and is_on_heap(again) and {**first, "pointer": 0} == {**again, "pointer": 0}


def steady(first, again):
    """FIRST, what gdb has shown, without what it does not show AGAIN."""
    if first == again or again is None:
        return first
    if have_moved(first, again):
        SHIFT["heap"] = True
        return {**first, "moved": True}
    for inner in ("members", "elements"):
        if inner in first and inner in again and len(first[inner]) == len(again[inner]):
            both = zip(first[inner], again[inner])
            return {**first, inner: [[a[0], steady(a[1], b[1])] if inner == "members" else steady(a, b) for a, b in both]}
    return {"unsteady": True}


def text_of(value):
    """The bytes of a JSON text."""
    if isinstance(value, dict) and list(value) == ["hex"]:
        return bytes.fromhex(value["hex"])
    return value.encode() if isinstance(value, str) else None


def same_heap(value, theirs):
    """An address that is near; the text there is compared by equal_text()."""
    shown = str(value)
    return re.fullmatch("0x[0-9a-f]+", shown) is not None and abs(int(shown, 16) - theirs["pointer"]) < 1 << 26


def equal_text(value, theirs, cut):
    shown = text_of(value)
    if value is None:
        return theirs["text"] is None
    if theirs["text"] is None or shown is None:
        return False
    there = bytes.fromhex(theirs["text"])
    if theirs["unit"] > 1 and not isinstance(value, dict):
        there = there.decode("utf-32-le" if theirs["unit"] == 4 else "utf-16-le", "replace").encode()
    return shown == there or (cut and there.startswith(shown))


def equal_number(value, number):
    if isinstance(value, bool):
        return int(value) == number
    if isinstance(value, str) and re.fullmatch(r"-?\d+", value) and number not in range(-2**53, 2**53):
        return int(value) == number
    if isinstance(value, str) or (isinstance(value, dict) and "hex" in value):
        text = text_of(value)
        if re.fullmatch("0x[0-9a-f]+", text.decode(errors="replace")):
            return same_address(int(text, 16), number)
        return number & 0xff == text[0] if len(text) == 1 else isinstance(value, str) and len(value) == 1 and ord(value) == number
    return value == number or (isinstance(value, int) and same_address(value, number))


def equal_float(value, text):
    if not re.fullmatch(r"-?[\d.e+-]+|-?inf|-?nan.*", text) or not re.fullmatch(r"-?[\d.e+-]+|-?inf|nan", str(value)):
        return False
    if "nan" in text or "inf" in text:
        return str(value) == re.sub(r"^-?nan.*", "nan", text)
    digits = len(re.sub(r"e.*|\D", "", text).lstrip("0"))  # gdb prints 9 of a float, spoor as many as it needs
    if digits <= 9 and abs(float(text)) < 3e38 and struct.pack("f", float(value)) == struct.pack("f", float(text)):
        return True
    return math.isclose(float(value), float(text), rel_tol=1e-15, abs_tol=0) or float(text) == float(value)


# "pages": how far libraries are apart in both programs; "heap": two runs have other addresses on the heap.
SHIFT = {}


def is_mapped(address):
    return 0x7ff000000000 < address < 0x7ffff7fc0000


def is_in_go_heap(address):
    """Where Go's objects are in there varies from run to run."""
    return 0xc000000000 <= address < 0xc010000000


def same_address(ours, theirs):
    if is_in_go_heap(ours) and is_in_go_heap(theirs):
        return True
    return ours == theirs or (is_mapped(theirs) and theirs - ours == SHIFT.get("pages"))


def equal_members(value, members, cut):
    if not isinstance(value, dict):
        return False
    named = {plain(name): inner for name, inner in value.items()}
    members = [(plain(name), inner) for name, inner in members]
    return all(name in named and equal(named[name], inner, cut) if name in named or not cut else True
               for name, inner in members if not is_empty(inner))


def plain(name):
    """Template arguments are spelled differently."""
    return name.split("<")[0]


def is_empty(theirs):
    return theirs.get("elements") == [] or ("members" in theirs and all(is_empty(m) for _, m in theirs["members"]))


def equal(value, theirs, cut):
    if (theirs.get("moved") or (SHIFT.get("heap") and theirs.get("heap"))) and same_heap(value, theirs):
        return True
    if "reference" in theirs and re.fullmatch("0x[0-9a-f]+", str(value)) and same_address(int(value, 16), theirs["reference"]):
        return True
    if {"unknown", "error", "deep", "unsteady"} & set(theirs) or value is None and cut:
        return True
    if isinstance(value, dict) and "text" in theirs and "hex" not in value:  # a text that is shown by its members
        return hex(theirs["pointer"]) in json.dumps(value)
    if "text" in theirs:
        return equal_text(value, theirs, cut) or (
            re.fullmatch("0x[0-9a-f]+", str(value)) is not None and same_address(int(value, 16), theirs["pointer"]))
    if "pointer" in theirs:
        if isinstance(value, str) and value.startswith("0x"):
            return same_address(int(value, 16), theirs["pointer"])
        symbol = re.sub(r"\[[0-9a-f]{16}\]", "", theirs.get("symbol", ""))  # of Rust's crates
        return re.split("[ (<]", symbol)[0].endswith(re.split("[ (<]", str(value))[0])
    if "enum" in theirs:
        return value == theirs["integer"] or str(value).split("|")[0] in re.split(r"[^\w]+", theirs["enum"])
    if "boolean" in theirs or "integer" in theirs:
        return equal_number(value, theirs.get("boolean", theirs.get("integer")))
    if "float" in theirs:
        return equal_float(value, theirs["float"])
    if "complex" in theirs:
        parts = re.fullmatch(r"(.*) ([+-]) (.*)i", theirs["complex"])
        return isinstance(value, list) and equal_float(value[0], parts[1]) and equal_float(
            value[1], parts[3] if parts[2] == "+" else "-" + parts[3])
    if "members" in theirs:
        return equal_members(value, theirs["members"], cut)
    if "elements" in theirs:
        return equal_elements(value, theirs["elements"], cut)
    return "other" in theirs


def equal_elements(value, elements, cut):
    if isinstance(value, list):
        return (cut or len(value) >= min(len(elements), 200)) and all(
            equal(a, b, cut) for a, b in zip(value, elements))
    text = text_of(value)
    if text is None:
        return False
    numbers = [element.get("integer", 0) for element in elements]
    there = bytes(n & 0xff for n in numbers).split(b"\0")[0] if all(-129 < n < 256 for n in numbers) else \
        "".join(map(chr, numbers)).split("\0")[0].encode()
    return text == there or (cut and there.startswith(text))


def run_stepper(stepper, most, program):
    done = subprocess.run([stepper, str(most), program], capture_output=True, check=False, timeout=600,
                          env=ENVIRONMENT)
    if done.returncode > 1:
        sys.exit(done.stderr.decode(errors="replace")[-2000:])
    calls, counts = {}, collections.Counter()
    order = collections.defaultdict(list)
    for line in done.stdout.decode().splitlines():
        entry = json.loads(line)
        if "args" in entry:
            key = (entry["pc"], counts[entry["pc"]])
            counts[entry["pc"]] += 1
            order[entry["pc"]].append(key)
            calls[key] = entry
        elif order[entry["pc"]]:
            calls[order[entry["pc"]].pop()]["ret"] = entry["ret"]
    return calls


def run_gdb(places, command, program, timeout=600, spoil=0, begin="main"):
    """The values at PLACES, as gdb_values.py wants them, by module, place and call. COMMAND starts PROGRAM."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, output = Path(folder) / "places", Path(folder) / "out"
        wanted.write_text("".join(f"{line}\n" for line in places))
        settings = ("language c", f'$places = "{wanted}"', f'$output = "{output}"', f'$run = "{command}"', f"$spoil = {spoil}", f'$begin = "{begin}"',
                    f"exec-wrapper env -i {' '.join('='.join(pair) for pair in ENVIRONMENT.items())}")
        done = subprocess.run(["gdb", "-nx", "-batch", *(word for s in settings for word in ("-ex", f"set {s}")), "-x",
                               HERE / "gdb_values.py", program], capture_output=True, text=True, check=False,
                              errors="replace", timeout=timeout)
        lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
        if not lines or json.loads(lines.pop()) != {"ended": True}:
            sys.exit(f"gdb has not come to the program's end:\n{done.stdout}{done.stderr}")
        shown = {}
        for line in lines:
            entry = json.loads(line)
            shown.setdefault((entry["module"], entry["pc"], entry["call"]), {}).update(entry)
        return shown


def at_same_places(calls, most, program, plain):
    places = [f"{most} {int(plain)} {pc} -" for pc in sorted({pc for pc, _ in calls})]
    shown = run_gdb(places, "run >/dev/null 2>&1", program)
    return {(pc, call): values for (_, pc, call), values in shown.items()}


def compare(calls, shown, comparison, where):
    for key, call in calls.items():
        if key not in shown:
            continue
        theirs = dict(shown[key].get("args", ()))
        for argument in call["args"]:
            if argument["name"] in theirs:
                comparison.add("arguments", f"{where} {call['function']}#{key[1]} {argument['name']}", argument,
                               theirs[argument["name"]])
        if call.get("ret") and "ret" in shown[key]:
            comparison.add("results", f"{where} {call['function']}#{key[1]} result", call["ret"], shown[key]["ret"])


def main():
    stepper, most, cases = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(",")
    split = sys.argv.index("--")
    compilers, sources = sys.argv[4:split], [Path(s) for s in sys.argv[split + 1:] if s != "-v"]
    if missing := [tool for tool in ["gdb", *compilers] if not shutil.which(tool)]:
        print(f"{', '.join(missing)} is missing")
        return SKIPPED
    failed = False
    for compiler in compilers:
        for options in cases:
            comparison = Comparison()
            for source in sources:
                if (source.suffix == ".cc") != ("++" in compiler):
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    work = Path(folder)
                    program = work / "program"
                    subprocess.run([compiler, "-g", "-w", "-no-pie", "-fno-pie", *options.split(), "-o", program, source,
                                    "-lm"], check=True)
                    calls = run_stepper(stepper, most, program)
                    shown = at_same_places(calls, most, program, "-O0" in options)
                    compare(calls, shown, comparison, source.name)
            for kind, counts in comparison.counts.items():
                if counts["all"]:
                    print(f"{compiler} {options}: {comparison.summary(kind)}")
            for line in comparison.wrong[:40]:
                print("wrong:", line)
            for line in comparison.less if "-v" in sys.argv else []:
                print("unknown:", line)
            failed = failed or bool(comparison.wrong) or not comparison.counts["arguments"]["all"]
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
