"""Finds long sentences in prose: documents, manual pages, and comments of C and assembler (tools/check-words).

A sentence ends at a period, a colon, a semicolon, an exclamation or a question mark. A paragraph ends at a blank line,
a list's item, a table's cell, a macro that begins a paragraph. Code and drawings are no prose: blocks between fences, and
lines that are indented by four blanks or have a gap of three. `Inline code` counts as one word.
"""
import re

COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
ITEM = re.compile(r"\s*(?:[-*•]|\d+\.|#+)\s")
END = re.compile(r"(?<=[.!?:;])[)\"'*”]*\s+")
FONTS = re.compile(r"\.(?:B|I|BR|IR|RB|RI|BI|IB|SM|MR)\b ?(.*)")
ESCAPES = re.compile(r"\\f(?:\[\w*\]|.)|\\\(..|\\\[\w+\]|\\[-&,/]|\"")


def paragraphs(lines, starts_paragraph, is_prose):
    """(number of its first line, text) of each paragraph of LINES, which are (number, text)."""
    first, parts = 0, []
    for number, line in lines:
        prose = bool(line.strip()) and is_prose(line)
        if parts and (not prose or starts_paragraph(line)):
            yield first, " ".join(parts)
            parts = []
        if prose:
            first = first if parts else number
            parts.append(ITEM.sub("", line, count=1).strip() if starts_paragraph(line) else line.strip())
    if parts:
        yield first, " ".join(parts)


def starts_item(line):
    return bool(ITEM.match(line))


def no_drawing(line):
    return not line.startswith("    ") and "   " not in line.strip()


def in_document(text):
    fenced, lines = False, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        if line.lstrip().startswith("|") and not fenced:
            lines += [part for cell in line.split("|") for part in ((number, cell.strip()), (number, ""))]
        else:
            lines.append((number, "" if fence or fenced else line))
    return paragraphs(lines, starts_item, lambda line: True)


def in_manual(text):
    verbatim, tag, lines = False, False, []
    for number, line in enumerate(text.splitlines(), 1):
        verbatim = line[:3] in (".nf", ".EX") or (verbatim and line[:3] not in (".fi", ".EE"))
        font = FONTS.match(line)
        if verbatim or (line.startswith(".") and not font):
            lines.append((number, ""))
        else:
            lines.append((number, ESCAPES.sub("", font[1] if font else line)))
            if tag:
                lines.append((number, ""))
        tag = line.startswith(".TP")
    return paragraphs(lines, lambda line: False, lambda line: True)


def in_code(text):
    for match in COMMENT.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        lines = [re.sub(r"^\s*\* ?", "", line) if i else line.strip() for i, line in enumerate(match[1].split("\n"))]
        yield from paragraphs(list(enumerate(lines, first)), starts_item, no_drawing)


def words(sentence):
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


def long_sentences(text, kind, most):
    """(line of its paragraph, the sentence, its words) of each sentence with more than MOST words. KIND: one of the
    functions in_document, in_manual and in_code."""
    for number, paragraph in kind(text):
        for sentence in END.split(re.sub(r"`[^`]*`", "X", paragraph)):
            if words(sentence) > most:
                yield number, sentence, words(sentence)
