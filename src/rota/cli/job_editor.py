"""A job in an editor: shown as YAML, saved when it is whole, never lost when it is not."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from rota.cli.asking import edited, is_agreed, is_terminal
from rota.cli.job_words import in_file
from rota.cli.refusal import show_problems
from rota.cli.store_command import Site
from rota.errors import ConflictError, FleetError, Problem
from rota.operations import jobs
from rota.operations.jobs import JobDetail, SavedJob

_HEAD = """\
# {name}: when you save and leave, it becomes what stands here. Leave without saving to change nothing.
# Every word: rota schema, or docs/reference/fleet-file.md
"""


async def edit_in_editor(site: Site, job: JobDetail) -> SavedJob | None:
    """Save what a person made of a job; none if they changed nothing."""
    from rota.config.fleet import read_mapping  # noqa: PLC0415
    from rota.config.yaml_text import to_yaml  # noqa: PLC0415

    name = f"{job.name}.yaml"
    before = _HEAD.format(name=job.name) + to_yaml(job.definition)
    text = edited(before)
    while text is not None and text != before:
        try:
            words = read_mapping(text, file=name)
            return await jobs.edit_job(site, job=job.id, definition=words, version=job.version)
        except FleetError as error:
            problems = in_file(error, name).problems
            if not is_terminal():
                raise FleetError([*problems, Problem(_kept(text, "It was not saved."))]) from None
            show_problems(problems)
            if not is_agreed("Edit it again?", default=True):
                raise FleetError([Problem(_kept(text, "It was not saved."))]) from None
        except ConflictError as error:
            raise ConflictError(_kept(text, str(error))) from None
        # An editor that is left without saving gives nothing: then the text is what it was.
        text = edited(text) or text
    return None


def _kept(text: str, reason: str) -> str:
    """Why a text was not saved, and where it is, so that nobody has to write it again."""
    handle, path = tempfile.mkstemp(prefix="rota-", suffix=".yaml")
    os.close(handle)
    Path(path).write_text(text, "utf-8")
    return f"{reason} Your text is kept in {path}"
