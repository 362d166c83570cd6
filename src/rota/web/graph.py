"""The graph of a chain: a column for each step, parents to the left of their children."""

from __future__ import annotations

from collections import Counter

import msgspec

from rota.operations.chains import Chain, ChainJob

_WIDE, _TALL = 190, 34
_APART, _BELOW = 70, 14


class Node(msgspec.Struct, frozen=True):
    job: ChainJob
    x: int
    y: int
    width: int = _WIDE
    height: int = _TALL


class Edge(msgspec.Struct, frozen=True):
    path: str
    on: str
    text: str


class Graph(msgspec.Struct, frozen=True):
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    width: int
    height: int


def draw_chain(chain: Chain) -> Graph | None:
    """Where each job stands; none for a job that stands alone."""
    if not chain.links:
        return None
    first = min(one.depth for one in chain.jobs)
    filled: Counter[int] = Counter()
    places: dict[str, Node] = {}
    for one in chain.jobs:
        column = one.depth - first
        places[one.name] = Node(one, column * (_WIDE + _APART), filled[column] * (_TALL + _BELOW))
        filled[column] += 1
    edges = tuple(
        Edge(_curve(places[link.parent], places[link.child]), link.on, _text(link.on, link.when, link.delay))
        for link in chain.links
        if link.parent in places and link.child in places
    )
    width = (max(filled) + 1) * (_WIDE + _APART) - _APART
    return Graph(tuple(places.values()), edges, width, max(filled.values()) * (_TALL + _BELOW) - _BELOW)


def _curve(parent: Node, child: Node) -> str:
    """From the right of one to the left of the other."""
    x, y = parent.x + _WIDE, parent.y + _TALL // 2
    to_x, to_y = child.x, child.y + _TALL // 2
    bend = max(_APART // 2, abs(to_x - x) // 2)
    return f"M{x} {y}C{x + bend} {y} {to_x - bend} {to_y} {to_x} {to_y}"


def _text(on: str, when: str | None, delay: str | None) -> str:
    parts = [f"on {on}", f"when {when}" if when else "", f"after {delay}" if delay else ""]
    return ", ".join(part for part in parts if part)
