"""What EXPLAIN says, as text and as a picture: operators, units, devices, prices and measured times, the host's parts marked."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from html import escape
from typing import Any, Iterable

_OPERATOR = re.compile(
    r"(?P<who>method|RayQL|host) (?P<name>.*), about (?P<about>\S+) rows"
    r"(?:; (?P<rows>\d+) in (?P<time>[\d.]+ \w+)(?:, device (?P<device>[\d.]+ \w+))?)?$"
)
_METHOD = re.compile(r"method: (?P<name>\S+) on (?P<unit>\w+) \((?P<device>.*)\), structure (?P<about>.*)$")
_FORBIDDEN = re.compile("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML cannot hold, even escaped
_WIDEST = 46  # characters of a line in a box


@dataclass
class _Box:
    """An operator: its title, lines about it, and its inputs."""

    who: str  # "method", "RayQL" or "host"
    title: str
    lines: list[str] = field(default_factory=list)
    inputs: list[_Box] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0

    @property
    def is_host(self) -> bool:
        return self.who == "host"

    @property
    def height(self) -> float:
        return 26 + 15 * len(self.lines)


# ---- reading the text ----
def _measured(match: re.Match[str]) -> list[str]:
    lines = [f"about {match['about']} rows" + (f", {match['rows']} came" if match["rows"] else "")]
    if match["time"]:
        lines.append(f"{match['time']} measured" + (f", {match['device']} on the device" if match["device"] else ""))
    return lines


def _operator(match: re.Match[str]) -> _Box:
    who, name = match["who"], match["name"]
    if who == "host":
        name, _, reason = name.partition(" and below (")
        return _Box(who, f"DuckDB: {name} and below", [reason.rstrip(")"), *_measured(match)])
    return _Box(who, name, _measured(match))


class _Text:
    """The lines of `rayql_plan`, sorted by what they are about."""

    def __init__(self, plan: str) -> None:
        self.boxes: list[_Box] = []  # operators without inputs above them: the roots
        self.above: list[str] = []
        self.below: list[str] = []
        self._methods: list[_Box] = []
        self._prices: list[str] = []
        self._stack: list[tuple[int, _Box]] = []
        for line in plan.splitlines():
            self._take(line)
        if not self.boxes:
            self.boxes = self._methods
        self._give_leaves()

    def _take(self, line: str) -> None:
        depth, text = len(line) - len(line.lstrip(" ")), line.strip()
        method, operator = _METHOD.match(text), _OPERATOR.match(text)
        if method:
            lines = [f"{method['unit']} on {method['device']}", method["about"]]
            self._methods.append(_Box("method", method["name"], lines))
        elif operator and depth:
            self._add(depth, _operator(operator))
        elif text.startswith("* ") and ": " in text:
            self._prices.append(text[2:].rpartition(": ")[2])
            self.below.append("chosen: " + text[2:])
        elif text.startswith("pass ") and self._stack:
            self._stack[-1][1].lines.append(text)
        elif text.startswith("join with ") and self._methods:
            name, _, about = text.removeprefix("join with ").partition(": ")
            who = "host" if "; rows by the host" in about else "RayQL"
            self._methods[-1].inputs.append(_Box(who, f"map of {name}", about.split("; ")))
        elif text.startswith(("under rows ", "rows: ")) and self._methods:
            self._methods[-1].lines.append(text)
        elif text.startswith(("reason: ", "finish: ")):
            self.above.append(text)
        elif text != "candidates:":
            self.below.append(text)

    def _add(self, depth: int, box: _Box) -> None:
        while self._stack and self._stack[-1][0] >= depth:
            self._stack.pop()
        (self._stack[-1][1].inputs if self._stack else self.boxes).append(box)
        self._stack.append((depth, box))

    def _give_leaves(self) -> None:
        """To each method of the tree: its unit, device, structure and price, which stand before and after the tree."""
        leaves = [box for root in self.boxes for box in _all(root) if box.who == "method"]
        for leaf, method in zip(leaves, self._methods):
            if leaf is not method:
                leaf.title = leaf.title.partition(" on ")[0]
                leaf.lines[:0] = method.lines
                leaf.inputs = method.inputs
        if len(leaves) == len(self._prices):
            for leaf, price in zip(leaves, self._prices):
                leaf.lines.append("price " + price.partition(",")[0])


def _all(box: _Box) -> Iterable[_Box]:
    yield box
    for child in box.inputs:
        yield from _all(child)


# ---- drawing ----
def _wrap(lines: Iterable[str], width: int) -> list[str]:
    return [part for line in lines for part in textwrap.wrap(line, width, break_on_hyphens=False) or [""]]


def _place(box: _Box, x: float, y: float) -> float:
    """Puts a tree at (x, y) and gives its width: inputs side by side, below what reads them."""
    box.lines = _wrap(box.lines, _WIDEST)
    box.width = 24 + 7.3 * max(len(line) for line in [box.title + "  RayQL", *box.lines])
    below = y + box.height + 34
    right = x
    for child in box.inputs:
        right += _place(child, right, below) + 24
    span = max(box.width, right - x - 24 if box.inputs else 0)
    if box.inputs:
        shift = (span - (right - x - 24)) / 2
        for child in box.inputs:
            _shift(child, shift)
    box.x, box.y = x + (span - box.width) / 2, y
    return span


def _shift(box: _Box, by: float) -> None:
    for one in _all(box):
        one.x += by


def _text(x: float, y: float, line: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(_FORBIDDEN.sub("�", line))}</text>'


def _draw(box: _Box) -> list[str]:
    style = "host" if box.is_host else "method" if box.who == "method" else "own"
    out = [
        f'<rect class="{style}" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="5"/>',
        _text(box.x + 12, box.y + 17, box.title, ' class="title"'),
        _text(box.x + box.width - 8, box.y + 17, "host" if box.is_host else "RayQL", ' class="badge" text-anchor="end"'),
    ]
    out += [_text(box.x + 12, box.y + 34 + 15 * i, line) for i, line in enumerate(box.lines)]
    for child in box.inputs:  # rows go up
        out.append(
            f'<path class="edge" marker-end="url(#rayql-arrow)" d="M{child.x + child.width / 2:.1f} {child.y:.1f} '
            f'L{box.x + box.width / 2:.1f} {box.y + box.height + 3:.1f}"/>'
        )
        out += _draw(child)
    return out


_STYLE = {  # by names of its own: a notebook may put several pictures into one page
    ".page": "fill:#fff",
    "text": "font:12px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#222;white-space:pre",
    ".title": "font-weight:bold",
    ".badge": "font-size:10px;fill:#555",
    ".note": "fill:#555",
    ".own": "fill:#eaf3fb;stroke:#3b7ab8",
    ".method": "fill:#e2f3e4;stroke:#2f8a43;stroke-width:2",
    ".host": "fill:#fdeed9;stroke:#c96a00;stroke-width:2;stroke-dasharray:6 3",
    ".edge": "stroke:#777;fill:none",
}
_ARROW = (
    '<marker id="rayql-arrow" markerWidth="7" markerHeight="7" refX="6" refY="3" orient="auto">'
    '<path d="M0 0L6 3L0 6z" fill="#777"/></marker>'
)


def _page(width: float, height: float, parts: list[str]) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}"'
    style = "".join(f".rayql-plan {name}{{{rules}}}" for name, rules in _STYLE.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rayql-plan" {size} viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
        f"<title>EXPLAIN of RayQL</title><defs><style>{style}</style>{_ARROW}</defs>"
        f'<rect class="page" {size}/>' + "".join(parts) + "</svg>"
    )


def _lines(lines: list[str], y: float, style: str = "note") -> list[str]:
    return [_text(16, y + 15 * i, line, f' class="{style}" xml:space="preserve"') for i, line in enumerate(lines)]


def _picture_of_tree(plan: str) -> str:
    text = _Text(plan)
    above = _wrap(text.above, 110)
    top, x = 30 + 15 * len(above), 16.0
    for root in text.boxes:
        x += _place(root, x, top) + 24
    boxes = [box for root in text.boxes for box in _all(root)]
    bottom = max((box.y + box.height for box in boxes), default=top)
    below = _wrap(text.below, 110)
    parts = _lines(above, 24)
    for root in text.boxes:
        parts += _draw(root)
    parts += _lines(below, bottom + 26)
    widest = max([x - 8, *(32 + 7.3 * len(line) for line in above + below)])
    return _page(widest, bottom + 24 + 15 * len(below), parts)


def _picture_of_host(plan: str, drawn: list[str]) -> str:
    """DuckDB answers the whole statement: its own drawing, in a box that says so."""
    own = [line for text in drawn for line in text.splitlines()]
    box = _Box("host", "DuckDB answers the whole statement", _wrap([plan.removeprefix("host: ")], 80))
    count = len(box.lines)
    box.lines += ["", *own]
    box.width = 24 + 7.3 * max(len(line) for line in [box.title + "  host", *box.lines])
    box.x = box.y = 16
    parts = _draw(box)[: 3 + count] + [
        _text(box.x + 12, box.y + 49 + 15 * (count + i), line, ' xml:space="preserve"') for i, line in enumerate(own)
    ]
    return _page(box.width + 32, box.height + 32, parts)


class Plan(str):
    """What EXPLAIN says: a text, which notebooks show as a picture. `svg` is the picture's source."""

    _rows: list[tuple[str, str]]

    @classmethod
    def of(cls, rows: list[tuple[str, str]]) -> Plan:
        """From the rows of an EXPLAIN: keys and values."""
        plan = cls("\n".join(value.rstrip("\n") for _, value in rows))
        plan._rows = rows
        return plan

    @property
    def svg(self) -> str:
        own = [value for key, value in self._rows if key == "rayql_plan"]
        if own and not own[0].startswith("host: "):
            return _picture_of_tree(own[0])
        return _picture_of_host(own[0] if own else "", [value for key, value in self._rows if key != "rayql_plan"])

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def __repr__(self) -> str:
        return str(self)
