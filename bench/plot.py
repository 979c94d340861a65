"""Draws tables as bars, in SVG. A drawing is 800 wide and has a group of bars for each row of a table."""
from xml.sax.saxutils import escape

from page import number

WIDTH, LEFT, RIGHT = 800, 270, 90
BAR, GAP, LINE, MARGIN = 14, 10, 20, 16
COLORS = "#2b6cb0", "#dd8b2b", "#3f8f5b"
STYLE = "text{font:13px sans-serif;fill:#222}.t{font-weight:bold;font-size:15px}.n{font-size:12px}.w{stroke:#222}"


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def value_of(cell):
    return cell["median"] if isinstance(cell, dict) else cell


def shown_rows(table):
    """(name, [cell of each plotted column]) of rows that have a number there."""
    for row in table["rows"]:
        cells = [row["cells"][column] for column in table["plot"]]
        if any(isinstance(value_of(cell), (int, float)) for cell in cells):
            yield row["name"], cells


def bar(y, cell, color, scale):
    """A bar with its number; a line goes to the worst."""
    value = value_of(cell)
    if not isinstance(value, (int, float)):
        return []
    width = max(0.0, value) * scale
    parts = [f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 2}" fill="{color}"/>']
    end, middle = LEFT + width, y + BAR / 2 - 1
    if isinstance(cell, dict):
        worst = LEFT + max(0.0, cell["worst"]) * scale
        parts.append(f'<line x1="{end:.1f}" x2="{worst:.1f}" y1="{middle}" y2="{middle}" class="w"/>')
        end = max(end, worst)
    return [*parts, text(end + 5, y + BAR - 3, number(value), "n")]


def keys(table, y):
    """Which color is which column."""
    parts, x = [], MARGIN
    for color, column in zip(COLORS, table["plot"]):
        name = table["columns"][column]
        if name.startswith("of ") and column:
            name = f"{table['columns'][column - 1].split(',')[0]}, {name}"
        parts += [f'<rect x="{x}" y="{y - 10}" width="11" height="11" fill="{color}"/>', text(x + 16, y, name, "n")]
        x += 40 + 7 * len(name)
    return parts


def draw_table(table, y):
    """The parts of a drawing from Y on, and where it ends."""
    rows = list(shown_rows(table))
    if not rows:
        return [], y
    most = max(max(cell["worst"], cell["median"]) if isinstance(cell, dict) else cell or 0
               for _, cells in rows for cell in cells)
    scale = (WIDTH - LEFT - RIGHT) / (most or 1)
    parts = [text(MARGIN, y + LINE, table["title"], "t"), *keys(table, y + 2 * LINE)]
    y += 3 * LINE
    for name, cells in rows:
        parts.append(text(LEFT - 8, y + len(cells) * BAR / 2 + 4, name, anchor="end"))
        for color, cell in zip(COLORS, cells):
            parts += bar(y, cell, color, scale)
            y += BAR
        y += GAP
    return parts, y + LINE


def draw(tables):
    """The text of an SVG file, or "" if no table is to be drawn."""
    parts, y = [], MARGIN
    for table in tables:
        more, y = draw_table(table, y)
        parts += more
    if not parts:
        return ""
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" '
                      f'viewBox="0 0 {WIDTH} {y}">', f"<style>{STYLE}</style>",
                      f'<rect width="{WIDTH}" height="{y}" fill="#fff"/>', *parts, "</svg>", ""])
