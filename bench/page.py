#!/usr/bin/env python3
"""page.py BENCH.JSON: the figures as a page of Markdown, each table with its commands.

A cell has the median, and in brackets the worst of the rounds if it differs."""
import json
import sys
import textwrap

WIDTH = 100  # of all lines, if possible


def number(value):
    """VALUE with three digits that count; whole from a hundred on."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int) or abs(value) >= 99.95:
        return f"{value:,.0f}".replace(",", " ")
    digits = next((digits for digits, least in enumerate((9.995, 0.9995), start=1) if abs(value) >= least), 3)
    text = f"{value:.{digits}f}"
    return "0" if float(text) == 0 else text


def words(cell):
    if not isinstance(cell, dict):
        return number(cell)
    median, worst = number(cell["median"]), number(cell["worst"])
    return median if median == worst else f"{median} ({worst})"


def padded(rows):
    """Rows of a Markdown table, in columns of equal width."""
    rows = [[text.replace("|", "\\|") for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [[text.ljust(width) if i == 0 else text.rjust(width) for i, (text, width) in enumerate(zip(row, widths))]
             for row in rows]
    rule = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
    return ["| " + " | ".join(line) + " |" for line in [lines[0], rule, *lines[1:]]]


def transposed(rows):
    return [list(column) for column in zip(*rows)]


def grid(table):
    """Lines of a Markdown table. Columns become rows if that is narrower and the lines are too long."""
    rows = [["", *table["columns"]], *([row["name"], *map(words, row["cells"])] for row in table["rows"])]
    lines = padded(rows)
    if len(lines[0]) > WIDTH:
        lines = min(lines, padded(transposed(rows)), key=lambda lines: len(lines[0]))
    return lines


def wrapped(words_of_line):
    return textwrap.wrap(words_of_line, WIDTH, break_long_words=False, break_on_hyphens=False)


def short(command):
    command = command.replace("\n", " ")
    return command if len(command) <= WIDTH else command[:WIDTH - 2] + " …"


def command_lines(rows):
    lines = []
    for row in rows:
        if row["command"]:
            lines += [f"# {row['name']}", short(row["command"])]
    return ["```", *lines, "```", ""] if lines else []


def table_lines(table):
    lines = [f"### {table['title']}", "", *wrapped(table["text"]), ""]
    if not table["rows"]:
        return [*lines, "Not measured.", ""]
    return [*lines, *grid(table), "", *command_lines(table["rows"])]


def others_words(figures):
    return (f"Measured in {figures['seconds']:.0f} s, while others used {figures['others']:.2f} processors"
            + (": **the machine was loaded**." if figures["loaded"] else ".")
            + f" The fixed piece of work took {figures['fixed_work'] * 1000:.0f} ms.")


def head_lines(result):
    machine, load = result["machine"], result["load"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    sentences = [
        f"{machine['processor']}, {machine['cores']} cores" + (", a virtual machine" if machine["virtual"] else "")
        + f"; {machine['memory_mb']} MB; Linux {machine['kernel']}; {result['time']}.",
        f"Load {' '.join(load['average'])} at the start; others used {load['others']:.2f} processors then"
        + (": **the machine was loaded, so times mean little**." if load["loaded"] else "."),
        f"{result['rounds']} rounds: the median, in brackets the worst.",
        "Seconds compare with those of another run only where the fixed piece of work (packing 4 MB of text) takes equally "
        "long there.", f"Versions: {versions}."]
    return [*wrapped(" ".join(sentences)), ""]


def page(result):
    lines = ["# Figures", "", *head_lines(result)]
    for name, figures in result["groups"].items():
        lines += [f"## {name}", "", *wrapped(f"{figures['about']} {others_words(figures)}"), ""]
        if "failed" in figures:
            lines += [*wrapped(f"Failed: {figures['failed']}"), ""]
        for table in figures["tables"]:
            lines += table_lines(table)
        lines += [f"`make bench ONLY={name}`", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: page.py BENCH.JSON")
    with open(sys.argv[1], encoding="utf-8") as source:
        print(page(json.load(source)))
