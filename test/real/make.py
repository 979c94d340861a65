"""make -j2 of a small tree: programs, a library, a child make."""
import os

from real import real_program, which

MAKE = which("make")
which("gcc")
MAKEFILE = """
PARTS = $(sort $(patsubst %.txt,%.out,$(wildcard part*.txt)))
.PHONY: all
all: sum program sub/done
\t@cat sum sub/done
\t@./program
sum: $(PARTS)
\t@cat $^ | sort -n > $@
%.out: %.txt
\t@tr a-z A-Z < $< | sed 's/LINE/line/' > $@
one.o two.o: %.o: %.c
\t@gcc -O1 -c $< -o $@
libone.a: one.o
\t@ar rcD $@ $^
program: two.o libone.a
\t@gcc $^ -o $@
sub/done:
\t@$(MAKE) --no-print-directory -C sub done
"""
SUB = """
done: a b c
\t@cat $^ > $@
a b c:
\t@echo $@ of the child make > $@
"""


def prepare(directory):
    files = {"Makefile": MAKEFILE, "sub/Makefile": SUB,
             "one.c": "int one(int n) { return n * 3; }\n",
             "two.c": "#include <stdio.h>\nint one(int);\n"
                      "int main(void) { printf(\"%d\\n\", one(14)); return 0; }\n"}
    for n in range(6):
        files[f"part{n}.txt"] = "".join(f"{n * 100 + i} line of part {n}\n" for i in range(20))
    os.mkdir(os.path.join(directory, "sub"))
    for name, text in files.items():
        with open(os.path.join(directory, name), "w", encoding="ascii") as out:
            out.write(text)


real_program([MAKE, "-j2", "-s"], prepare, processes=30)
