"""Near misses: what somebody may have meant who wrote a word that is not known here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import lru_cache

from rota.config.findings import Wording

# Words that people bring from crontabs, herdctl, OpenClaw, Cronicorn, Compose, systemd and other schedulers.
_ELSEWHERE = {
    "action": "Write command: [program, argument], http: URL or python: package.module:name.",
    "args": "Put the arguments into the command: command: [program, argument].",
    "arguments": "Put the arguments into the command: command: [program, argument].",
    "at_time": 'Write daily: "09:00" or at: 2026-12-01T09:00.',
    "attempts": "Write retry: {max: 2}.",
    "catchup": "Write catch_up: skip, latest or all.",
    "cmd": "Write command.",
    "coalesce": "Write catch_up: latest.",
    "concurrency": "Write max_concurrent on the agent, or overlap on the job.",
    "cron_expression": "Write cron.",
    "cwd_dir": "Write cwd.",
    "deadline": "Write timeout.",
    "delay": "Write in: 20m for one run, or after: {job: build, delay: 5m}.",
    "depends_on": "Write after: build.",
    "dir": "Write cwd.",
    "directory": "Write cwd.",
    "disabled": "Write enabled: false.",
    "end": "Write until.",
    "end_date": "Write until.",
    "endpoint": "Write http: https://example.org.",
    "entrypoint": "Write command.",
    "environment": "Write env.",
    "exec": "Write command.",
    "execstart": "Write command.",
    "expression": "Write cron.",
    "frequency": "Write every: 5m.",
    "hours": 'Write every: 5h, or daily: "09:00".',
    "interval": "Write every: 5m.",
    "interval_seconds": "Write every: 300s.",
    "max_attempts": "Write retry: {max: 2}.",
    "max_instances": "Write overlap: skip, queue, allow or replace.",
    "max_retries": "Write retry: {max: 2}.",
    "minutes": "Write every: 5m.",
    "misfire_grace_time": "Write start_within: 5m.",
    "name": "The name is the key above.",
    "needs": "Write after: build.",
    "parallel": "Write overlap: allow.",
    "queue": "Write pool for the slots, or overlap: queue.",
    "quiet_hours": 'Write quiet: "22:00-07:00".',
    "repeat": "Write every: 5m.",
    "restart": "Write retry: {max: 2}.",
    "retries": "Write retry: {max: 2}.",
    "run": "Write command.",
    "run_at": "Write at: 2026-12-01T09:00.",
    "script": "Write command.",
    "seconds": "Write every: 30s.",
    "start": "Write from.",
    "start_date": "Write from.",
    "task": "Write command, http or python.",
    "time": 'Write daily: "09:00".',
    "time_zone": "Write timezone.",
    "trigger": "Write every, cron, daily, weekly, monthly, at, in, after, manual, webhook or chat.",
    "type": 'Leave it out: the key of the schedule says it, such as every: 5m or cron: "0 9 * * *".',
    "tz": "Write timezone.",
    "uri": "Write http: https://example.org.",
    "url": "Write http: https://example.org.",
    "work_dir": "Write cwd.",
    "workdir": "Write cwd.",
    "working_dir": "Write cwd.",
    "working_directory": "Write cwd.",
    "workspace": "Write cwd.",
    "zone": "Write timezone.",
}

_LATER = {
    "adapt": "rules without a model",
    "agent": "the agent action",
    "approval": "approval by a person",
    "budget": "budgets",
    "external": "the external action",
    "gate": "gates",
    "messages": "messages",
    "model": "the agent action",
    "notify": "notifications",
    "notifications": "notifications",
    "planner": "the planner",
    "session": "the agent action",
    "tmux": "the tmux action",
    "verify": "the check of results",
    "work": "work sources",
    "work_source": "work sources",
}
# A mapping with more keys than this is a job, an agent or the defaults.
SMALL = 20
_LATER_ACTIONS = ("action", "agent", "external", "task", "tmux")


def unknown_key(key: str, known: Iterable[str], *, elsewhere: str = "") -> Wording:
    """Why a key is not accepted, and which was probably meant; ``elsewhere`` says where it would be."""
    lowered = key.lower().replace("-", "_")
    names = tuple(known)
    if key in _LATER:
        return f'"{key}" ({_LATER[key]}) is not in this version yet.', "Remove it for now."
    if elsewhere:
        return f'"{key}" does not belong here.', elsewhere
    if lowered in names:
        return f'There is no key "{key}" here.', f'Write "{lowered}".'
    message = f'There is no key "{key}" here.'
    if len(names) <= SMALL:
        return message, _meant(key, names) or f"The keys here are: {', '.join(names)}."
    return message, _ELSEWHERE.get(lowered) or _meant(key, names) or "See all keys in docs/reference/fleet-file.md."


def meant_key(key: str, known: Iterable[str]) -> str:
    """The key that somebody meant who wrote another; empty when nobody can tell."""
    if key in _LATER_ACTIONS:
        return "command"
    words = _ELSEWHERE.get(key.lower().replace("-", "_"), "").removeprefix("Write ").replace(":", " ").split()
    return words[0].strip(",.") if words else nearest(key, tuple(known)) or ""


def unknown_word(word: str, known: Iterable[str]) -> Wording:
    """The same for a value that must be one of a few words."""
    names = tuple(known)
    meant = _meant(word, names)
    return (
        f'"{word[:80]}" cannot stand here.',
        f"{meant} ".lstrip() + f"Valid are: {', '.join(names)}.",
    )


@lru_cache(maxsize=4096)
def nearest(word: str, known: tuple[str, ...]) -> str | None:
    """The known word that is most like this one, if any is like it."""
    found = difflib.get_close_matches(word[:100].lower(), known, n=1, cutoff=0.7)
    return found[0] if found else None


def _meant(word: str, names: tuple[str, ...]) -> str:
    near = nearest(word, names)
    return f'Did you mean "{near}"?' if near else ""
