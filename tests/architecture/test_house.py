"""The shape of the house: public names, import arrows, purity, small rooms."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rota

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "rota").rglob("*.py"))
PUBLIC = [
    "CronParseError",
    "IntervalParseError",
    "ScheduleTriggerError",
    "SchedulerError",
    "SchedulerShutdownError",
    "build_schedule_prompt",
    "calculate_next_cron_trigger",
    "calculate_next_trigger",
    "decide",
    "is_schedule_due",
    "is_valid_cron_expression",
    "next_times",
    "parse_cron_expression",
    "parse_interval",
]


@pytest.mark.parametrize("name", PUBLIC)
def test_the_promised_public_names_exist(name: str) -> None:
    assert name in rota.__all__
    assert getattr(rota, name) is not None


def test_every_public_name_is_listed_once_sorted_and_loads() -> None:
    assert list(rota.__all__) == sorted(set(rota.__all__))
    assert set(rota._HOMES) == set(rota.__all__)
    assert all(getattr(rota, name) is not None for name in rota.__all__)
    assert set(rota.__all__) <= set(dir(rota))


def test_type_checkers_are_told_that_rota_is_typed() -> None:
    assert (ROOT / "src" / "rota" / "py.typed").exists()


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'rota' has no attribute 'nothing'"):
        _ = rota.nothing  # type: ignore[attr-defined]


def test_importing_rota_loads_neither_the_core_nor_its_libraries() -> None:
    code = "import sys, rota.cli; print([m for m in sys.modules if m.startswith(('rota.core', 'msgspec', 'cronsim'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_import_arrows_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_rooms_and_functions_stay_small(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    long = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= 60
    ]
    assert long == []
    assert path.read_text("utf-8").count("\n") <= 400


def test_every_core_module_says_what_it_is_for() -> None:
    silent = [path.name for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]
    assert silent == []
