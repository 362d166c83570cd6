"""Settings: how this Rota is set up and where each setting comes from, who may come in, and what the doctor finds."""

from __future__ import annotations

from rota.operations.settings import show_settings
from rota.operations.tokens import LINK, TokenView, list_tokens
from rota.ports.caller import Role
from rota.web.visit import Context, Visit

_ENDED = 20


async def show(visit: Visit) -> Context:
    """Tokens are for those who may make them."""
    shown = await show_settings(visit.site, premises=visit.premises)
    tokens = (await list_tokens(visit.site)).items if visit.may(Role.ADMIN) else ()
    latest = sorted(tokens, key=lambda one: one.made_at, reverse=True)
    return {
        "shown": shown,
        "valid": [one for one in latest if one.is_valid],
        "ended": [one for one in latest if _is_worth_showing(one)][:_ENDED],
        "roles": list(Role),
    }


def _is_worth_showing(token: TokenView) -> bool:
    """A link ends when it is used, and what it opened is there by itself."""
    return not token.is_valid and token.kind != LINK
