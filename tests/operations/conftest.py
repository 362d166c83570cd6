"""An engine by hand on every database, and a person who asks."""

from __future__ import annotations

import msgspec
import pytest

from rota.ledger.site import Site
from rota.ports.caller import Caller, Door
from rota.testing import HandCranked
from tests.engine.conftest import clock, hand

__all__ = ["clock", "hand", "site"]


@pytest.fixture
def site(hand: HandCranked) -> Site:
    """Where a person at the machine stands."""
    return msgspec.structs.replace(hand.site, caller=Caller(name="ada", door=Door.CLI))
