"""Bundles: modules that are small in the source are sent as one, and mean the same."""

from __future__ import annotations

import pytest

from rota.web.bundles import bundle

CORE = {
    "main.js": 'import { start } from "./live.js";\nstart();\n',
    "live.js": "export function start() {}\nexport const REFRESHED = 'x';\n",
    "controls.js": 'import { start as begin } from "./live.js";\nexport class Button {}\nbegin();\n',
}


def test_the_core_is_one_module_that_others_take_from() -> None:
    made = bundle({**CORE, "page.js": 'import { REFRESHED } from "./live.js";\nlisten(REFRESHED);\n'})
    assert sorted(made) == ["main.js", "page.js"]
    assert made["main.js"].index("function start") < made["main.js"].index("start();")
    assert "export const { start, REFRESHED } = $live;" in made["main.js"]
    assert made["page.js"].startswith('import * as $main from "./main.js";\n')
    assert "const { REFRESHED } = $main;" in made["page.js"]


def test_the_parts_of_a_module_come_with_it_in_the_order_in_which_they_are_needed() -> None:
    parts = {
        "log.js": 'import { Rows } from "./log_rows.js";\nnew Rows();\n',
        "log_rows.js": 'import { line } from "./log_lines.js";\nexport class Rows {}\n',
        "log_lines.js": "export function line() {}\n",
    }
    made = bundle({**CORE, **parts})
    assert sorted(made) == ["log.js", "main.js"]
    places = [made["log.js"].index(text) for text in ("function line", "class Rows", "new Rows")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "text",
    [
        'import live from "./live.js";',
        'import "./live.js";',
        'export { start } from "./live.js";',
        "export default 1;",
        "export let changing = 1;",
    ],
)
def test_a_form_that_is_not_known_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="form of import or export"):
        bundle({**CORE, "page.js": f"{text}\n"})


def test_what_is_not_sent_with_a_module_cannot_be_imported() -> None:
    with pytest.raises(ValueError, match="is not sent with it"):
        bundle({**CORE, "a.js": 'import { b } from "./b.js";\n', "b.js": "export const b = 1;\n"})
