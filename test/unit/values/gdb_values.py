"""Runs in gdb (-x): writes the arguments and results of functions, one JSON object a line.

The variables set before: $places, a file with lines "MOST PLAIN OFFSET MODULE"; $output, a file; $run, the command that
starts the program; $spoil, 1 to overwrite the stack below the stack pointer. MODULE is a file's path, or "-" if OFFSET is an address. Of a PLAIN function (1: not optimised) the
arguments are where its prologue has put them, of another one where they are at its first instruction. Calls count from
the beginning of main() on, those of the first thread. $begin is its name.

Of a Go function (PLAIN is 2) gdb does not know where results are. They are read from the result variables at the return
instruction: without optimisation, they have their places in the frame.
"""
import json
import re

import gdb

MOST_TEXT, MOST_ELEMENTS = 64, 200
HEAP = []  # where it begins
CODES = {gdb.TYPE_CODE_INT: "integer", gdb.TYPE_CODE_CHAR: "integer", gdb.TYPE_CODE_BOOL: "boolean",
         gdb.TYPE_CODE_ENUM: "enum", gdb.TYPE_CODE_FLT: "float", gdb.TYPE_CODE_PTR: "pointer",
         gdb.TYPE_CODE_STRUCT: "struct", gdb.TYPE_CODE_UNION: "struct", gdb.TYPE_CODE_ARRAY: "array",
         gdb.TYPE_CODE_REF: "reference", gdb.TYPE_CODE_RVALUE_REF: "reference", gdb.TYPE_CODE_COMPLEX: "complex"}


def memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def text_at(address, unit, length=None):
    """Up to MOST_TEXT bytes in hexadecimal, and whether there are more; None: not readable."""
    found = b""
    try:
        if length is not None:
            return memory(address, min(length * unit, MOST_TEXT)).hex() if length else ""
        while len(found) < MOST_TEXT:
            piece = memory(address + len(found), unit)
            if not any(piece):
                break
            found += piece
    except gdb.MemoryError:
        return None
    return found.hex()


def pointer(value, kind):
    address = int(value) & (2**64 - 1)
    shown = {"pointer": address}
    if HEAP and HEAP[0] <= address < HEAP[0] + (1 << 30):
        shown["heap"] = True
    target = kind.target().strip_typedefs()
    if target.code == gdb.TYPE_CODE_FUNC:
        block = gdb.decode_line(f"*{address}") if address else None
        shown["symbol"] = gdb.execute(f"info symbol {address}", to_string=True) if block else ""
    elif target.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR) and target.sizeof in (1, 2, 4):
        shown["text"] = text_at(address, target.sizeof) if address else None
        shown["unit"] = target.sizeof
    return shown


def class_text(value, kind):
    """A std::string or string_view, a text of Rust, or None."""
    name = kind.name or ""
    if "basic_string_view<" in name:
        start, length = value["_M_str"], int(value["_M_len"])
    elif "basic_string<" in name:
        start, length = value["_M_dataplus"]["_M_p"], int(value["_M_string_length"])
    elif name == "&str":
        start, length = value["data_ptr"], int(value["length"])
    elif name == "alloc::string::String":
        start, length = value["vec"]["buf"]["inner"]["ptr"]["pointer"]["pointer"], int(value["vec"]["len"])
    elif name == "string" and kind.has_key("str"):  # Go's
        start, length = value["str"], int(value["len"])
    else:
        return None
    unit = start.type.strip_typedefs().target().sizeof
    return {"text": text_at(int(start), unit, length), "unit": unit, "pointer": int(start)}


def has_padding(kind):
    """Of objects in registers Go's debugging information leaves out padding, so that gdb is wrong."""
    return sum(field.type.sizeof for field in kind.fields()) != kind.sizeof


def struct(value, kind, depth):
    text = class_text(value, kind)
    if text:
        return text
    members, fields = [], kind.fields()
    if "go" in gdb.execute("show language", to_string=True) and value.address is None and has_padding(kind):
        return {"unknown": True}
    if not fields and "<incomplete type>" in str(value):
        return {"unknown": True}
    if any(field.artificial and not field.name for field in fields):  # the discriminant of an enum of Rust
        fields = [field for field in fields if field.name]
        if len(fields) > 1:
            return {"unknown": True}  # of results, gdb shows all variants
    for field in fields:
        if hasattr(field, "bitpos"):
            members.append((field.name or "", convert(value[field], depth + 1)))
    return {"members": members}


def convert(value, depth=0):
    try:
        if value.is_optimized_out:
            return {"unknown": True}
        kind = value.type.strip_typedefs().unqualified()
        what = CODES.get(kind.code)
        if what == "integer":
            return {"integer": int(value)}
        if what == "boolean":
            return {"boolean": int(value)}
        if what == "enum":
            return {"enum": str(value), "integer": int(value)}
        if what == "float":
            return {"float": value.format_string()}
        if what == "complex":
            return {"complex": value.format_string()}
        if what == "pointer":
            return pointer(value, kind)
        if what == "reference":
            target = value.referenced_value()
            return {**convert(target, depth), "reference": int(target.address)}
        if depth > 16:
            return {"deep": True}
        if what == "struct":
            return struct(value, kind, depth)
        if what == "array":
            low, high = kind.range()
            return {"elements": [convert(value[i], depth + 1) for i in range(low, min(high, MOST_ELEMENTS) + 1)]}
        return {"other": str(kind)}
    except (gdb.error, gdb.MemoryError, UnicodeError, OverflowError) as error:
        return {"error": str(error)}


def spoil_stack(red_zone=0):
    """Overwrites what is free below the stack pointer, so that a second run shows what nobody has written."""
    if gdb.convenience_variable("spoil"):
        top = int(gdb.newest_frame().read_register("rsp")) - red_zone
        gdb.selected_inferior().write_memory(top - 8192, b"\xa5" * 8192)


def is_rust_pair(kind):
    """Of Rust: two numbers in eight bytes. rustc gives each a register, and gdb looks for both in one."""
    plain = kind.strip_typedefs()
    return "rust" in gdb.execute("show language", to_string=True) and plain.code == gdb.TYPE_CODE_STRUCT and \
        plain.sizeof <= 8 and sum(hasattr(field, "bitpos") and field.type.sizeof > 0 for field in plain.fields()) > 1


class Result(gdb.FinishBreakpoint):
    def __init__(self, frame, place, output, call, done):
        super().__init__(frame, internal=True)
        self.silent, self.place, self.output, self.call, self.done = True, place, output, call, done

    def stop(self):
        value = self.return_value
        if value is not None and is_rust_pair(value.type):
            shown = {"unknown": True}
        else:
            shown = None if value is None else convert(value)
        self.output.write(json.dumps({**self.place, "call": self.call, "ret": shown}) + "\n")
        spoil_stack()
        self.done()
        return False

    def out_of_scope(self):
        self.done()


def returned(kind):
    """A result of the type KIND, where the ABI puts it; None: an object of another kind."""
    plain = kind.strip_typedefs()
    if plain.code == gdb.TYPE_CODE_FLT:
        value = gdb.parse_and_eval({4: "$xmm0.v4_float[0]", 8: "$xmm0.v2_double[0]"}.get(plain.sizeof, "$st0"))
    elif plain.code in CODES and plain.sizeof <= 8 and CODES[plain.code] not in ("struct", "array", "complex"):
        value = gdb.parse_and_eval("$rax")
    else:
        return None
    return value.cast(kind)


class InlineResult(gdb.Breakpoint):
    """A FinishBreakpoint never stops in a caller that is inlined, or after a tail call: gdb compares its frame with
    that of the whole function."""

    def __init__(self, frame, place, output, call, done):
        self.kind, self.pointer = frame.function().type.target(), int(frame.read_register("rsp"))
        address = int(gdb.parse_and_eval(f"*(unsigned long *){self.pointer}"))
        super().__init__(f"*{address}", internal=True)
        self.silent, self.place, self.output, self.call, self.done = True, place, output, call, done

    def stop(self):
        pointer = int(gdb.newest_frame().read_register("rsp"))
        if pointer == self.pointer + 8:
            value = returned(self.kind)
            if value is not None:
                self.output.write(json.dumps({**self.place, "call": self.call, "ret": convert(value)}) + "\n")
            spoil_stack()
            self.done()
        self.enabled = pointer <= self.pointer
        return False


def watch_result(frame, plain, *place):
    older = frame.older()
    if older and older.type() in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME) and not plain:
        InlineResult(frame, *place)
    elif older:
        Result(frame, *place)


def is_unwritten(value, frame):
    """At a function's first instruction nothing is below the stack pointer: there is the callee's own copy, which its
    prologue has not written yet. (GCC describes such a copy for the whole function, DW_OP_fbreg, if its address is
    taken.) Not the caller's argument, but what an earlier call has left."""
    return value.address is not None and 0 < int(frame.read_register("rsp")) - int(value.address) < 1 << 20


def places_at(address):
    """What gdb says of the place of each symbol of the function at ADDRESS. It is asked before the program runs on: a command
    that fails while a breakpoint's code runs makes gdb's "continue" come back at once. (Some places of Debian's libc are
    damaged.)"""
    try:
        text = gdb.execute(f"info scope *{address}", to_string=True)
    except gdb.error:
        return {}
    return dict(re.findall(r"^Symbol (\S+) is (.*?)(?=^Symbol |\Z)", text, re.S | re.M))


def is_stacked(symbol, places):
    """LLVM describes an argument on the stack for the whole function, relative to what the stack pointer is behind the
    prologue. At the first instruction gdb takes another place for it."""
    return re.search(r"at frame base reg \$rsp offset", places.get(symbol.name, "")) is not None


def argument_class(kind):
    """"integer" or "vector", if the ABI passes that in one register; "memory": on the stack; None: another object."""
    plain = kind.strip_typedefs()
    if plain.code == gdb.TYPE_CODE_FLT:
        return "vector" if plain.sizeof <= 8 else "memory" if plain.name == "long double" else None
    if plain.code == gdb.TYPE_CODE_STRUCT and plain.sizeof > 16 and "currently c\"" in gdb.execute("show language", to_string=True):
        return "memory"
    simple = CODES.get(plain.code) not in (None, "struct", "array", "complex") and plain.sizeof <= 8
    return "integer" if simple else None


def stacked_value(symbol, frame, places):
    """SYMBOL, which is on the stack, by the ABI: behind those before it that have no register, from the memory at the first
    instruction. Not known if there may be fewer arguments than in the source, or others than simple ones."""
    left, place = {"integer": 6, "vector": 8, "memory": 0}, int(frame.read_register("rsp")) + 8
    for other in arguments_of(frame):
        what, kind = argument_class(other.type), other.type.strip_typedefs()
        gone = not is_stacked(other, places) and other.value(frame).is_optimized_out
        if what is None or gone:
            return {"error": "the ABI does not tell its place"}
        left[what] -= 1
        if left[what] < 0:
            place += -place % max(8, kind.alignof)
        if other.name == symbol.name:
            break
        place += (kind.sizeof + 7) // 8 * 8 if left[what] < 0 else 0
    if left[what] >= 0:
        return {"error": "it is not on the stack before the prologue puts it there"}
    return convert(gdb.Value(place).cast(symbol.type.pointer()).dereference())


def knowledge(symbol, frame, places):
    """How gdb knows a value that is neither in a register nor in memory, in a word or two; None: as usual."""
    text = places.get(symbol.name, "")
    for first, end, here in re.findall(r"Range (0x\w+)-(0x\w+):(.*?)(?=Range 0x|$)", text, re.S) or [("0", "0", text)]:
        if first == end == "0" or int(first, 16) <= frame.pc() < int(end, 16):
            for operation, name in (("parameter_ref", "caller"), ("implicit_pointer", "synthetic"), ("OP_addr", "address")):
                if operation in here:
                    return name
    return None


def behind_prologue(pc):
    """The address of the second line of the function at PC."""
    first = gdb.find_pc_line(pc)
    return first.last + 1 if first.last else pc


def arguments_of(frame):
    try:
        block = frame.block()
    except RuntimeError:  # without debugging information
        return []
    while block and not block.function:
        block = block.superblock
    return [symbol for symbol in block or [] if symbol.is_argument]


def described_bytes(symbol, frame, places):
    """How many bytes the pieces of a location have here; None: it has no pieces. gdb shows zeros for those behind."""
    for first, end, pieces in re.findall(r"Range (0x\w+)-(0x\w+):(.*?)(?=Range 0x|$)", places.get(symbol.name, ""), re.S):
        sizes = re.findall(r"\[(\d+)-byte piece\]", pieces)
        if int(first, 16) <= frame.pc() < int(end, 16) and sizes:
            return sum(map(int, sizes))
    return None


def without_undescribed(shown, kind, most):
    fields = [field for field in kind.strip_typedefs().fields() if hasattr(field, "bitpos")]
    members = [[name, value if field.bitpos // 8 < most else {"unknown": True}]
               for (name, value), field in zip(shown["members"], fields)]
    return {"members": members}


def value_of(symbol, frame, places, first=False):
    """FIRST: at the function's first instruction."""
    try:
        if first and is_stacked(symbol, places):
            return stacked_value(symbol, frame, places)
        how = knowledge(symbol, frame, places)
        if how == "synthetic":
            return {"error": "only what it points to is known"}
        shown = convert(symbol.value(frame))
        if how:
            shown["by"] = how
        most = described_bytes(symbol, frame, places) if "members" in shown else None
        return shown if most is None else without_undescribed(shown, symbol.type, most)
    except gdb.error as error:
        return {"error": str(error)}


class Late(gdb.Breakpoint):
    """Behind the prologue: the arguments that were not written at the function's first instruction."""

    def __init__(self, entry):
        super().__init__(f"*{behind_prologue(entry.address)}", internal=True)
        self.silent, self.entry, self.waiting = True, entry, {}

    def stop(self):
        frame = gdb.newest_frame()
        for symbol in arguments_of(frame):
            if symbol.name in self.waiting.get("names", ()):
                self.waiting["args"].append((symbol.name, convert(symbol.value(frame))))
        if self.waiting:
            self.entry.write(self.waiting.pop("args"), self.waiting.pop("call"))
        self.waiting, self.enabled = {}, False
        return False


class GoReturn(gdb.Breakpoint):
    """At a return instruction of a Go function. The stack may have moved since the entry: then the call is not known."""

    def __init__(self, address, entry):
        super().__init__(f"*{address}", internal=True)
        self.silent, self.entry = True, entry

    def stop(self):
        if gdb.selected_thread().num == 1:
            frame = gdb.newest_frame()
            call = self.entry.open.pop(int(frame.read_register("rsp")), None)
            if call is not None:
                values = [(symbol.name, value_of(symbol, frame, self.entry.places)) for symbol in arguments_of(frame)]
                self.entry.output.write(json.dumps({**self.entry.place, "call": call, "ret": values}) + "\n")
        return False


def return_instructions(address):
    block = gdb.block_for_pc(address)
    while block and not block.function:
        block = block.superblock
    code = gdb.selected_inferior().architecture().disassemble(block.start, block.end - 1) if block else []
    return [line["addr"] for line in code if line["asm"].startswith("ret")]


def jumps_to_itself(address):
    """Whether the function at ADDRESS has a loop that begins with its first instruction."""
    block = gdb.block_for_pc(address)
    while block and not block.function:
        block = block.superblock
    code = gdb.selected_inferior().architecture().disassemble(address, block.end - 1) if block else []
    return any(re.match(rf"j\w+\s+0x{address:x}\b", line["asm"]) for line in code)


class Entry(gdb.Breakpoint):
    def __init__(self, place, plain, address, most, output):
        super().__init__(f"*{behind_prologue(address) if plain == 1 else address}", internal=True)
        self.silent, self.place, self.plain, self.address, self.most = True, place, plain, address, most
        self.output, self.calls, self.late = output, 0, None
        self.open, self.places = {}, places_at(address)
        self.loops, self.within = not plain and jumps_to_itself(address), set()  # the stack pointers of open calls
        self.returns = [GoReturn(at, self) for at in return_instructions(address)] if plain == 2 else []

    def write(self, arguments, call):
        self.output.write(json.dumps({**self.place, "call": call, "args": arguments}) + "\n")

    def wait(self, arguments, names):
        """Another breakpoint adds the arguments NAMES."""
        self.late = self.late or Late(self)
        self.late.waiting = {"args": arguments, "names": names, "call": self.calls}
        self.late.enabled = True

    def stop(self):
        if gdb.selected_thread().num != 1:
            return False
        frame, known, unwritten = gdb.newest_frame(), [], []
        pointer = int(frame.read_register("rsp"))
        if self.loops and pointer in self.within:
            return False
        for symbol in arguments_of(frame):
            if not self.plain and is_unwritten(symbol.value(frame), frame):
                unwritten.append(symbol.name)
            else:
                known.append((symbol.name, value_of(symbol, frame, self.places, not self.plain)))
        if unwritten:
            self.wait(known, unwritten)
        else:
            self.write(known, self.calls)
        if self.plain == 2:
            self.open[int(frame.read_register("rsp"))] = self.calls
            return self.count()
        try:
            watch_result(frame, self.plain, self.place, self.output, self.calls, lambda: self.within.discard(pointer))
            self.within.add(pointer)
        except (gdb.error, ValueError, RuntimeError):
            pass
        spoil_stack(128 if self.plain else 0)
        return self.count()

    def count(self):
        self.calls += 1
        self.enabled = self.calls < self.most
        return False


def bases():
    """Where each file is loaded."""
    found = {"-": 0}
    program = gdb.current_progspace().filename
    with open(f"/proc/{gdb.selected_inferior().pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            words = line.split()
            if len(words) == 6 and int(words[2], 16) == 0:
                found.setdefault(words[5], int(words[0].split("-")[0], 16))
            if words[5:] == [program]:
                HEAP[:] = [int(words[0].split("-")[1], 16)]
    return found


def is_alive():
    """The program and, of Go's whose other threads are held, its first thread."""
    try:
        thread = gdb.selected_thread()
    except SystemError:  # it has just exited
        return False
    return gdb.selected_inferior().pid and thread is not None and thread.is_valid() and not thread.is_exited()


def main():
    for setting in ("pagination off", "confirm off", "print elements 200", "breakpoint always-inserted on"):
        gdb.execute(f"set {setting}")
    gdb.execute("handle all nostop noprint pass")
    gdb.execute("handle SIGTRAP SIGINT nopass")
    places, run = (gdb.convenience_variable(name).string() for name in ("places", "run"))
    with open(gdb.convenience_variable("output").string(), "w", encoding="utf-8") as output:
        gdb.Breakpoint(gdb.convenience_variable("begin").string(), internal=True, temporary=True)
        gdb.execute("set language auto")  # which tells how classes are returned
        gdb.execute(run)
        if gdb.convenience_variable("begin").string() == "main.main":  # gdb misses calls while Go's other threads run
            gdb.execute("set scheduler-locking on")
        at = bases()
        with open(places, encoding="utf-8") as lines:
            for line in lines:
                most, plain, offset, module = line.rstrip("\n").split(" ", 3)
                if module in at:
                    Entry({"pc": int(offset), "module": module}, int(plain), at[module] + int(offset), int(most), output)
        while is_alive():
            gdb.execute("continue")
        output.write(json.dumps({"ended": True}) + "\n")


main()
