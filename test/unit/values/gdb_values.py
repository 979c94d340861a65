"""Runs in gdb (-x): writes the arguments and results of functions, one JSON object a line.

The variables set before: $places, a file with lines "ADDRESS MOST"; $output, a file.
"""
import json

import gdb

MOST_TEXT, MOST_ELEMENTS = 64, 200
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
    target = kind.target().strip_typedefs()
    if target.code == gdb.TYPE_CODE_FUNC:
        block = gdb.decode_line(f"*{address}") if address else None
        shown["symbol"] = gdb.execute(f"info symbol {address}", to_string=True) if block else ""
    elif target.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR) and target.sizeof in (1, 2, 4):
        shown["text"] = text_at(address, target.sizeof) if address else None
    return shown


def class_text(value, kind):
    """A std::string or string_view, or None."""
    name = kind.name or ""
    if "basic_string_view<" in name:
        start, length = value["_M_str"], int(value["_M_len"])
    elif "basic_string<" in name:
        start, length = value["_M_dataplus"]["_M_p"], int(value["_M_string_length"])
    else:
        return None
    return {"text": text_at(int(start), start.type.strip_typedefs().target().sizeof, length), "pointer": int(start)}


def struct(value, kind, depth):
    text = class_text(value, kind)
    if text:
        return text
    members = []
    for field in kind.fields():
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
            return convert(value.referenced_value(), depth)
        if depth > 16:
            return {"deep": True}
        if what == "struct":
            return struct(value, kind, depth)
        if what == "array":
            low, high = kind.range()
            return {"elements": [convert(value[i], depth + 1) for i in range(low, min(high, MOST_ELEMENTS) + 1)]}
        return {"other": str(kind)}
    except (gdb.error, gdb.MemoryError, UnicodeError) as error:
        return {"error": str(error)}


class Result(gdb.FinishBreakpoint):
    def __init__(self, frame, pc, output, call):
        super().__init__(frame, internal=True)
        self.silent, self.pc, self.output, self.call = True, pc, output, call

    def stop(self):
        value = self.return_value
        self.output.write(json.dumps({"pc": self.pc, "call": self.call,
                                      "ret": None if value is None else convert(value)}) + "\n")
        return False

    def out_of_scope(self):
        pass


class Entry(gdb.Breakpoint):
    def __init__(self, pc, where, most, output):
        super().__init__(where, internal=True)
        self.silent, self.pc, self.most, self.output, self.calls = True, pc, most, output, 0

    def stop(self):
        if self.calls == self.most:
            return False
        frame = gdb.newest_frame()
        block = frame.block()
        while block and not block.function:
            block = block.superblock
        arguments = [(s.name, convert(s.value(frame))) for s in block if s.is_argument]
        self.output.write(json.dumps({"pc": self.pc, "call": self.calls, "args": arguments}) + "\n")
        try:
            Result(frame, self.pc, self.output, self.calls)
        except (gdb.error, ValueError, RuntimeError):
            pass
        self.calls += 1
        return False


def main():
    gdb.execute("set pagination off")
    gdb.execute("set confirm off")
    gdb.execute("set print elements 200")
    places = gdb.convenience_variable("places").string()
    with open(gdb.convenience_variable("output").string(), "w", encoding="utf-8") as output:
        with open(places, encoding="utf-8") as lines:
            for line in lines:
                pc, most, where = line.split(maxsplit=2)
                Entry(int(pc), where.strip(), int(most), output)
        gdb.execute("run >/dev/null 2>&1")


main()
