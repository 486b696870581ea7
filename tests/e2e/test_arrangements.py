"""Layouts are steps: what one has moved comes back when it is taken back, exactly, and again when it is made again."""

import numpy as np
import pytest
from conftest import unique
from live import Viewer, until_at_rest
from test_document import Page, upload

KEPT = 4


@pytest.fixture
def page(server, alice):
    dataset = upload(alice)
    page = Page(server, dataset, unique("arranged"), "alice")
    page.server, page.headers = server, {"Authorization": f"Bearer {server.token('alice')}"}
    until_at_rest(page)
    yield page
    page.close()


def lay_out(page, name):
    before, frames = page.state["placements"], page.frames
    page.say({"t": "layout", "name": name})
    page.until(lambda: page.state["placements"] > before and page.undo == f"Layout {name}" and page.frames > frames)


def take(page, way):
    """Takes a layout back, or makes it again, and waits for the frame that shows it."""
    frames = page.frames
    assert page.ask(t=way)["t"] == "done"
    page.until(lambda: page.frames > frames)


def shown(page):
    """Where a page that comes now sees the nodes."""
    fresh = Viewer(page.server, page.dataset, page.session, headers=page.headers)
    try:
        fresh.until(lambda: fresh.frames)
        return fresh.positions.copy()
    finally:
        fresh.close()


def near(a, b):
    return np.abs(a - b).max() <= 1e-3 * np.ptp(b, 0).max()


def test_layouts_by_name_are_taken_back_and_made_again(page):
    first = shown(page)
    lay_out(page, "circle")
    circle = shown(page)
    lay_out(page, "grid")
    grid = shown(page)
    assert not near(first, circle) and not near(circle, grid)
    assert page.state["placed_by"] == "grid" and page.document["arrangement"]["number"] == 2
    take(page, "undo")
    page.until(lambda: page.state["placed_by"] == "circle")
    assert near(shown(page), circle)
    take(page, "undo")
    page.until(lambda: page.state["placed_by"] == "")
    assert near(shown(page), first) and "arrangement" not in page.document
    assert page.ask(t="undo")["slug"] == "nothing-to-undo"
    take(page, "redo")
    take(page, "redo")
    page.until(lambda: page.state["placed_by"] == "grid")
    assert near(shown(page), grid)


def test_forces_that_somebody_starts_are_a_step_and_a_pause_is_none(page):
    lay_out(page, "circle")
    circle = shown(page)
    page.say({"t": "play", "on": True, "ms": 60_000})
    page.until(lambda: page.undo == "Run layout" and page.state["playing"])
    page.say({"t": "play", "on": False})
    page.until(lambda: not page.state["playing"])
    page.say({"t": "play", "on": True, "ms": 60_000})
    page.until(lambda: page.state["playing"])
    assert page.ask(t="undo")["t"] == "done", "while it runs"
    page.until(lambda: not page.state["playing"])
    assert near(shown(page), circle)
    assert page.undo == "Layout circle"


def test_steps_between_layouts_stay_in_their_order(page):
    lay_out(page, "circle")
    circle = shown(page)
    page.do({"filters/a": {"kind": "filter", "rule": {"expr": "x > 3"}}}, "Filter x > 3")
    lay_out(page, "grid")
    take(page, "undo")
    assert near(shown(page), circle) and "filters/a" in page.document
    assert page.ask(t="undo")["t"] == "done"
    assert "filters/a" not in page.document and near(shown(page), circle)


def test_only_the_last_arrangements_are_kept_and_what_is_gone_is_not_offered(page):
    for name in ["circle", "grid", "star", "random", "circle", "grid"]:
        lay_out(page, name)
    taken = 0
    while page.ask(t="undo")["t"] == "done":
        taken += 1
    assert taken == KEPT - 1, "one place is for what is made again"
    assert page.undo is None


def test_a_page_cannot_write_the_arrangement(page):
    refused = page.do({"arrangement": {"number": 7, "by": "me"}})
    assert refused["t"] == "refused" and "layout" in refused["message"], refused
