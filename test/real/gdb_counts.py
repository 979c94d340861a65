"""The calls that spoor counts are those that gdb counts by breakpoints, for functions of cc1 and python3: recursive
ones, static ones (without a symbol), and others.

    gdb_counts.py SPOOR [-v]

gdb counts twice, with and without random addresses. A function that is called more or less often by that is left out:
hash tables of pointers differ under spoor, too.
"""
import collections
import hashlib
import os
import re
import subprocess
import sys

from real import ENVIRONMENT, SPOOR, Spoor, check, check_lossless, main, run, which

C_SOURCE = r"""
struct node { struct node *left, *right; int key; double weight; };
static struct node nodes[100];
static int used;
static struct node *insert(struct node *tree, int key) {
    if (!tree) {
        nodes[used] = (struct node){0, 0, key, key / 3.0};
        return &nodes[used++];
    }
    if (key < tree->key)
        tree->left = insert(tree->left, key);
    else if (key > tree->key)
        tree->right = insert(tree->right, key);
    return tree;
}
static double sum(const struct node *tree) {
    return tree ? sum(tree->left) + tree->weight + sum(tree->right) : 0;
}
int classify(const int *keys, int count, char *names) {
    struct node *tree = 0;
    for (int i = 0; i < count && used < 100; i++) {
        tree = insert(tree, keys[i]);
        switch (keys[i] % 5) {
        case 0: names[i] = 'a'; break;
        case 1: names[i] = 'b'; break;
        case 3: names[i] = names[i / 2] + 1; break;
        default: names[i] = (char)(keys[i] & 0x5f);
        }
    }
    return (int)sum(tree);
}
"""
PYTHON_SCRIPT = r"""
import json, re
def sort(items):
    if len(items) < 2:
        return items
    low = [item for item in items[1:] if item < items[0]]
    return sort(low) + [items[0]] + sort([item for item in items[1:] if item >= items[0]])
def raising(n):
    if n == 0:
        raise KeyError("bottom")
    try:
        raising(n - 1)
    except KeyError as error:
        raise KeyError(n) from error
try:
    raising(20)
except KeyError as error:
    print(error)
numbers = sort([i * 37 % 101 for i in range(100)])
text = json.dumps({"numbers": numbers, "nested": [[[{"a": None}]] * 3] * 3}, sort_keys=True)
print(len(text), len(re.findall(r"(\d)\d*,", text)), json.loads(text)["numbers"] == numbers)
"""
WANTED = 16  # functions of each kind
LEAST = 40   # called functions of a program that must be left
NEVER = 300  # functions that are never called
MOST_CALLS = 3000
GDB = ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set width 0", "-ex", "set pagination off",
       "-ex", "set confirm off", "-ex", "set breakpoint always-inserted on",
       # gdb and its shell would add variables to the program's environment.
       "-ex", "set startup-with-shell off", "-ex", "unset environment LINES", "-ex", "unset environment COLUMNS"]

Function = collections.namedtuple("Function", "name address size calls")


def functions_of(spoor, program):
    """{name: row of explain} of the functions of PROGRAM whose names are unique."""
    rows = spoor.json("explain", "--json", program)
    times = collections.Counter(row["function"] for row in rows)
    return {row["function"]: row for row in rows if times[row["function"]] == 1 and not row["refused"]}


def recursive(node, open_calls, found):
    """Adds to FOUND the names of functions below NODE that are called while a call of theirs is open."""
    for child in node["children"]:
        name = child["name"]
        if open_calls[name]:
            found.add(name)
        open_calls[name] += 1
        recursive(child, open_calls, found)
        open_calls[name] -= 1


def loops_to_entry(program, function):
    """Whether FUNCTION jumps to its own entry: gdb counts that, but it is no call."""
    end = function.address + function.size
    done = run(["objdump", "-d", "--no-show-raw-insn", f"--start-address={function.address}", f"--stop-address={end}",
                program])
    return re.search(rf"\sj\w+\s+(0x)?{function.address:x}\b", done.stdout.decode()) is not None


def functions_by_kind(spoor, program):
    """{kind: functions}, without those that are called very often."""
    calls_of_itself, kinds = set(), collections.defaultdict(list)
    recursive(spoor.graph(), collections.Counter(), calls_of_itself)
    calls = {row["function"]: row["calls"] for row in spoor.report()}
    for name, row in functions_of(spoor, program).items():
        function = Function(name, row["address"], row["size"], calls.get(name, 0))
        if function.calls <= MOST_CALLS:
            kinds["never" if not function.calls else "recursive" if name in calls_of_itself
                  else "static" if "+0x" in name else "other"].append(function)
    return kinds


def chosen(spoor, program):
    """The functions to be counted, always the same of a program."""
    found = []
    for kind, functions in functions_by_kind(spoor, program).items():
        functions.sort(key=lambda f: hashlib.sha256(f.name.encode()).digest())
        usable = (f for f in functions if not loops_to_entry(program, f))
        found += functions[:NEVER] if kind == "never" else [f for f, _ in zip(usable, range(WANTED))]
    return found


def counted_by_gdb(command, functions, random):
    """{function: hits of a breakpoint at its entry}"""
    with open("gdb-commands", "w", encoding="ascii") as out:
        print(f"set disable-randomization {'off' if random else 'on'}", file=out)
        for number, function in enumerate(functions, 1):
            print(f"break *{function.address:#x}\nignore {number} 1000000000", file=out)
        print("run\ninfo breakpoints", file=out)
    with subprocess.Popen([*GDB, "-x", "gdb-commands", "--args", *command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=ENVIRONMENT) as gdb:
        text = gdb.communicate()[0].decode()
    check("exited normally" in text, f"gdb: {text[-2000:]}")
    table = text.rpartition("Num     Type")[2]
    hits = {}
    for part in re.split(r"\n(?=\d+ +breakpoint)", table)[1:]:
        again = re.search(r"already hit (\d+) time", part)
        hits[functions[int(part.split()[0]) - 1]] = int(again.group(1)) if again else 0
    check(len(hits) == len(functions), f"gdb tells of {len(hits)} of {len(functions)} breakpoints: {text[-2000:]}")
    return hits


def compare(spoor, command):
    done = spoor.record(["--overflow=wait"], command, env=ENVIRONMENT)
    check(done.status == 0, f"{command}: {done}")
    check_lossless(spoor.info())
    functions = chosen(spoor, command[0])
    fixed, random = (counted_by_gdb(command, functions, how) for how in (False, True))
    steady = [function for function in functions if fixed[function] == random[function]]
    wrong = [f"{f.name} at {f.address:#x}: {f.calls} calls, gdb: {fixed[f]}" for f in steady if f.calls != fixed[f]]
    called = [f for f in steady if f.calls]
    print(f"{os.path.basename(command[0])}: {len(steady)} of {len(functions)} functions compared, {len(called)} are "
          f"called {sum(f.calls for f in called)} times")
    if "-v" in sys.argv:
        print("\n".join(f"  {f.calls:6} {fixed[f]:6} {random[f]:6}  {f.name}" for f in functions if f.calls))
    check(not wrong, "\n".join(wrong))
    check(len(called) >= LEAST, f"only {len(called)} functions are called")


def test():
    which("gdb")
    which("objdump")
    spoor = Spoor(SPOOR)
    for name, text in ("source.c", C_SOURCE), ("script.py", PYTHON_SCRIPT):
        with open(name, "w", encoding="ascii") as out:
            out.write(text)
    compiler = run([which("gcc"), "-print-prog-name=cc1"]).stdout.decode().strip()
    compare(spoor, [os.path.realpath(compiler), "-quiet", "-O2", "source.c", "-o", "source.s"])
    python = os.path.realpath(which("python3"))
    compare(spoor, [python, "-I", "-S", "script.py"])


if __name__ == "__main__":
    main(test)
