"""The doctor finds what is wrong with definitions, and is content when it is cured."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from rota.core.definition import CommandAction, HttpAction, PythonAction
from rota.operations.fleets import FleetText, apply_file
from rota.operations.health.findings import Findings, Status
from rota.operations.health.jobs import (
    check_fleets,
    check_folders,
    check_job_zones,
    check_parents,
    check_programs,
    check_secrets,
    check_targets,
)
from rota.ports.records import FleetRecord, micros
from rota.ports.store import Store
from tests.operations.ward import NOW, examined, is_well, job, only, save, site_of, sql

pytestmark = pytest.mark.anyio


async def test_a_zone_that_nobody_knows_is_told(store: Store) -> None:
    site = site_of(store)
    await save(site, job("report", "0 9 * * *", zone="Europe/Berlin"), file="/srv/rota.yaml")
    await sql(store, "UPDATE jobs SET definition = replace(definition, 'Europe/Berlin', 'Mars/Olympus')")
    message = only(check_job_zones((await examined(site))[1]), Status.WARNING)
    assert message == "report (/srv/rota.yaml:7): The zone Mars/Olympus is not known."
    await sql(store, "UPDATE jobs SET definition = replace(definition, 'Mars/Olympus', 'Europe/Berlin')")
    assert is_well(check_job_zones((await examined(site))[1]))


async def test_a_job_that_follows_nobody_is_told(store: Store) -> None:
    site = site_of(store)
    await save(site, job("test", "after build"))

    async def findings() -> Findings:
        state, jobs = await examined(site)
        return check_parents(jobs, {record.name for record in state.records})

    assert "test: There is no job build" in only(await findings(), Status.WARNING)
    await save(site, job("build", "manual"))
    assert is_well(await findings())


async def test_a_program_that_is_missing_or_may_not_be_executed_is_told(store: Store, tmp_path: Path) -> None:
    site = site_of(store)
    command = CommandAction(argv=("./tidy", "--all"), cwd=str(tmp_path))
    await save(site, job("tidy", action=command), job("twin", action=command), file="/srv/rota.yaml")
    _, jobs = await examined(site)
    said = "tidy (/srv/rota.yaml:7), twin (/srv/rota.yaml:7): The program ./tidy was not found or may not be executed."
    assert only(check_programs(jobs, {}), Status.WARNING) == said
    (tmp_path / "tidy").touch(mode=0o600)
    assert only(check_programs(jobs, {}), Status.WARNING) == said
    (tmp_path / "tidy").chmod(0o700)
    assert is_well(check_programs(jobs, {}))


async def test_a_program_is_looked_for_in_the_path_of_the_run(store: Store, tmp_path: Path) -> None:
    site = site_of(store)
    (tmp_path / "tool").touch(mode=0o700)
    await save(site, job("own", action=CommandAction(argv=("tool",), env={"PATH": str(tmp_path)})))
    await save(site, job("inherited", action=CommandAction(argv=("tool",))))
    await save(site, job("shell", action=CommandAction(argv=("tool | wc",), shell=True)))  # noqa: S604 - nothing runs
    await save(site, job("else", action=HttpAction(url="https://example.org")))
    _, jobs = await examined(site)
    assert only(check_programs(jobs, {"PATH": "/usr/bin"}), Status.WARNING).startswith("inherited: ")
    assert is_well(check_programs(jobs, {"PATH": str(tmp_path)}))


async def test_a_job_that_is_switched_off_lacks_nothing(store: Store) -> None:
    site = site_of(store)
    await save(site, job("off", action=CommandAction(argv=("nowhere-to-be-found",))))
    assert not is_well(check_programs((await examined(site))[1], os.environ))
    await sql(store, "UPDATE jobs SET is_enabled = 0")
    assert is_well(check_programs((await examined(site))[1], os.environ))


async def test_a_folder_that_is_missing_is_told(store: Store, tmp_path: Path) -> None:
    site = site_of(store)
    await save(site, job("tidy", action=CommandAction(argv=("true",), cwd=str(tmp_path / "gone"))))
    _, jobs = await examined(site)
    findings = check_folders(jobs)
    assert only(findings, Status.WARNING) == f"tidy: The directory {tmp_path / 'gone'} does not exist."
    assert is_well(check_programs(jobs, os.environ))
    assert findings[0].cure.startswith(f"Create it: mkdir -p {tmp_path / 'gone'};")
    (tmp_path / "gone").mkdir()
    assert is_well(check_folders(jobs))


async def test_a_python_package_that_is_missing_is_told(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = site_of(store)
    await save(site, job("call", action=PythonAction(target="night_shift.reports:run")))
    await save(site, job("known", action=PythonAction(target="json.tool:main")))
    monkeypatch.chdir(tmp_path)
    _, jobs = await examined(site)
    assert "night_shift of night_shift.reports:run" in only(check_targets(jobs), Status.WARNING)
    (tmp_path / "night_shift.py").write_text("raise SystemExit('it is not loaded')")
    assert is_well(check_targets(jobs))


@pytest.mark.parametrize(
    "action",
    [
        CommandAction(argv=("true",), env={"KEY": "env:NIGHT_KEY", "PLAIN": "value"}),
        HttpAction(url="https://example.org", headers={"Authorization": "env:NIGHT_KEY"}),
    ],
)
async def test_a_secret_that_is_not_set_is_told(store: Store, action: CommandAction | HttpAction) -> None:
    site = site_of(store)
    await save(site, job("upload", action=action))
    _, jobs = await examined(site)
    assert only(check_secrets(jobs, {}), Status.WARNING) == "upload: The secret env:NIGHT_KEY is not set."
    assert is_well(check_secrets(jobs, {"NIGHT_KEY": "x"}))


async def test_a_file_with_a_secret_must_be_there_and_private(store: Store, tmp_path: Path) -> None:
    site = site_of(store)
    path = tmp_path / "key"
    await save(site, job("upload", action=CommandAction(argv=("true",), env={"KEY": f"file:{path}"})))
    _, jobs = await examined(site)
    assert "No such file" in only(check_secrets(jobs, {}), Status.WARNING)
    path.write_text("hunter2")
    path.chmod(0o644)
    message = only(check_secrets(jobs, {}), Status.FAILURE)
    assert str(path) in message
    assert "hunter2" not in message
    path.chmod(0o600)
    assert is_well(check_secrets(jobs, {}))


async def test_a_fleet_file_that_became_another_fleet_is_told_until_it_took_over(store: Store, tmp_path: Path) -> None:
    site = site_of(store)
    path = tmp_path / "rota.yaml"

    async def apply(text: str, *, takes_over: bool = False) -> Findings:
        path.write_text(text)
        await apply_file(site, source=FleetText(text=text, file=str(path)), takes_over=takes_over)
        return check_fleets(await store.read(lambda tx: tx.fleets()))

    assert is_well(await apply("fleet: {name: home}\njobs: {a: {manual: true, command: ['true']}}\n"))
    house = "fleet: {name: house}\njobs: {b: {manual: true, command: ['true']}}\n"
    (finding,) = await apply(house)
    assert "is the fleet house now; what it was as home is still there" in finding.message
    assert finding.cure.endswith(f"rota apply --take-over {path}")
    assert is_well(await apply(house, takes_over=True))


async def test_a_fleet_file_that_is_gone_or_has_changed_is_told(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "rota.yaml"
    path.write_bytes(b"fleet: {name: home}\r\n")
    checksum = hashlib.sha256(b"fleet: {name: home}\r\n").hexdigest()
    await store.write(
        lambda tx: tx.save_fleet(
            name="home",
            file=str(path),
            description="",
            timezone="UTC",
            pools="{}",
            checksum=checksum,
            now=micros(NOW),
        )
    )

    async def fleets() -> list[FleetRecord]:
        return await store.read(lambda tx: tx.fleets())

    assert is_well(check_fleets(await fleets()))
    path.write_text("fleet: {name: other}\n")
    assert "has changed since" in only(check_fleets(await fleets()), Status.WARNING)
    path.unlink()
    assert "No such file" in only(check_fleets(await fleets()), Status.WARNING)
    path.write_bytes(b"fleet: {name: home}\r\n")
    assert is_well(check_fleets(await fleets()))
