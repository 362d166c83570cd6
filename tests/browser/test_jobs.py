"""Jobs: found as one types, paused and run in place; the page of one says when, why, and how it went."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.chromium import Watcher
from tests.browser.rota_up import RotaUp
from tests.rota_process import eventually, rota, rota_json

pytestmark = pytest.mark.anyio


def add(up: RotaUp, name: str, *words: str) -> None:
    rota("job", "add", name, *(words or ("--daily", "03:00")), "--", "/bin/sh", "-c", "echo hello", db=up.db)


async def test_the_list_follows_as_one_types_and_its_address_can_be_shared(inside: Page, up: RotaUp) -> None:
    for name in ("night/one", "night/two", "day/one"):
        add(up, name)
    await inside.goto(f"{up.url}/jobs")
    rows = inside.locator("#jobs tbody tr")
    await inside.keyboard.press("/")
    await inside.keyboard.type("night")
    await expect(rows).to_have_count(2)
    await expect(inside).to_have_url(f"{up.url}/jobs?contains=night")
    await expect(inside.get_by_role("searchbox")).to_be_focused()
    await inside.reload()
    await expect(rows).to_have_count(2)
    await inside.get_by_role("searchbox").fill("nothing like this")
    await expect(inside.locator("#jobs")).to_contain_text("No job fits these filters.")


async def test_a_job_is_paused_with_a_note_and_resumed_in_place(inside: Page, up: RotaUp) -> None:
    add(up, "in-place")
    await inside.goto(f"{up.url}/jobs?contains=in-place")
    row = inside.locator("#jobs tbody tr")
    await row.get_by_role("button", name="Pause", exact=True).click()
    dialog = inside.get_by_role("dialog", name="Pause in-place?")
    await dialog.get_by_label("Why").fill("until Monday")
    await dialog.get_by_role("button", name="Pause").click()
    await expect(row).to_contain_text("paused: until Monday")
    shown = rota_json("job", "show", "in-place", db=up.db)
    assert (shown["status"], shown["pause_note"]) == ("paused", "until Monday")
    (entry,) = rota_json("audit", "in-place", "-n", "1", db=up.db)
    assert (entry["operation"], entry["door"]) == ("job.pause", "page")
    await row.get_by_role("button", name="Resume", exact=True).click()
    await expect(row).to_contain_text("idle")
    assert rota_json("job", "show", "in-place", db=up.db)["status"] == "idle"


async def test_a_note_of_any_length_leaves_everything_in_reach(inside: Page, up: RotaUp) -> None:
    add(up, "noted")
    rota("job", "pause", "noted", "--note", "N" * 1900, db=up.db)
    for wide in (1280, 390):
        await inside.set_viewport_size({"width": wide, "height": 844})
        for address in ("/jobs?contains=noted", "/jobs/noted"):
            await inside.goto(up.url + address)
            resume = await inside.get_by_role("button", name="Resume", exact=True).bounding_box()
            assert resume is not None
            assert resume["x"] + resume["width"] < wide
            assert await inside.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_an_open_page_learns_of_a_pause_and_of_its_end(inside: Page, up: RotaUp) -> None:
    add(up, "open")
    await inside.goto(f"{up.url}/jobs/open")
    await expect(inside.locator("#trouble")).to_be_hidden()
    rota("job", "pause", "open", "--note", "until <b>Monday</b>", db=up.db)
    await expect(inside.locator("#trouble")).to_have_text("Paused: until <b>Monday</b>")
    rota("job", "resume", "open", db=up.db)
    await expect(inside.locator("#trouble")).to_be_hidden()


async def test_an_open_page_learns_that_its_job_was_removed(inside: Page, watcher: Watcher, up: RotaUp) -> None:
    watcher.expect("404")
    add(up, "leaves")
    await inside.goto(f"{up.url}/jobs/leaves")
    rota("job", "remove", "leaves", db=up.db)
    await expect(inside.get_by_role("alert")).to_contain_text('There is no job "leaves"')


async def test_a_time_that_changes_is_in_utc_when_one_points_at_it(inside: Page, up: RotaUp) -> None:
    add(up, "moves", "--every", "1h")
    await inside.goto(f"{up.url}/jobs/moves")
    eventually(lambda: [one for one in rota_json("runs", "moves", db=up.db) if one["ended_at"]])
    rota("job", "edit", "moves", "--daily", "04:05", "--timezone", "UTC", db=up.db)
    next_time = inside.locator("#facts rota-time").first
    await expect(next_time).to_have_attribute("at", re.compile("T04:05:00Z$"))
    await expect(next_time).to_have_attribute("title", re.compile("04:05:00 UTC$"))


async def test_a_dialog_that_is_cancelled_changes_nothing(inside: Page, up: RotaUp) -> None:
    add(up, "stays")
    await inside.goto(f"{up.url}/jobs/stays")
    await inside.get_by_role("button", name="Remove", exact=True).click()
    await inside.get_by_role("dialog").get_by_role("button", name="Back").click()
    await inside.get_by_role("button", name="Disable", exact=True).click()
    await inside.keyboard.press("Escape")
    await expect(inside.get_by_role("dialog")).to_have_count(0)
    assert rota_json("job", "show", "stays", db=up.db)["status"] == "idle"


async def test_run_now_runs_it_and_the_strip_grows(inside: Page, up: RotaUp) -> None:
    add(up, "grows", "--manual")
    await inside.goto(f"{up.url}/jobs?contains=grows")
    row = inside.locator("#jobs tbody tr")
    await expect(row.get_by_role("img", name="no runs yet")).to_be_visible()
    await row.get_by_role("button", name="Run now", exact=True).click()
    await expect(row.get_by_role("img", name="the last 1, oldest first: 1 succeeded")).to_be_visible(timeout=20_000)
    (run,) = rota_json("runs", "grows", db=up.db)
    assert (run["state"], run["cause"]) == ("succeeded", "manual")


async def test_every_action_can_be_copied_as_a_command_that_does_the_same(inside: Page, up: RotaUp) -> None:
    add(up, "copied")
    await inside.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await inside.goto(f"{up.url}/jobs/copied")
    await inside.get_by_role("button", name="Copy as command: rota job disable copied").click()
    command = await inside.evaluate("navigator.clipboard.readText()")
    rota(*command.split()[1:], db=up.db)
    await expect(inside.locator("#head")).to_contain_text("disabled")
    buttons = await inside.locator("action-button").count()
    assert await inside.locator("action-button .copy").count() == buttons > 3


async def test_a_hint_is_given_shown_with_its_reason_and_reverted(inside: Page, up: RotaUp) -> None:
    add(up, "advised", "--every", "6h")
    await inside.goto(f"{up.url}/jobs/advised")
    await inside.get_by_role("button", name="Give a hint", exact=True).click()
    dialog = inside.get_by_role("dialog", name="Advise advised")
    await dialog.get_by_label("Every").fill("30m")
    await dialog.get_by_label("Reason").fill("the queue is long")
    await dialog.get_by_role("button", name="Give a hint").click()
    row = inside.locator("#hints tbody tr")
    await expect(row).to_contain_text("every 30m")
    await expect(row).to_contain_text("the queue is long")
    (hint,) = rota_json("hint", "list", "advised", db=up.db)
    assert (hint["interval"], hint["reason"]) == ("30m", "the queue is long")
    await row.get_by_role("button", name="Revert", exact=True).click()
    await expect(inside.locator("#hints")).to_contain_text("No hint changes its times.")
    assert rota_json("hint", "list", "advised", db=up.db) == []


async def test_a_refused_change_says_why_and_what_to_do(inside: Page, up: RotaUp, watcher: Watcher) -> None:
    watcher.expect("422")
    add(up, "refuses", "--every", "6h")
    await inside.goto(f"{up.url}/jobs/refuses")
    await inside.get_by_role("button", name="Give a hint", exact=True).click()
    dialog = inside.get_by_role("dialog")
    await dialog.get_by_label("Every").fill("5x")
    await dialog.get_by_label("Reason").fill("a test")
    await dialog.get_by_role("button", name="Give a hint").click()
    await expect(inside.locator(".toast.bad")).to_contain_text('Invalid time unit "x"')
    assert rota_json("hint", "list", "refuses", db=up.db) == []


async def test_the_page_of_a_job_says_when_why_and_how_it_went(inside: Page, up: RotaUp) -> None:
    add(up, "whole", "--every", "6h")
    eventually(lambda: [one for one in rota_json("runs", "whole", db=up.db) if one["ended_at"]])
    rota("job", "run", "whole", "--follow", db=up.db)
    await inside.goto(f"{up.url}/jobs/whole")
    await expect(inside.locator("#facts")).to_contain_text("every 6h, counted from the end of the previous run")
    await expect(inside.locator("#coming li")).to_have_count(8)
    await expect(inside.locator("#why li.chosen")).to_contain_text("baseline-interval")
    await expect(inside.locator("#runs tbody tr")).to_have_count(2)
    await expect(inside.locator("#runs svg.bars rect")).to_have_count(2)
    await expect(inside.get_by_role("img", name="The past year: 2 runs on 1 day, 0 failed.")).to_be_visible()
    await expect(inside.get_by_role("img", name="The coming year")).to_be_visible()
    await expect(inside.locator("#definition pre")).to_contain_text("every: 6h")


async def test_a_chain_is_a_graph_that_leads_to_its_jobs(inside: Page, up: RotaUp) -> None:
    add(up, "links/first")
    for name, outcome in (("links/good", "success"), ("links/bad", "failure")):
        rota("job", "add", name, "--from-file", str(_chained(up, name, outcome)), db=up.db)
    await inside.goto(f"{up.url}/jobs/links%2Ffirst")
    await expect(inside.locator("#chain .edge")).to_have_count(2)
    await inside.get_by_role("link", name="links/good, idle").click()
    await expect(inside).to_have_url(f"{up.url}/jobs/links%2Fgood")
    await expect(inside.locator("#chain .node.self")).to_have_count(1)


def _chained(up: RotaUp, name: str, outcome: str) -> Path:
    file = up.folder / f"{name.replace('/', '-')}.yaml"
    file.write_text(f"after: {{job: links/first, on: {outcome}}}\ncommand: [/bin/true]\n")
    return file


async def test_a_removed_job_is_gone_and_its_page_says_so(inside: Page, up: RotaUp, watcher: Watcher) -> None:
    watcher.expect("404")
    add(up, "goes")
    await inside.goto(f"{up.url}/jobs/goes")
    await inside.get_by_role("button", name="Remove", exact=True).click()
    await inside.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(inside).to_have_url(f"{up.url}/jobs")
    assert "goes" not in [one["name"] for one in rota_json("job", "list", db=up.db)]
    answer = await inside.goto(f"{up.url}/jobs/goes")
    assert answer is not None
    assert answer.status == 404
    await expect(inside.get_by_role("alert")).to_contain_text('There is no job "goes"')


async def test_markup_in_words_of_others_is_shown_as_text(inside: Page, up: RotaUp) -> None:
    evil = '<script>window.hurt = 1</script><img src=x onerror="window.hurt = 1">'
    file = up.folder / "evil.yaml"
    file.write_text(f"description: '{evil}'\nevery: 1d\nfirst: after\ncommand: [/bin/echo, '{evil}']\n")
    rota("job", "add", "evil", "--from-file", str(file), db=up.db)
    rota("job", "pause", "evil", "--note", evil, db=up.db)
    for path in ("/jobs", "/jobs/evil", "/audit", "/"):
        await inside.goto(up.url + path)
        assert await inside.evaluate("window.hurt") is None
    await inside.goto(f"{up.url}/jobs/evil")
    await expect(inside.locator("#definition pre")).to_contain_text("<script>window.hurt = 1</script>")
    rota("job", "remove", "evil", db=up.db)


async def test_who_may_only_read_sees_no_actions(page: Page, watcher: Watcher, up: RotaUp) -> None:
    watcher.expect("401")
    add(up, "looked-at")
    await page.goto(up.new_link("read"))
    await page.wait_for_url(f"{up.url}/")
    for path in ("/jobs", "/jobs/looked-at"):
        await page.goto(up.url + path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await expect(page.locator("action-button")).to_have_count(0)
        await expect(page.get_by_role("link", name="Edit")).to_have_count(0)
