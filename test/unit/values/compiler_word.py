"""What a compiler itself says of the functions that it has made: whether they return nothing any more.

Compilers take results away that no caller needs. Debugging information still has the type, so gdb shows what happens to be
in the register. GCC's dump of a function (-fdump-tree-optimized) and LLVM's own code (-emit-llvm; after LTO -save-temps)
have the type that is left.
"""
import re
import subprocess
from pathlib import Path


def is_clang(words):
    return "clang" in words[0]


def is_gcc(words):
    return not is_clang(words) and re.search("gcc|g[+][+]", words[0]) is not None


def is_known(words):
    return re.search("gcc|g[+][+]|clang|rustc", words[0]) is not None


def options(words, folder):
    """What to add to the command WORDS so that the compiler tells, in FOLDER."""
    if is_clang(words):
        return ["-Wl,-plugin-opt=save-temps"] if "-flto" in words else []
    return ["-fdump-tree-optimized", "-dumpdir", f"{folder}/"] if is_gcc(words) else []


def of_gcc(folder):
    """Yields (symbol, whether it returns nothing)."""
    header = re.compile(r"^;; Function .* \(([^ ,]+), funcdef_no.*$", re.M)
    for path in folder.glob("*.optimized"):
        text = path.read_text(encoding="utf-8", errors="replace")
        for found in header.finditer(text):
            head = text[found.end():text.find("\n{", found.end())]
            line = next((line for line in reversed(head.splitlines()) if "(" in line and not line.startswith(("__attr", ";;"))), "")
            yield found[1], re.match(r"((static|inline) )*void [^*(]+\(", line) is not None


def of_llvm(folder):
    for path in folder.glob("*.ll"):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            found = re.match(r"define (.*?)@\"?([^\"(]+)\"?\(", line)
            if found:
                yield found[2], found[1].split()[-1] == "void" and " sret(" not in line


def read(words, source, folder):
    """{symbol: whether it returns nothing}, for a program that WORDS has made of SOURCE in FOLDER."""
    folder, source = Path(folder), Path(source).resolve()
    if is_gcc(words):
        return dict(of_gcc(folder))
    if words[0] == "rustc":
        subprocess.run([*words, "-g", "--emit=llvm-ir", "-o", folder / "program.ll", source], check=True)
    elif "-flto" in words:
        for path in folder.glob("*.precodegen.bc"):
            subprocess.run(["llvm-dis", "-o", path.with_suffix(".ll"), path], check=True)
    else:
        subprocess.run([*words, "-w", "-g", "-S", "-emit-llvm", source], check=True, cwd=folder)
    return dict(of_llvm(folder))


def demangled(functions):
    """The same by the names that `nm -C` has."""
    names = subprocess.run(["c++filt"], input="\n".join(functions), capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(zip((re.sub(r"\[[0-9a-f]+\]", "", name) for name in names), functions.values()))
