"""The page of a run: what it writes comes by itself, and what is asked of it there happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.chromium import Watcher, watched_page
from tests.browser.first_view import check_first_view
from tests.browser.rota_up import RotaUp
from tests.rota_process import eventually, rota, rota_json

pytestmark = pytest.mark.anyio
BAD = '"><img src=x onerror=alert(1)><script>alert(2)</script>'


@pytest.fixture(scope="module", autouse=True)
def _room(up: RotaUp) -> None:
    rota("pool", "set", "local", "8", db=up.db)


def _add(up: RotaUp, name: str, *words: str, script: str) -> None:
    rota("job", "add", name, "--manual", *words, "--", "sh", "-c", script, db=up.db)


def _run(up: RotaUp, name: str, *words: str) -> str:
    made: str = rota_json("job", "run", name, *words, db=up.db)["run_id"]
    return made


def _shown(up: RotaUp, run: str) -> dict[str, Any]:
    found: dict[str, Any] = rota_json("run", "show", run, db=up.db)
    return found


def _ended(up: RotaUp, run: str) -> dict[str, Any]:
    return eventually(lambda: (found := _shown(up, run))["ended_at"] and found)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_its_log_arrives_and_cancelling_ends_the_child(inside: Page, up: RotaUp, tmp_path: Path) -> None:
    more = tmp_path / "more"
    _add(up, "live", script=f"echo pid $$; while ! test -e {more}; do sleep 0.05; done; echo and more; sleep 600")
    run = _run(up, "live")
    await inside.goto(f"{up.url}/runs/{run}")
    line = inside.locator("run-log").get_by_text("pid ")
    pid = int((await line.inner_text()).split("pid ")[1].split()[0])
    assert _is_alive(pid)
    more.touch()
    await expect(inside.locator("run-log").get_by_text("and more")).to_be_visible()
    await inside.get_by_role("button", name="Cancel", exact=True).click()
    dialog = inside.get_by_role("dialog", name="Cancel this run?")
    await dialog.get_by_label("Why").fill("wrong branch")
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(inside.get_by_role("note")).to_contain_text("wrong branch")
    await expect(inside.get_by_role("button", name="Retry", exact=True)).to_be_visible()
    assert (_shown(up, run)["state"], _shown(up, run)["reason"]) == ("cancelled", "wrong branch")
    assert not _is_alive(pid)


async def test_a_retry_leads_to_the_new_run(inside: Page, up: RotaUp) -> None:
    _add(up, "again", script="exit 3")
    run = _run(up, "again", "--input", '{"ticket": 4711}')
    _ended(up, run)
    await inside.goto(f"{up.url}/runs/{run}")
    await expect(inside.get_by_role("note")).to_contain_text("exit code 3")
    await inside.get_by_role("button", name="Retry", exact=True).click()
    await inside.wait_for_url(lambda url: run not in url)
    new = inside.url.rpartition("/")[2]
    assert _ended(up, new)["input"] == '{"ticket": 4711}'
    await expect(inside.get_by_role("region", name="Input")).to_contain_text('{"ticket": 4711}')
    await expect(inside.get_by_role("heading", level=1)).to_contain_text("failed")


async def test_attempts_and_what_followed_are_linked(inside: Page, up: RotaUp) -> None:
    _add(up, "twice", "--retry", "1", "--retry-first", "1s", script="exit 1")
    rota("job", "add", "then", "--schedule", "after twice on done", "--", "true", db=up.db)
    first = _run(up, "twice")
    await inside.goto(f"{up.url}/runs/{first}")
    family = inside.get_by_role("region", name="What belongs together")
    await expect(family).to_contain_text("attempt 1, this one")
    await expect(family.get_by_role("link", name="then")).to_be_visible(timeout=20_000)
    found = rota_json("run", "family", first, db=up.db)
    second, child = found["attempts"][1]["id"], found["children"][0]["id"]
    await family.locator(f'a[href="/runs/{second}"]').click()
    await expect(family).to_contain_text("attempt 2, this one")
    await family.locator(f'a[href="/runs/{child}"]').click()
    await expect(family).to_contain_text("Set in motion by")
    assert inside.url == f"{up.url}/runs/{child}"


async def test_it_says_what_it_was_told_and_never_a_secret(inside: Page, up: RotaUp, tmp_path: Path) -> None:
    secret, plain = "hunter2-from-a-file", "hunter2-in-the-job"
    (tmp_path / "secret").write_text(secret)
    env = ("--env", f"KEY=file:{tmp_path / 'secret'}", "--env", f"PLAIN={plain}")
    _add(up, "told", *env, "--prompt", "Build <b>all</b> of it.", script="true")
    run = _run(up, "told")
    assert _ended(up, run)["state"] == "succeeded"
    await inside.goto(f"{up.url}/runs/{run}")
    order = inside.get_by_role("region", name="What it was told to do")
    await expect(order).to_contain_text("Build <b>all</b> of it.")
    await order.get_by_text("Environment").click()
    await expect(order.get_by_text(f"file:{tmp_path / 'secret'}")).to_be_visible()
    await expect(order.get_by_text("ROTA_RUN_ID")).to_be_visible()
    await expect(order.get_by_text("ROTA_API_TOKEN")).to_be_visible()
    text = await inside.content()
    assert secret not in text
    assert plain not in text
    why = inside.get_by_role("region", name="Why")
    await expect(why).to_contain_text("manual")
    await expect(why).to_contain_text("succeeded")


async def test_a_run_that_waits_says_for_what(inside: Page, up: RotaUp) -> None:
    _add(up, "one-by-one", script="sleep 600")
    first, second = _run(up, "one-by-one"), _run(up, "one-by-one")
    eventually(lambda: _shown(up, first)["state"] == "running")
    await inside.goto(f"{up.url}/runs/{second}")
    await expect(inside.get_by_text("already_running")).to_contain_text(first)
    rota("run", "cancel", first, db=up.db)
    await expect(inside.get_by_role("heading", level=1)).to_contain_text("running")
    await expect(inside.get_by_text("already_running")).to_have_count(0)
    rota("run", "cancel", second, db=up.db)
    _ended(up, second)


async def test_a_run_of_a_removed_job_still_shows(inside: Page, up: RotaUp) -> None:
    _add(up, "gone", script="echo still here")
    run = _run(up, "gone")
    _ended(up, run)
    rota("job", "remove", "gone", db=up.db)
    await inside.goto(f"{up.url}/runs/{run}")
    await expect(inside.get_by_text("The job was removed.")).to_be_visible()
    await expect(inside.locator("run-log").get_by_text("still here")).to_be_visible()
    await expect(inside.get_by_role("button", name="Retry", exact=True)).to_have_count(0)


async def test_there_is_a_page_for_a_run_that_is_none(inside: Page, up: RotaUp, watcher: Watcher) -> None:
    watcher.expect("status of 404")
    await inside.goto(f"{up.url}/runs/run_nope")
    await expect(inside.get_by_role("alert")).to_contain_text('There is no run "run_nope".')


async def test_what_it_says_does_no_harm(inside: Page, up: RotaUp) -> None:
    _add(up, "hostile", "--prompt", BAD, "--env", f"NAME{BAD}=x", script="printf '%s\\n' \"$ROTA_PROMPT\"; sleep 600")
    run = _run(up, "hostile", "--input", BAD)
    eventually(lambda: _shown(up, run)["state"] == "running")
    rota("run", "cancel", run, "--reason", BAD, db=up.db)
    _ended(up, run)
    await inside.goto(f"{up.url}/runs/{run}")
    await expect(inside.get_by_role("note")).to_contain_text(BAD)
    await expect(inside.get_by_role("region", name="Input")).to_contain_text(BAD)
    await expect(inside.locator("run-log").get_by_text(BAD)).to_be_visible()
    assert await inside.locator("main img, main script").count() == 0


async def test_who_may_only_read_is_offered_nothing_to_do(page: Page, up: RotaUp) -> None:
    _add(up, "look", script="exit 1")
    run = _run(up, "look")
    _ended(up, run)
    await page.goto(up.new_link("read"))
    await page.wait_for_url(f"{up.url}/")
    await page.goto(f"{up.url}/runs/{run}")
    await expect(page.get_by_role("heading", level=1)).to_contain_text("failed")
    await expect(page.get_by_role("button", name="Retry", exact=True)).to_have_count(0)
    await expect(page.get_by_role("link", name="JSON")).to_have_attribute("href", f"/api/v1/runs/{run}")


async def test_the_first_view_is_light_also_while_it_runs(browser: Browser, up: RotaUp) -> None:
    _add(up, "weighed", script="seq 20000; sleep 600")
    run = _run(up, "weighed")
    eventually(lambda: _shown(up, run)["state"] == "running")
    await check_first_view(browser, up, f"/runs/{run}")
    rota("run", "cancel", run, db=up.db)
    _ended(up, run)
    await check_first_view(browser, up, f"/runs/{run}")


async def test_keys_lead_to_the_search_and_away_from_the_log(inside: Page, up: RotaUp) -> None:
    _add(up, "keyed", script="echo hello")
    run = _run(up, "keyed")
    _ended(up, run)
    await inside.goto(f"{up.url}/runs/{run}")
    await inside.get_by_role("log").focus()
    await inside.keyboard.press("/")
    await expect(inside.get_by_role("searchbox", name="Search the log")).to_be_focused()
    await inside.keyboard.press("Escape")
    await expect(inside.get_by_role("log")).to_be_focused()
    await inside.keyboard.type("gj")
    await expect(inside).to_have_url(f"{up.url}/jobs")


async def test_without_javascript_it_says_where_the_output_is(inside: Page, browser: Browser, up: RotaUp) -> None:
    _add(up, "plain", script="echo hello")
    run = _run(up, "plain")
    _ended(up, run)
    async with watched_page(browser, java_script_enabled=False) as (page, watcher):
        # A browser looks for an icon of what is no page.
        watcher.expect("404")
        await page.context.add_cookies(await inside.context.cookies())
        await page.goto(f"{up.url}/runs/{run}")
        await page.get_by_role("link", name="as JSON").click()
        await expect(page.locator("body")).to_contain_text("hello")


async def test_on_a_phone_nothing_is_wider_than_the_page(inside: Page, up: RotaUp) -> None:
    name = "a-very-long-name/" + "x" * 80
    _add(up, name, "--prompt", "y" * 500, script=f"echo {'z' * 500}; exit 1")
    run = _run(up, name)
    _ended(up, run)
    await inside.set_viewport_size({"width": 390, "height": 844})
    await inside.goto(f"{up.url}/runs/{run}")
    await expect(inside.get_by_role("note")).to_contain_text("exit code 1")
    assert await inside.evaluate("document.documentElement.scrollWidth <= innerWidth")
