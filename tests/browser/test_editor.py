"""The editor of a job: previewed while it is written, saved when it is whole, never lost when it is not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Dialog, Page, expect

from tests.browser.chromium import Watcher, watched_page
from tests.browser.first_view import check_first_view
from tests.browser.rota_up import RotaUp, rota_up
from tests.rota_process import rota, rota_json

pytestmark = pytest.mark.anyio
TEMPTING = " two\nlines\n\n  indented <b>&amp;</b> 'quoted' \"so\" \t tab \u2028 sep \\ back ${X} 😀 </textarea>"


def definition(up: RotaUp, job: str) -> dict[str, object]:
    found: dict[str, object] = rota_json("job", "show", job, db=up.db)["definition"]
    return found


async def open_editor(page: Page, up: RotaUp, job: str) -> None:
    await page.goto(f"{up.url}/jobs/{job.replace('/', '%2F')}/edit")


async def saved(page: Page, up: RotaUp, job: str) -> None:
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.wait_for_url(f"{up.url}/jobs/{job.replace('/', '%2F')}")


async def test_a_job_is_added_with_its_times_in_view(inside: Page, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/new-job?agent=coder")
    await expect(inside.get_by_label("Name")).to_have_value("coder/")
    await inside.get_by_label("Name").fill("coder/nightly")
    await inside.get_by_label("Timezone").fill("Asia/Tokyo")
    await inside.get_by_label("Schedule").fill("daily 03:15")
    preview = inside.get_by_label("Preview")
    await expect(preview).to_contain_text("every day at 03:15")
    times = preview.get_by_role("list", name="Next times").get_by_role("listitem")
    await expect(times).to_have_count(5)
    await expect(times.first).to_contain_text("03:15:00 Asia/Tokyo")
    await inside.get_by_label("Command line").fill("/bin/echo 'good night'")
    await inside.get_by_label("Description").fill("Says good night.")
    await inside.get_by_label("As YAML").fill("timeout: 10m\nretry: {max: 2}\n")
    await saved(inside, up, "coder/nightly")
    assert definition(up, "coder/nightly") == {
        "description": "Says good night.",
        "daily": "03:15",
        "timezone": "Asia/Tokyo",
        "command": ["/bin/echo", "good night"],
        "timeout": "10m",
        "retry": {"max": 2},
    }
    assert rota_json("job", "show", "coder/nightly", db=up.db)["agent"] == "coder"
    (change,) = rota_json("audit", "coder/nightly", db=up.db)
    assert (change["operation"], change["door"]) == ("job.add", "page")


async def test_a_request_keeps_its_further_words_beside_its_fields(inside: Page, up: RotaUp) -> None:
    request = ("--url", "https://example.org/a", "--method", "POST", "--body", "x")
    rota("job", "add", "ping", "--every", "1h", *request, db=up.db)
    await open_editor(inside, up, "ping")
    await expect(inside.get_by_role("radio", name="Send a request")).to_be_checked()
    await expect(inside.get_by_label("Method")).to_have_value("POST")
    await expect(inside.get_by_label("Command line")).to_be_hidden()
    await inside.get_by_label("URL").fill("https://example.org/b")
    await saved(inside, up, "ping")
    assert definition(up, "ping")["http"] == {"url": "https://example.org/b", "method": "POST", "body": "x"}


async def test_an_edit_changes_only_what_was_edited(inside: Page, up: RotaUp, tmp_path: Path) -> None:
    words = {
        "weekly": {"on": ["mon", "thu"], "at": "09:00"},
        "timezone": "Europe/Berlin",
        "command": ["/bin/echo", TEMPTING, "a b", "", "$HOME"],
        "prompt": TEMPTING,
        "description": "First line\r\nsecond",
        "stdin": "\n\n x",
        "env": {"A": "1"},
        "quiet": ["22:00-07:00", "sat"],
    }
    file = tmp_path / "job.yaml"
    file.write_text(json.dumps(words, ensure_ascii=False))
    rota("job", "add", "tempting", "--from-file", str(file), db=up.db)
    before = definition(up, "tempting")
    await open_editor(inside, up, "tempting")
    await inside.get_by_label("Schedule").fill("weekly mon,thu 09:30")
    await saved(inside, up, "tempting")
    assert definition(up, "tempting") == {**before, "weekly": {"on": ["mon", "thu"], "at": "09:30"}}


async def test_a_wrong_schedule_shows_what_is_wrong_and_is_not_saved(inside: Page, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/new-job")
    await inside.get_by_label("Name").fill("wrong")
    await inside.get_by_label("Command line").fill("/bin/true")
    await inside.get_by_label("Schedule").fill("every 5x")
    await expect(inside.locator('[data-problem="schedule"]')).to_contain_text("5x")
    await expect(inside.get_by_label("Schedule")).to_have_attribute("aria-invalid", "true")
    await inside.get_by_role("button", name="Save", exact=True).click()
    await expect(inside.get_by_label("Schedule")).to_be_focused()
    await expect(inside.get_by_label("Command line")).to_have_value("/bin/true")
    assert "wrong" not in [one["name"] for one in rota_json("job", "list", db=up.db)]
    await inside.get_by_label("Schedule").fill("every 5m")
    await expect(inside.locator('[data-problem="schedule"]')).to_be_hidden()
    await saved(inside, up, "wrong")
    assert definition(up, "wrong")["every"] == "5m"


async def test_each_wrong_value_is_shown_at_its_own_field(inside: Page, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/new-job")
    await inside.get_by_label("Name").fill("bad name")
    await inside.get_by_label("Timezone").fill("Europe/Berlim")
    await inside.get_by_role("radio", name="Send a request").check()
    await inside.get_by_label("URL").fill("nowhere")
    for word, said in (("name", "letters, digits"), ("timezone", "Europe/Berlin"), ("http.url", "URL")):
        await expect(inside.locator(f'[data-problem="{word}"]')).to_contain_text(said)
        await expect(inside.locator(f'[data-word="{word}"]')).to_have_attribute("aria-invalid", "true")
    assert "bad name" not in [one["name"] for one in rota_json("job", "list", db=up.db)]


async def test_a_wrong_rule_is_shown_with_its_line(inside: Page, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/new-job")
    await inside.get_by_label("Schedule").fill("every 5m")
    await inside.get_by_label("As YAML").fill("timeout: 5m\nretrys: {max: 2}\n")
    await expect(inside.get_by_label("As YAML")).to_have_attribute("aria-invalid", "true")
    await expect(inside.locator("#field-rules-problem")).to_contain_text("Line 2:")
    await inside.get_by_label("As YAML").fill("timeout: 5m\n")
    await expect(inside.locator("#field-rules-problem")).to_be_hidden()
    await expect(inside.get_by_label("Preview")).to_contain_text("every 5m, counted")


async def test_what_is_missing_is_said_once_it_is_to_be_saved(inside: Page, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/new-job")
    await expect(inside.get_by_label("Preview")).to_contain_text("Write a schedule")
    await expect(inside.locator("[data-problem]:visible")).to_have_count(0)
    await inside.get_by_role("button", name="Save", exact=True).click()
    await expect(inside.get_by_label("Name")).to_be_focused()
    await inside.get_by_label("Name").fill("nothing")
    await inside.get_by_role("button", name="Save", exact=True).click()
    await expect(inside.locator('[data-problem="schedule"]')).to_contain_text("no schedule")
    await expect(inside.locator('[data-problem="command"]')).to_contain_text("no action")


async def test_a_name_that_is_taken_keeps_the_text(inside: Page, watcher: Watcher, up: RotaUp) -> None:
    watcher.expect("status of 409")
    rota("job", "add", "taken", "--manual", "--", "/bin/true", db=up.db)
    await inside.goto(f"{up.url}/new-job")
    await inside.get_by_label("Name").fill("taken")
    await inside.get_by_label("Schedule").fill("manual")
    await inside.get_by_label("Command line").fill("/bin/false")
    await inside.get_by_role("button", name="Save", exact=True).click()
    await expect(inside.get_by_role("alert")).to_contain_text("taken")
    await expect(inside.get_by_label("Command line")).to_have_value("/bin/false")
    assert definition(up, "taken")["command"] == ["/bin/true"]


async def test_somebody_who_was_faster_is_not_overwritten_unless_one_wants_it(
    inside: Page, watcher: Watcher, up: RotaUp
) -> None:
    watcher.expect("status of 412")
    rota("job", "add", "shared", "--every", "5m", "--", "/bin/echo", db=up.db)
    await open_editor(inside, up, "shared")
    await inside.get_by_label("Description").fill("Mine")
    rota("job", "edit", "shared", "--every", "7m", db=up.db)
    await inside.get_by_role("button", name="Save", exact=True).click()
    await expect(inside.get_by_role("alert")).to_contain_text("Somebody changed it meanwhile")
    await expect(inside.get_by_label("Description")).to_have_value("Mine")
    assert definition(up, "shared")["every"] == "7m"
    await inside.get_by_role("button", name="Save mine over it").click()
    await inside.wait_for_url(f"{up.url}/jobs/shared")
    assert definition(up, "shared") == {**definition(up, "shared"), "every": "5m", "description": "Mine"}


async def test_leaving_with_unsaved_changes_asks(inside: Page, up: RotaUp) -> None:
    asked: list[str] = []

    async def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        await dialog.dismiss()

    inside.on("dialog", stay)
    await inside.goto(f"{up.url}/new-job")
    await inside.get_by_label("Name").fill("half")
    await inside.get_by_role("link", name="Cancel").click()
    await expect(inside.get_by_label("Name")).to_have_value("half")
    assert asked == ["beforeunload"]
    await inside.get_by_label("Name").fill("")
    await inside.get_by_role("link", name="Cancel").click()
    await inside.wait_for_url(f"{up.url}/jobs")
    assert asked == ["beforeunload"]


async def test_it_says_that_the_server_is_gone_until_it_is_back(browser: Browser, tmp_path: Path) -> None:
    with rota_up(tmp_path, "--no-file") as up:
        async with watched_page(browser) as (page, watcher):
            watcher.expect("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "401")
            await page.goto(up.link)
            await page.wait_for_url(f"{up.url}/")
            await page.goto(f"{up.url}/new-job")
            await page.get_by_label("Name").fill("kept")
            up.kill()
            mark = page.locator("[data-offline]")
            await expect(mark).to_have_text("Offline, reconnecting…", timeout=20_000)
            up.begin()
            await expect(mark).to_have_text("", timeout=20_000)
            await expect(page.get_by_label("Name")).to_have_value("kept")


async def test_a_job_from_a_file_says_where_it_is_changed(inside: Page, up: RotaUp) -> None:
    file = up.folder / "fleet.yaml"
    file.write_text("fleet: {name: home}\njobs:\n  filed: {every: 5m, command: [/bin/echo]}\n")
    rota("apply", str(file), db=up.db)
    await open_editor(inside, up, "filed")
    await expect(inside.get_by_role("main")).to_contain_text(f"{file}:3")
    await expect(inside.get_by_role("main")).to_contain_text(f"rota apply {file}")
    await expect(inside.get_by_role("main")).to_contain_text("every: 5m")
    await expect(inside.locator("form.editor")).to_have_count(0)


async def test_who_may_not_add_a_job_proposes_it(page: Page, watcher: Watcher, up: RotaUp) -> None:
    watcher.expect("status of 403")
    await page.goto(up.new_link("operate"))
    await page.wait_for_url(f"{up.url}/")
    await page.goto(f"{up.url}/jobs/anything/edit")
    await expect(page.get_by_role("alert")).to_contain_text("admin")
    await page.goto(f"{up.url}/new-job")
    await page.get_by_label("Name").fill("idea")
    await page.get_by_label("Schedule").fill("every 5m")
    await page.get_by_label("Command line").fill("/bin/echo")
    await page.get_by_role("button", name="Propose").click()
    await page.wait_for_url(f"{up.url}/jobs/idea")
    assert rota_json("job", "show", "idea", db=up.db)["status"] == "proposed"


async def test_the_form_can_be_copied_as_a_command_that_does_the_same(inside: Page, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/new-job")
    await inside.get_by_label("Name").fill("copied")
    await inside.get_by_label("Schedule").fill("every 5m")
    await inside.get_by_label("Command line").fill("/bin/echo 'a  b'")
    copy = inside.get_by_role("button", name="Copy as command")
    await expect(copy).to_have_attribute("data-copy", re.compile("a  b"))
    command, _, text = (await copy.get_attribute("data-copy") or "").partition(" <<'ROTA'\n")
    assert command == "rota job add copied --from-file -"
    assert json.loads(text.removesuffix("\nROTA"))["command"] == "/bin/echo 'a  b'"


async def test_the_first_view_is_light(browser: Browser, up: RotaUp) -> None:
    rota("job", "add", "light", "--every", "5m", "--", "/bin/echo", db=up.db)
    for path in ("/new-job", "/jobs/light/edit"):
        await check_first_view(browser, up, path)
