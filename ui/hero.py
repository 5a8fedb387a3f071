#!/usr/bin/env python3
"""Draws a golden screen (tests/screens/NAME.txt) as SVG: ui/hero.py tests/screens/approval-80x24.txt > ui/hero.svg

A golden screen is the text, a line of '=', and one role letter per cell. Colors come from roles.def."""
import os
import re
import sys
import unicodedata
from html import escape

CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.43, 18, 14
PALETTE = {-1: "#d4d4d4", 1: "#f14c4c", 2: "#4ec9a0", 3: "#e5c07b", 4: "#569cd6",
           5: "#c586c0", 6: "#4fc1e9", 8: "#8a8f98"}


def read_roles(path):
    """letter -> (color, bold) of the dark theme"""
    roles = {}
    row = re.compile(r'^ROLE\(\w+,\s*"\w+",\s*\'(.)\',\s*(-?\d+),\s*-?\d+,\s*(\w+),')
    for line in open(path):
        m = row.match(line)
        if m:
            roles[m[1]] = (PALETTE[int(m[2])], m[3] == "ATTR_BOLD")
    return roles


def cells(line):
    """the characters of a line with their columns; wide ones take two"""
    column = 0
    for c in line:
        yield column, c
        column += 2 if unicodedata.east_asian_width(c) in "WF" else 1


def runs(line, letters):
    """runs of one role: (column, text, letter)"""
    out = []
    for column, c in cells(line):
        letter = letters[column] if column < len(letters) else " "
        if out and out[-1][2] == letter:
            out[-1][1] += c
        else:
            out.append([column, c, letter])
    return [r for r in out if r[1].strip()]


def main():
    text, _, roles = open(sys.argv[1]).read().partition("\n" + "=" * 80)
    lines, letters = text.split("\n"), roles.lstrip("=").lstrip("\n").split("\n")
    look = read_roles(os.path.join(os.path.dirname(__file__), "term", "roles.def"))
    width, height = 80 * CELL_WIDTH + 2 * MARGIN, len(lines) * CELL_HEIGHT + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
          f'font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14">')
    print(f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#1b1d23"/>')
    for n, line in enumerate(lines):
        y = MARGIN + (n + 1) * CELL_HEIGHT - 4
        for column, part, letter in runs(line, letters[n] if n < len(letters) else ""):
            color, bold = look.get(letter, look[" "])
            weight = ' font-weight="bold"' if bold else ""
            length = len(part) * CELL_WIDTH
            print(f'<text x="{MARGIN + column * CELL_WIDTH:.1f}" y="{y}" fill="{color}"{weight} '
                  f'textLength="{length:.1f}" xml:space="preserve">{escape(part)}</text>')
    print("</svg>")


main()
