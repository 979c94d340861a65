"""Values from wrong places, made on purpose: a comparison that does not call them wrong would prove nothing.

A place that is wrong shows another number than the right one. So numbers change places here: two arguments (in registers,
or from the seventh on, where most are on the stack), two members of a struct, and the result with an argument.
"""
import copy


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def differ(a, b):
    return is_number(a) and is_number(b) and float(a) != float(b) and abs(a - b) != abs(a)


def swap_arguments(call, first, end):
    """Yields the names of the arguments that have changed."""
    known = [argument for argument in call.get("args", ())[first:end] if is_number(argument.get("value"))]
    for a, b in zip(known[::2], known[1::2]):
        if differ(a["value"], b["value"]):
            a["value"], b["value"] = b["value"], a["value"]
            yield a["name"]
            yield b["name"]


def swap_registers(call):
    return swap_arguments(call, 0, 6)


def swap_stack(call):
    return swap_arguments(call, 6, None)


def swap_members(call):
    for argument in call.get("args", ()):
        members = argument.get("value")
        names = [name for name, value in members.items() if is_number(value)] if isinstance(members, dict) else []
        if len(names) > 1 and differ(members[names[0]], members[names[1]]):
            members[names[0]], members[names[1]] = members[names[1]], members[names[0]]
            yield argument["name"]


def take_argument(call):
    """The result becomes an argument."""
    result = call.get("ret")
    if isinstance(result, dict) and is_number(result.get("value")):
        for argument in call.get("args", ()):
            if differ(argument.get("value"), result["value"]):
                result["value"] = argument["value"]
                yield "result"
                return


KINDS = {"arguments": swap_registers, "stacked arguments": swap_stack, "members": swap_members, "results": take_argument}


def mutate(calls, most, change):
    """A copy of CALLS with changes, and which values of it have changed."""
    changed, mutated = set(), copy.deepcopy(calls)
    for function, list_ in mutated.items():
        for number, call in enumerate(list_[:most]):
            changed |= {f"{function[1]}#{number} {name}" for name in change(call)}
    return mutated, changed


def check(calls, most, compare, equal):
    """COMPARE gives the lines of wrong values of such calls. EQUAL: the values that were right before. Prints what it finds; true:
    it misses something."""
    missed = []
    for kind, change in KINDS.items():
        mutated, changed = mutate(calls, most, change)
        changed &= equal
        found = {line.split(": spoor")[0] for line in compare(mutated)} if changed else set()
        if changed:
            print(f"wrong {kind} on purpose: {len(changed & found)} of {len(changed)} are found")
        missed += sorted(changed - found)
    for line in missed[:20]:
        print("not found:", line)
    return bool(missed)
