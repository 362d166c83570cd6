"""Tokens: who may come in through the doors. Only hashes are kept; a token is shown once, when it is made."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from contextlib import suppress
from datetime import datetime, timedelta

import msgspec

from rota.core.duration import parse_duration
from rota.core.run import RunState
from rota.errors import ConflictError, NotFoundError, ScheduleError, StoreError
from rota.ledger.site import Site
from rota.operations.auditing import Change, put_on_record
from rota.operations.inputs import Duration, Instant, Name
from rota.operations.views import Page
from rota.ports.caller import Caller, Door, Role
from rota.ports.records import TokenRecord, instant, instant_or_none, micros, micros_or_none
from rota.ports.store import Transaction

TOKEN, LINK, SESSION = "token", "link", "session"
_PREFIX, _RUN_PREFIX = "rota", "rotarun"
_SECRET = 48
_LONGEST = 300
_RUN_KEY = "run"
_notes: set[asyncio.Task[None]] = set()
_USED_EVERY = timedelta(minutes=1)


class TokenView(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    role: Role
    kind: str
    """``token``, ``link`` (lets a browser in once) or ``session`` (of a browser)."""
    made_at: Instant
    made_by: str
    expires_at: Instant | None
    revoked_at: Instant | None
    used_at: Instant | None
    is_valid: bool


class NewToken(msgspec.Struct, frozen=True):
    """A token as it is shown once, to whoever asked for it."""

    id: str
    name: str
    role: Role
    token: str
    expires_at: Instant | None


async def create_token(site: Site, *, name: Name, role: Role, expires_in: Duration | None = None) -> NewToken:
    """Make a token for somebody."""
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise ScheduleError(field="name", value=ascii(name), expected="1-100 printable characters", example="ci")
    lifetime = None if expires_in is None else parse_duration(expires_in, field="expires_in")
    return await make_token(site, name=name, role=role, kind=TOKEN, lifetime=lifetime)


async def make_token(
    site: Site, *, name: str, role: Role, kind: str, lifetime: timedelta | None, parent: TokenRecord | None = None
) -> NewToken:
    """Make a token of some kind. One that comes of a link uses it up."""
    now = site.clock.now()
    (token_id,) = site.entropy.ids("tok", now, 1)
    secret = site.entropy.hex(_SECRET)
    expires_at = None if lifetime is None else now + lifetime

    async def body(tx: Transaction) -> None:
        if parent is not None and parent.kind == LINK and not await tx.revoke_token(id=parent.id, now=micros(now)):
            raise ConflictError("This link was used before. Make a new one: rota login")
        await tx.insert_token(
            id=token_id,
            name=name,
            role=role,
            kind=kind,
            parent=None if parent is None else parent.id,
            hash=_hash(secret),
            now=micros(now),
            made_by=site.caller.name,
            expires_at=micros_or_none(expires_at),
        )
        after = {"name": name, "role": role, "kind": kind, "expires_at": expires_at}
        operation = "token.link" if kind == LINK else "token.create"
        change = Change(operation=operation, subject=token_id, event="token.created", after=after)
        await put_on_record(tx, now, site, change)

    await site.store.write(body)
    return NewToken(token_id, name, role, f"{_PREFIX}_{token_id[4:]}_{secret}", expires_at)


async def list_tokens(site: Site) -> Page[TokenView]:
    """Every token that was made, without its secret."""
    now = site.clock.now()
    return Page(tuple(_view(now, row) for row in await site.store.read(lambda tx: tx.tokens())))


async def revoke_token(site: Site, *, token: Name) -> TokenView:
    """Make a token useless, by its id or its name, and the sessions that it opened."""
    now = site.clock.now()

    async def body(tx: Transaction) -> TokenRecord:
        valid = [row for row in await tx.tokens() if row.revoked_at is None]
        found = [row for row in valid if token == row.id or (token == row.name and row.kind == TOKEN)]
        if not found:
            raise NotFoundError(f'No token "{token}" is valid. See them all: rota token list')
        if len(found) > 1:
            ids = ", ".join(row.id for row in found)
            raise ConflictError(f'Several tokens are named "{token}". Give the id of one: {ids}')
        await tx.revoke_token(id=found[0].id, now=micros(now))
        await tx.revoke_sessions_of(id=found[0].id, now=micros(now))
        change = Change(operation="token.revoke", subject=found[0].id, event="token.revoked", before=found[0].name)
        await put_on_record(tx, now, site, change)
        return msgspec.structs.replace(found[0], revoked_at=micros(now))

    return _view(now, await site.store.write(body))


async def caller_of(site: Site, token: str, *, door: Door = Door.API) -> Caller | None:
    """Whoever holds a token, of a person or of a run; none if it does not count."""
    kind, _, rest = token.partition("_")
    if not token.isascii() or not token.isprintable() or len(token) > _LONGEST:
        return None
    if kind == _RUN_PREFIX:
        return await _run_caller(site, rest, door)
    record = await valid_token(site, token)
    if record is None or record.kind == LINK:
        return None
    now = site.clock.now()
    if record.used_at is None or instant(record.used_at) < now - _USED_EVERY:
        _note_use(site, record.id, now)
    return Caller(name=record.name, door=Door.PAGE if record.kind == SESSION else door, role=Role(record.role))


async def valid_token(site: Site, token: str) -> TokenRecord | None:
    """What is kept of a token, if it counts."""
    kind, _, rest = token.partition("_")
    token_id, _, secret = rest.partition("_")
    if kind != _PREFIX or not token.isascii() or not token.isprintable() or len(token) > _LONGEST:
        return None
    record = await site.store.read(lambda tx: tx.find_token(id=f"tok_{token_id}"))
    if record is None or not hmac.compare_digest(record.hash, _hash(secret)):
        return None
    return record if _is_valid(site.clock.now(), record) else None


def _note_use(site: Site, token_id: str, now: datetime) -> None:
    """Beside the request: whoever may read need not wait until something can be written."""

    async def note() -> None:
        with suppress(StoreError):
            await site.store.write(lambda tx: tx.use_token(id=token_id, now=micros(now)))

    task = asyncio.get_running_loop().create_task(note())
    _notes.add(task)
    task.add_done_callback(_notes.discard)


async def run_signing_key(site: Site) -> str:
    """What signs the tokens of runs: made once, kept in the store, the same for every worker."""

    async def body(tx: Transaction) -> str:
        await tx.insert_signing_key(name=_RUN_KEY, value=site.entropy.hex(64))
        found = await tx.signing_key(name=_RUN_KEY)
        if found is None:
            raise NotFoundError("The key that signs the tokens of runs is gone.")
        return found[0]

    found = await site.store.read(lambda tx: tx.signing_key(name=_RUN_KEY))
    return found[0] if found is not None else await site.store.write(body)


def run_token(key: str, run_id: str, fencing_token: int) -> str:
    """The token that a run gets: good for as long as the run is under way, without a row of its own."""
    return f"{_RUN_PREFIX}_{run_id[4:]}_{fencing_token}_{_signature(key, run_id, fencing_token)}"


async def _run_caller(site: Site, rest: str, door: Door) -> Caller | None:
    parts = rest.split("_")
    if len(parts) != 3 or not parts[1].isdigit() or len(parts[1]) > 18:
        return None
    run_id, fencing_token = f"run_{parts[0]}", int(parts[1])
    key = await run_signing_key(site)
    if not hmac.compare_digest(parts[2], _signature(key, run_id, fencing_token)):
        return None
    run = await site.store.read(lambda tx: tx.find_run(run_id=run_id))
    if run is None or run.state != RunState.RUNNING or run.token != fencing_token:
        return None
    return Caller(name=run_id, door=door, role=Role.READ, run_id=run_id, job_id=run.job_id, agent=run.agent)


def _signature(key: str, run_id: str, fencing_token: int) -> str:
    return hmac.new(key.encode(), f"{run_id}:{fencing_token}".encode(), hashlib.sha256).hexdigest()


def _hash(secret: str) -> str:
    """The secret is long and random, so one round is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _is_valid(now: datetime, record: TokenRecord) -> bool:
    return record.revoked_at is None and (record.expires_at is None or instant(record.expires_at) > now)


def _view(now: datetime, record: TokenRecord) -> TokenView:
    return TokenView(
        id=record.id,
        name=record.name,
        role=Role(record.role),
        kind=record.kind,
        made_at=instant(record.made_at),
        made_by=record.made_by,
        expires_at=instant_or_none(record.expires_at),
        revoked_at=instant_or_none(record.revoked_at),
        used_at=instant_or_none(record.used_at),
        is_valid=_is_valid(now, record),
    )
