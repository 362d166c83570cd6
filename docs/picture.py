"""Draw the README's picture from what the commands really print. Usage: .venv/bin/python docs/picture.py"""

from __future__ import annotations

import subprocess
import sys
from html import escape
from pathlib import Path

COMMANDS = (
    ("explain", "30 2 * * *", "--timezone", "Europe/Berlin", "--after", "2027-03-26T12:00"),
    ("next", "--monthly", "last fri 17:00", "--timezone", "America/New_York", "-n", "3", "--after", "2027-01-01"),
)
LINE, CHARACTER, MARGIN = 20, 8.43, 20
STYLE = "font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre"


def main() -> None:
    lines: list[tuple[str, str]] = []
    for words in COMMANDS:
        shown = " ".join(f'"{word}"' if " " in word else word for word in words)
        lines += [("#7ee787", f"$ rota {shown}"), *(("#e6edf3", line) for line in _output(words)), ("", "")]
    Path(__file__).with_name("images").joinpath("explain.svg").write_text(_svg(lines[:-1]), "utf-8")


def _output(words: tuple[str, ...]) -> list[str]:
    rota = Path(sys.executable).with_name("rota")
    return subprocess.run([rota, *words], capture_output=True, text=True, check=True).stdout.splitlines()


def _svg(lines: list[tuple[str, str]]) -> str:
    width = int(max(len(text) for _, text in lines) * CHARACTER) + 2 * MARGIN
    height = len(lines) * LINE + 2 * MARGIN
    texts = "\n".join(
        f'<text x="{MARGIN}" y="{MARGIN + LINE * row + 14}" fill="{_colour(colour, text)}">{escape(text)}</text>'
        for row, (colour, text) in enumerate(lines)
        if text
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="rota explains a schedule">\n<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n'
        f'<g style="{STYLE}">\n{texts}\n</g>\n</svg>\n'
    )


def _colour(colour: str, text: str) -> str:
    return "#e3b341" if "clocks " in text else colour


if __name__ == "__main__":
    main()
