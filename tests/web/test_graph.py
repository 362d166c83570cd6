"""The graph of a chain: parents to the left of their children, nothing on top of anything."""

from __future__ import annotations

from rota.operations.chains import Chain, ChainJob, ChainLink
from rota.web.graph import draw_chain


def job(name: str, depth: int) -> ChainJob:
    return ChainJob(name=name, status="idle", is_self=depth == 0, depth=depth)


def link(parent: str, child: str, **more: str) -> ChainLink:
    return ChainLink(
        parent=parent, child=child, on=more.get("on", "success"), when=more.get("when"), delay=more.get("delay")
    )


def test_a_job_that_stands_alone_has_no_graph() -> None:
    assert draw_chain(Chain(jobs=(job("a", 0),), links=())) is None


def test_parents_stand_left_of_their_children_and_apart_from_each_other() -> None:
    chain = Chain(
        jobs=(job("build", -1), job("test", 0), job("deploy", 1), job("tell", 1)),
        links=(link("build", "test"), link("test", "deploy"), link("test", "tell", on="failure", delay="5m")),
    )
    graph = draw_chain(chain)
    assert graph is not None
    places = {node.job.name: (node.x, node.y) for node in graph.nodes}
    assert places["build"][0] < places["test"][0] < places["deploy"][0] == places["tell"][0]
    assert len(set(places.values())) == 4
    assert all(node.x + node.width <= graph.width and node.y + node.height <= graph.height for node in graph.nodes)


def test_edges_say_when_they_are_taken() -> None:
    chain = Chain(jobs=(job("a", 0), job("b", 1)), links=(link("a", "b", on="failure", when="timeout", delay="5m"),))
    graph = draw_chain(chain)
    assert graph is not None
    (edge,) = graph.edges
    assert (edge.on, edge.text) == ("failure", "on failure, when timeout, after 5m")
    begin, end = edge.path.removeprefix("M").split("C")
    a, b = graph.nodes
    assert begin == f"{a.x + a.width} {a.y + a.height // 2}"
    assert end.endswith(f"{b.x} {b.y + b.height // 2}")
