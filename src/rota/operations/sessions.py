"""Sessions: how a browser comes in. A link lets it in once; what it then holds is a token of its own."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from rota.errors import ForbiddenError
from rota.ledger.site import Site
from rota.operations.inputs import Instant
from rota.operations.tokens import LINK, SESSION, TOKEN, NewToken, make_token, revoke_token, valid_token
from rota.ports.caller import Caller, Door, Role

LINK_LIFE = timedelta(minutes=10)
SESSION_LIFE = timedelta(days=30)


class LoginLink(msgspec.Struct, frozen=True, kw_only=True):
    """The path that lets one browser in, once. What comes after the ``#`` is never sent by a browser, nor logged."""

    path: str
    role: Role
    expires_at: Instant


async def make_login_link(site: Site, *, role: Role = Role.ADMIN) -> LoginLink:
    """Make a link that lets one browser in, once, within ten minutes."""
    made = await make_token(site, name=site.caller.name, role=role, kind=LINK, lifetime=LINK_LIFE)
    return LoginLink(path=f"/login#{made.token}", role=role, expires_at=made.expires_at or site.clock.now())


async def open_session(site: Site, token: str) -> NewToken:
    """The session of a browser for whoever shows a link, which is used up by it, or a token."""
    shown = await valid_token(site, token)
    if shown is None or shown.kind not in (LINK, TOKEN):
        raise ForbiddenError("This token does not count: it is unknown, revoked, used up or too old.")
    site = msgspec.structs.replace(site, caller=Caller(name=shown.name, door=Door.PAGE, role=Role(shown.role)))
    return await make_token(
        site,
        name=shown.name,
        role=Role(shown.role),
        kind=SESSION,
        lifetime=SESSION_LIFE,
        parent=shown,
    )


async def close_session(site: Site, token: str) -> None:
    """Make the token of a session useless. Other tokens stay: whoever holds one may need it elsewhere."""
    shown = await valid_token(site, token)
    if shown is not None and shown.kind == SESSION:
        await revoke_token(site, token=shown.id)
