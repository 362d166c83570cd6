"""The log of a run in a real browser: its end first, the rest when wanted, live, and harmless whatever it says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.api.house import House, open_house, seed
from tests.api.test_streams import come_true
from tests.browser.stage import Stage, lines, pieces_of, raise_stage
from tests.stores import Servers, opened

pytestmark = pytest.mark.anyio
MILLION = 1_000_000
BOX = "document.querySelector('.log-box')"


@pytest.fixture
async def house(tmp_path: Path, servers: Servers) -> AsyncIterator[House]:
    async with opened("sqlite", tmp_path, servers) as store, open_house(store) as ready:
        await seed(ready.site)
        yield ready


@pytest.fixture
async def stage(house: House, page: Page) -> Stage:
    return await raise_stage(house, page)


async def test_the_end_is_shown_first_and_the_rest_comes_when_somebody_scrolls_up(stage: Stage) -> None:
    await stage.write(*(lines(number * 100 + 1, number * 100 + 100) for number in range(150)))
    await stage.show()
    assert (await stage.seen())[-1] == "line 15000"
    assert len(stage.pages_asked) == 1
    last = int((await stage.page.locator(".log-count").inner_text()).split()[2].replace(",", ""))
    assert 5_000 < last < 10_000
    await stage.box.hover()
    await stage.page.mouse.wheel(0, -100)
    await stage.until("() => box().scrollTop < box().scrollHeight - box().clientHeight - 90".replace("box()", BOX))
    assert len(stage.pages_asked) == 1
    await stage.box.evaluate("box => { box.scrollTop = 500; }")
    await stage.until_counted("15,000 lines")
    assert len(stage.pages_asked) == 2
    # What was in view still is, though there is more above it.
    assert (await stage.seen())[0] == f"line {15_000 - last + 26}"
    await stage.box.press("Home")
    assert (await stage.seen())[0] == "line 1"


async def test_line_500_000_of_a_million_is_found_and_scrolled_to(stage: Stage) -> None:
    text = "".join(f"{number}\n" for number in range(1, MILLION + 1))
    await stage.write(*pieces_of(text))
    await stage.show()
    assert (await stage.seen())[-1] == str(MILLION)
    await stage.search("500000")
    await stage.until_found("1 of 1 line")
    await stage.until_counted("1,000,000 lines")
    seen = await stage.seen()
    assert "500000" in seen
    assert seen == [str(number) for number in range(int(seen[0]), int(seen[0]) + len(seen))]
    assert await stage.page.locator(".log-chosen mark").all_text_contents() == ["500000"]
    assert await stage.rows.count() < 200
    assert len(stage.pages_asked) < 12


async def test_a_million_lines_scroll_by_wheel_key_and_bar_each_line_in_reach(stage: Stage) -> None:
    await stage.write(*pieces_of("".join(f"{number}\n" for number in range(1, MILLION + 1))))
    await stage.show()
    await stage.box.focus()
    await stage.box.press("Home")
    await stage.until_counted("1,000,000 lines")
    await stage.until("() => document.querySelector('.log-text').textContent === '1'")
    await stage.box.press("ArrowDown")
    assert (await stage.seen())[0] == "2"
    await stage.box.hover()
    for _ in range(10):
        await stage.page.mouse.wheel(0, 100)
    await stage.until("() => document.querySelector('.log-text').textContent === '32'")
    assert (await stage.seen())[0] == "52"
    await stage.box.evaluate("box => { box.scrollTop = box.scrollHeight / 2; }")
    await stage.until("() => +document.querySelector('.log-text').textContent > 400000")
    middle = int((await stage.seen())[0])
    assert abs(middle - MILLION / 2) < 100
    await stage.box.press("PageDown")
    following = int((await stage.seen())[0])
    assert 10 < following - middle < 60
    await stage.box.press("PageUp")
    assert int((await stage.seen())[0]) == middle
    await stage.box.press("End")
    assert (await stage.seen())[-1] == str(MILLION)
    await stage.box.press("ArrowUp")
    assert (await stage.seen())[-1] == str(MILLION - 1)


async def test_a_live_log_is_followed_across_streams_that_end_each_line_once(stage: Stage) -> None:
    doors = stage.house.doors
    await stage.write(lines(1, 3))
    await stage.show(is_live=True)
    await come_true(lambda: stage.run_id in doors.runs.readers)
    await stage.write(lines(4, 5), "line 6 ", "goes on\n")
    await stage.until_counted("6 lines")
    for first in (7, 10):
        doors.close()
        await come_true(lambda: not doors.runs.readers)
        await stage.write(lines(first, first + 2))
        doors.closing.clear()
        await stage.until_counted(f"{first + 2} lines")
    await stage.write("the end")
    await stage.end()
    await expect(stage.page.locator(".log-status")).to_have_text("The run has ended: succeeded.")
    wanted = (lines(1, 5) + "line 6 goes on\n" + lines(7, 12) + "the end").splitlines()
    assert await stage.texts() == wanted
    await come_true(lambda: not doors.runs.readers)


async def test_following_stops_when_the_reader_scrolls_up_and_goes_on_at_the_end(stage: Stage) -> None:
    await stage.write(lines(1, 200))
    await stage.show(is_live=True)
    follow = stage.button("Follow")
    await expect(follow).to_have_attribute("aria-pressed", "true")
    await stage.write(lines(201, 300))
    await stage.until_counted("300 lines")
    assert (await stage.seen())[-1] == "line 300"
    await stage.box.press("PageUp")
    await expect(follow).to_have_attribute("aria-pressed", "false")
    before = await stage.seen()
    await stage.write(lines(301, 400))
    await stage.until_counted("400 lines")
    assert await stage.seen() == before
    await stage.box.press("End")
    await expect(follow).to_have_attribute("aria-pressed", "true")
    await stage.write(lines(401, 500))
    await stage.until_counted("500 lines")
    assert (await stage.seen())[-1] == "line 500"
    await follow.click()
    await stage.write(lines(501, 600))
    await stage.until_counted("600 lines")
    assert (await stage.seen())[-1] == "line 500"
    await follow.click()
    assert (await stage.seen())[-1] == "line 600"


async def test_the_end_stays_in_view_when_the_size_changes(stage: Stage) -> None:
    await stage.write(lines(1, 300))
    await stage.show()
    for height in (300, 900, 200):
        await stage.page.set_viewport_size({"width": 700, "height": height})
        await stage.until(
            """height => {
              const {bottom} = [...document.querySelectorAll(".log-row")].at(-1).getBoundingClientRect();
              const box = document.querySelector(".log-box");
              const isResized = Math.abs(box.clientHeight - 0.65 * height) < 3;
              return isResized && Math.abs(bottom - box.getBoundingClientRect().bottom) < 3;
            }""",
            height,
        )
        assert (await stage.seen())[-1] == "line 300"


async def test_a_hidden_page_hears_nothing_and_catches_up_when_it_is_seen_again(stage: Stage) -> None:
    readers = stage.house.doors.runs.readers
    await stage.write(lines(1, 3))
    await stage.show(is_live=True)
    await come_true(lambda: stage.run_id in readers)
    await hide(stage.page, is_hidden=True)
    await come_true(lambda: not readers)
    await stage.write(lines(4, 9))
    await hide(stage.page, is_hidden=False)
    await stage.until_counted("9 lines")
    assert await stage.texts() == lines(1, 9).splitlines()


async def hide(page: Page, *, is_hidden: bool) -> None:
    await page.evaluate(
        """isHidden => {
          Object.defineProperty(document, "hidden", {configurable: true, get: () => isHidden});
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        is_hidden,
    )


async def test_nothing_in_a_log_becomes_markup_links_or_control(stage: Stage) -> None:
    await stage.write(
        "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>\n",
        "a \x1b]8;;https://example.org\x07link\x1b]8;;\x07 b\n",
        "clip\x1b]52;c;aGFja2Vk\x1b\\board \x9d52;c;aGFja2Vk\x9c!\n",
        "\x1b[2J\x1b[10;10Hmoved \x1b(0and \x9b5Aup \x08\x07\x1bc.\n",
        "right \u202eto\u2066 left\n",
        "\x1b]0;a title that never ends\n",
        "javascript:alert(1) &amp; <b>\n",
    )
    await stage.show()
    assert await stage.texts() == [
        "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>",
        "a link b",
        "clipboard !",
        "moved and up .",
        "right to left",
        "0;a title that never ends",
        "javascript:alert(1) &amp; <b>",
    ]
    assert await stage.page.locator("run-log :is(script, img, a, b, iframe)").count() == 0
    assert await stage.page.evaluate("window.hacked") is None
    assert await stage.page.title() == "A log"


async def test_long_lines_are_cut_until_somebody_wants_them(stage: Stage) -> None:
    await stage.write("x" * 10_000 + "\n", *pieces_of("y" * 999_990 + "the needle" + "\nlast\n"))
    await stage.show()
    await stage.button("Whole log").click()
    await stage.until_counted("3 lines")
    assert [len(text) for text in await stage.texts()] == [2_000, 2_000, 4]
    await stage.button("Show all 10,000 characters").click()
    assert [len(text) for text in await stage.texts()] == [10_000, 2_000, 4]
    await stage.search("NEEDLE")
    await stage.until_found("1 of 1 line")
    assert [len(text) for text in await stage.texts()] == [10_000, 1_000_000, 4]
    await expect(stage.page.locator("mark")).to_be_in_viewport()


async def test_a_line_with_too_many_colours_is_shown_without(stage: Stage) -> None:
    await stage.write(*pieces_of("".join(f"\x1b[3{number % 8}mz" for number in range(50_000)) + "\n"))
    await stage.show()
    await stage.button("Whole log").click()
    await stage.until_counted("1 line")
    assert await stage.page.locator(".log-text span").count() == 2_000
    await stage.button("Show all 50,000 characters").click()
    assert await stage.page.locator(".log-text span").count() == 0
    assert await stage.texts() == ["z" * 50_000]


async def test_what_a_long_run_has_given_up_does_not_stay_in_the_browser(stage: Stage) -> None:
    await stage.show(is_live=True)
    await stage.until_counted("No output yet")
    for _ in range(17):
        await stage.write(*pieces_of(("z" * 999 + "\n") * 2_000))
    await stage.write("the end\n")
    await stage.until("() => [...document.querySelectorAll('.log-text')].at(-1)?.textContent === 'the end'")
    count = await stage.page.locator(".log-count").inner_text()
    assert count.startswith("The last ")
    assert int(count.split()[2].replace(",", "")) < 32_000
    await stage.search("the end")
    await stage.until_found("1 of 1 line")


async def test_a_gap_is_said_and_the_number_that_is_kept_free_is_none(stage: Stage) -> None:
    await stage.write("one\ntw")
    await stage.write("o\n", skip=1)
    await stage.write("three\n", "unfinished", skip=4)
    await stage.write("four\n", skip=2)
    await stage.write(("rota", "\n[… 9 bytes cut …]\n"))
    await stage.write("five\n", skip=1200)
    await stage.show()
    assert await stage.texts() == [
        "one",
        "two",
        "… 3 pieces were cut …",
        "three",
        "unfinished",
        "… 1 piece was cut …",
        "four",
        "[… 9 bytes cut …]",
        "… 1,200 pieces were cut …",
        "five",
    ]
    assert await stage.page.locator(".log-rota .log-text").count() == 4


async def test_standard_error_is_marked_for_eyes_and_ears(stage: Stage) -> None:
    await stage.write("out", ("stderr", "wrong\n"), "out again\n")
    await stage.show()
    assert await stage.texts() == ["out", "wrong", "out again"]
    (row,) = await stage.page.locator(".log-stderr").all()
    assert await row.text_content() == "stderr: wrong"
    colours = [await colour(stage, line, "border-left-color") for line in ("out", "wrong")]
    assert colours == ["rgba(0, 0, 0, 0)", "rgb(176, 42, 55)"]


async def colour(stage: Stage, line: str, name: str) -> str:
    row = stage.rows.filter(has=stage.page.get_by_text(line, exact=True))
    return await row.evaluate("(row, name) => getComputedStyle(row).getPropertyValue(name)", name)


async def test_colours_and_letters_are_those_of_a_terminal(stage: Stage) -> None:
    await stage.write(
        "\x1b[31mred\x1b[0m \x1b[1;4mstrong\x1b[22m under\x1b[m\n",
        "\x1b[38;5;208morange \x1b[48;2;1;2;3mon dark\x1b[39;49m\n",
        "\x1b[7minverse\x1b[27m \x1b[38:2::255:0:128mpink\n",
        "still pink \x1b[",
        "96mbright\x1b[0m\n",
        "\x1b[2;3;9mdim\x1b[0m plain\n",
    )
    await stage.show()
    spans = await stage.page.evaluate(
        """[...document.querySelectorAll(".log-text span")].map((span) =>
             [span.textContent, span.className, span.getAttribute("style") ?? ""])"""
    )
    assert spans == [
        ["red", "ansi-ink-1", ""],
        [" ", "", ""],
        ["strong", "ansi-bold ansi-underline", ""],
        [" under", "ansi-underline", ""],
        ["orange ", "", "--ansi-ink: #ff8700;"],
        ["on dark", "", "--ansi-ink: #ff8700; --ansi-paper: #010203;"],
        ["inverse", "ansi-inverse", ""],
        [" ", "", ""],
        ["pink", "", "--ansi-ink: #ff0080;"],
        ["still pink ", "", "--ansi-ink: #ff0080;"],
        ["bright", "ansi-ink-14", ""],
        ["dim", "ansi-dim ansi-italic ansi-strike", ""],
        [" plain", "", ""],
    ]
    span = stage.page.locator(".log-text span")
    look = "span => [getComputedStyle(span).color, getComputedStyle(span).backgroundColor]"
    assert await span.filter(has_text="on dark").evaluate(look) == ["rgb(255, 135, 0)", "rgb(1, 2, 3)"]
    assert await span.filter(has_text="inverse").evaluate(look) == ["rgb(255, 255, 255)", "rgb(28, 33, 38)"]
    assert await span.filter(has_text="red").evaluate(look) == ["rgb(179, 38, 30)", "rgba(0, 0, 0, 0)"]


async def test_colours_are_those_of_the_whole_log_once_it_is_here(stage: Stage) -> None:
    await stage.write("\x1b[32m" + "x" * 60_000 + "\n", "y" * 60_000 + "\n", "green\n")
    await stage.show()
    assert await stage.page.locator(".ansi-ink-2").count() == 0
    await stage.button("Whole log").click()
    await stage.until_counted("3 lines")
    assert await stage.page.locator(".ansi-ink-2").count() == 3


async def test_a_progress_bar_keeps_what_it_said_last(stage: Stage) -> None:
    await stage.write("\x1b[33m10%\r20%\r", "3", "0%\r\x1b[0m40%\r\n", "windows\r\n", "\r\r50%\r60%", "\rdone\r")
    await stage.show()
    assert await stage.texts() == ["40%", "windows", "done"]
    assert await stage.page.locator(".ansi-ink-3").count() == 0


async def test_matches_are_counted_marked_and_gone_through_in_both_directions(stage: Stage) -> None:
    await stage.write(lines(1, 500), "no\x1b[1mth\x1b[0ming to see\n", lines(501, 1000))
    await stage.show()
    chosen = stage.page.locator(".log-chosen .log-text")
    field = stage.page.get_by_role("searchbox")
    await stage.search("LINE 99")
    # The first from where the reader is.
    await stage.until_found("2 of 11 lines")
    assert await chosen.inner_text() == "line 990"
    await field.press("Shift+Enter")
    await stage.until_found("1 of 11 lines")
    assert await chosen.inner_text() == "line 99"
    assert "line 99" in await stage.seen()
    await field.press("Shift+Enter")
    await stage.until_found("11 of 11 lines")
    await field.press("Escape")
    await stage.page.keyboard.press("n")
    await stage.until_found("1 of 11 lines")
    await stage.page.keyboard.press("N")
    await stage.button("Next match").click()
    await stage.until_found("1 of 11 lines")
    await stage.search("nothing to")
    await stage.until_found("1 of 1 line")
    assert await stage.page.locator("mark").all_text_contents() == ["no", "th", "ing to"]
    await stage.search("(.*)[")
    await stage.until_found("0 lines")
    await field.fill("")
    await stage.until_found("")
    assert await stage.page.locator("mark").count() == 0


async def test_matches_are_found_in_what_comes_while_a_log_is_live(stage: Stage) -> None:
    await stage.write("a needle\n")
    await stage.show(is_live=True)
    await stage.search("needle")
    await stage.until_found("1 of 1 line")
    await stage.write("hay\nneed", "le\n")
    await stage.until_found("1 of 2 lines")


async def test_times_are_shown_when_wanted_with_utc_behind_them(stage: Stage) -> None:
    await stage.write("now\n")
    await stage.show()
    assert await stage.page.locator("time").count() == 0
    await stage.button("Times").click()
    time = stage.page.locator("time")
    assert (await time.get_attribute("title") or "").endswith("Z")
    assert ":" in await time.inner_text()
    await stage.button("Times").click()
    assert await stage.page.locator("time").count() == 0


async def test_a_line_is_copied_and_the_whole_downloaded_as_it_was_written(stage: Stage) -> None:
    await stage.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    text = "\x1b[31mred ünd\x1b[0m\n" + lines(1, 20_000)
    await stage.write(*pieces_of(text))
    await stage.show()
    async with stage.page.expect_download() as started:
        await stage.button("Download").click()
    path = await (await started.value).path()
    assert path.read_text("utf-8") == text
    assert (await started.value).suggested_filename == f"{stage.run_id}.log"
    await stage.box.press("Home")
    await stage.rows.first.hover()
    await stage.button("Copy").click()
    await expect(stage.page.locator(".log-status")).to_have_text("The line is copied.")
    assert await stage.page.evaluate("navigator.clipboard.readText()") == "red ünd"
    await stage.rows.nth(3).click()
    await stage.box.press("c")
    await expect(stage.page.locator(".log-status")).to_have_text("The line is copied.")
    assert await stage.page.evaluate("navigator.clipboard.readText()") == "line 3"


async def test_a_run_without_output_says_so(stage: Stage) -> None:
    await stage.show(is_live=True)
    await stage.until_counted("No output yet")
    await stage.end()
    await stage.until_counted("No output")


async def test_what_cannot_be_loaded_is_said_and_tried_again(stage: Stage, faults: list[str]) -> None:
    await stage.write(lines(1, 3))
    answers = iter([503, 200])

    async def answer(route: object) -> None:
        if next(answers, 200) == 200:
            await route.continue_()  # type: ignore[attr-defined]
        else:
            await route.fulfill(status=503, json={"detail": "The database cannot be used now."})  # type: ignore[attr-defined]

    await stage.page.route("**/output?*", answer)
    await stage.page.goto(f"{stage.house.url}/test")
    await expect(stage.page.locator(".log-status")).to_contain_text("The database cannot be used now. Trying again")
    await stage.until_counted("3 lines")
    assert len(faults) == 1
    assert "503" in faults.pop()


async def test_the_parts_have_names_and_the_keyboard_reaches_them(stage: Stage) -> None:
    await stage.write(lines(1, 5))
    await stage.show(is_live=True)
    page = stage.page
    await expect(page.get_by_role("log", name=f"Output of {stage.run_id}")).to_have_attribute("aria-live", "off")
    await expect(page.get_by_role("status")).to_have_count(1)
    reached = []
    for _ in range(7):
        await page.keyboard.press("Tab")
        reached.append(await page.evaluate("document.activeElement.ariaLabel || document.activeElement.textContent"))
    assert reached == [
        "Search the log",
        "Previous match",
        "Next match",
        "Follow",
        "Times",
        "Download",
        f"Output of {stage.run_id}",
    ]
