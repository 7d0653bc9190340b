#!/usr/bin/env python3
"""Writes shell/width_table.h: what every code point of Unicode takes on a terminal in DuckDB's own shell, and with what
it is one character. Run by hand, once for a new version of DuckDB: make_width_table.py DUCKDB.

The shell prints each code point alone and beside others, in columns; the spaces behind a text say how wide it is."""
import os
import re
import subprocess
import sys

KA, VIRAMA, WOMAN, JOINER = 0x915, 0x94D, 0x1F469, 0x200D
TEXTS = [("", ""), ("x", ""), ("", "x"), (chr(KA) + chr(VIRAMA), ""), (chr(WOMAN) + chr(JOINER), "")]
ALONE, BEHIND, BEFORE, VIRAMA_FORM, JOINED = range(5)
COLUMN, FIRST = 10, 0x21


def sql_text(text):
    return "||".join(f"chr({ord(c)})" for c in text)


def measure(duckdb):
    """{code point: the width of each text with it}"""
    columns = ", ".join("||".join(filter(None, [sql_text(a), "chr(i)", sql_text(b)])) + " AS c" for a, b in TEXTS)
    script = (f".mode column\n.width {COLUMN - 2}{f' {COLUMN}' * len(TEXTS)}\n"
              f"SELECT i, {columns} FROM (SELECT i::INTEGER AS i FROM range({FIRST}, {sys.maxunicode + 1}) r(i)) "
              "WHERE i NOT BETWEEN 55296 AND 57343;\n")
    printed = subprocess.run([duckdb, "-no-init"], input=script.encode(), stdout=subprocess.PIPE, check=True).stdout
    widths = {}
    for line in printed.decode().split("\n")[2:-1]:
        code, pos, found = int(re.match(r"\d+", line).group()), COLUMN, []
        for number, (before, after) in enumerate(TEXTS):
            text = before + chr(code) + after
            assert line.startswith(text, pos), hex(code)
            pos += len(text)
            spaces = len(line[pos:]) - len(line[pos:].lstrip(" "))
            pos += spaces
            found.append(COLUMN + (2 if number + 1 < len(TEXTS) else 0) - spaces)
        widths[code] = found
    return widths


def table(name, comment, codes):
    ranges = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    lines, line = [], "\t"
    for first, last in ranges:
        item = f"{{0x{first:x}, 0x{last:x}}}, "
        if len(line) + 3 + len(item) > 118:
            lines.append(line.rstrip())
            line = "\t"
        line += item
    return f"/* {comment} */\nstatic const struct rql_sh_range {name}[] = {{\n" + "\n".join(lines + [line.rstrip()]) + "\n};\n\n"


def main():
    widths = measure(sys.argv[1])
    header = """/* Code points and the terminal columns that they take, as DuckDB 1.5.6's shell counts them. Written by
 * tests/shell/make_width_table.py. An own table rather than wcwidth(), because tables must come out alike whatever the
 * locale and the C library are. Sorted. */
#ifndef RQL_SHELL_WIDTH_TABLE_H
#define RQL_SHELL_WIDTH_TABLE_H

#include <stdint.h>

struct rql_sh_range {
	uint32_t first, last;
};

"""
    def where(condition):
        return [code for code, w in widths.items() if condition(code, w)]
    text = header
    text += table("zero_width", "no column: marks, format characters, separators of lines and paragraphs",
                  where(lambda code, w: w[ALONE] == 0 and code >= 0x300))
    text += table("double_width", "two columns", where(lambda code, w: w[ALONE] == 2))
    text += table("extending", "columns of their own, but none behind another character, whose part they then are",
                  where(lambda code, w: w[ALONE] > 0 and w[BEHIND] == 1))
    text += table("prepended", "what follows is a part of them",
                  where(lambda code, w: w[BEFORE] == w[ALONE] > 0 or w[BEFORE] == 0))
    text += table("consonants", "part of a character behind a consonant and a virama",
                  where(lambda code, w: w[VIRAMA_FORM] == 1 and w[ALONE] > 0 and w[BEHIND] > 1))
    text += table("pictographs", "may be glued to each other by a joiner",
                  where(lambda code, w: w[JOINED] == 2 and w[ALONE] > 0 and w[BEHIND] > 1))
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "../../shell/width_table.h"), "w", encoding="utf-8") as file:
        file.write(text + "#endif\n")


main()
