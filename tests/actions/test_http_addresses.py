"""Where requests may go: every address is checked when it is connected, and private ones are refused (GUARANTEES)."""

from __future__ import annotations

import socket
from ipaddress import ip_network

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from rota.actions.addresses import SETTING, Reach, networks_from
from rota.actions.http import Http
from rota.core.run import RunState
from rota.errors import ScheduleError
from tests.actions.test_http import LOOPBACK, Seen, perform, request, serving

pytestmark = pytest.mark.anyio

PRIVATE = (
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.254", "127.0.0.1"),  # noqa: S104 - not bound
    *("127.1.2.3", "127.255.255.255", "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255"),
    *("192.0.0.1", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255", "198.18.0.1"),
    *("198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.250", "240.0.0.1"),
    *("255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"),
    *("::ffff:0.0.0.0", "::ffff:192.168.1.1", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe"),
    *("64:ff9b:1::1", "100::1", "2001::1", "2001:2::1", "2001:10::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::"),
    *("2002:c0a8:101::1", "3fff::1", "5f00::1", "fc00::1", "fd00::1", "fd00:ec2::254", "fdff::1", "fe80::1"),
    *("fe80::1%eth0", "febf::1", "fec0::1", "ff02::1", "ff05::2", "ffff::1", "4000::1"),
)
PUBLIC = (
    *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255"),
    *("128.0.0.1", "169.253.255.255", "172.15.255.255", "172.32.0.1", "192.167.255.255", "198.17.255.255"),
    *("223.255.255.255", "2606:4700:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"),
    *("2002:808:808::1",),
)


class Named(AbstractResolver):
    """Names that mean something else each time they are looked up."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self._answers = iter(answers)

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002 - as aiohttp has it
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=socket.AI_NUMERICHOST
            )
            for address in next(self._answers)
        ]

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("address", PRIVATE)
async def test_address_is_out_of_reach_when_it_is_private(address: str) -> None:
    """Private networks only where allowed: 60 addresses."""
    fault = Reach().fault(address)
    assert fault is not None
    assert fault.startswith(f"The address {address} is not public; fix the URL, or allow the address by adding ")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with pytest.raises(OSError, match="is not public"):
        Reach().make_socket((family, socket.SOCK_STREAM, 0, "", (address, 80)))


@pytest.mark.parametrize("address", PUBLIC)
def test_address_is_in_reach_when_it_is_public(address: str) -> None:
    assert Reach().fault(address) is None


def test_sixty_addresses_are_tried_when_private_ones_are() -> None:
    assert len(set(PRIVATE)) >= 60


@pytest.mark.parametrize("address", ["", "localhost", "127.1", "1.2.3.4.5", "08.8.8.8"])
def test_address_is_refused_when_it_cannot_be_read(address: str) -> None:
    assert Reach().fault(address) == f"The address {address} cannot be read; use a host name or a plain IP address."


@pytest.mark.parametrize(
    ("allowed", "address", "is_reached"),
    [
        ("10.1.0.0/16", "10.1.2.3", True),
        ("10.1.0.0/16", "::ffff:10.1.2.3", True),
        ("10.1.0.0/16", "10.2.0.1", False),
        ("::1", "::1", True),
        ("::1", "127.0.0.1", False),
        ("fe80::/10", "fe80::1%2", True),
    ],
)
def test_private_address_is_reached_only_when_its_network_is_allowed(
    allowed: str, address: str, is_reached: bool
) -> None:
    assert (Reach([ip_network(allowed)]).fault(address) is None) == is_reached


def test_networks_are_read_from_the_environment_when_they_are_set() -> None:
    assert networks_from({}) == networks_from({SETTING: " , "}) == ()
    assert networks_from({SETTING: "127.0.0.0/8, ::1"}) == LOOPBACK


@pytest.mark.parametrize("text", ["localhost", "10.0.0.1/8", "10.0.0.0/99", "127.0.0.1:80"])
def test_networks_are_refused_with_an_example_when_they_cannot_be_read(text: str) -> None:
    with pytest.raises(ScheduleError, match=r"ROTA_HTTP_ALLOW.*127\.0\.0\.0/8"):
        networks_from({SETTING: f"::1,{text}"})


async def test_run_fails_for_good_before_it_starts_when_the_url_names_a_private_address() -> None:
    """The URL is allowed: else `permanent_failure`, with a sentence saying what to fix."""
    http = Http(allowed=())
    async with serving(seen := Seen()) as url:
        work = request(url)
        sentence = await http.preflight(work)
        outcome = (await perform(work, http))[0].outcome
    assert sentence == (
        "The address 127.0.0.1 is not public; fix the URL, or allow the address "
        "by adding 127.0.0.1 to ROTA_HTTP_ALLOW where the engine runs."
    )
    assert (outcome.state, outcome.error, seen.requests) == (RunState.PERMANENT_FAILURE, sentence, [])
    await http.close()


@pytest.mark.parametrize("host", ["localhost", "0x7f000001", "127.1", "2130706433", "[::ffff:127.0.0.1]"])
async def test_nothing_is_connected_when_a_name_means_a_private_address(host: str) -> None:
    http = Http(allowed=())
    async with serving(seen := Seen()) as url:
        outcome = (await perform(request(url.replace("127.0.0.1", host)), http))[0].outcome
    assert outcome.state == RunState.PERMANENT_FAILURE
    assert seen.requests == []
    await http.close()


@pytest.mark.parametrize("is_allowed", [False, True])
async def test_environment_decides_when_an_engine_makes_no_choice(
    is_allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SETTING, "127.0.0.1" if is_allowed else "")
    http = Http()
    async with serving(Seen()) as url:
        assert (await http.preflight(request(url)) is None) == is_allowed
        assert (await perform(request(url), http))[0].outcome.state == (
            RunState.SUCCEEDED if is_allowed else RunState.PERMANENT_FAILURE
        )
    await http.close()


async def test_second_answer_counts_for_nothing_when_a_name_is_rebound() -> None:
    """DNS rebinding: what is checked is what is connected."""
    http = Http(allowed=[ip_network("127.0.0.2")], resolver=Named(("127.0.0.2",), ("127.0.0.1",)))
    async with serving(friend := Seen(), "127.0.0.2") as good, serving(secret := Seen()) as bad:
        states = [
            (await perform(request(f"http://rebound.example:{url.rpartition(':')[2]}"), http))[0].outcome.state
            for url in (good, bad)
        ]
    assert states == [RunState.SUCCEEDED, RunState.PERMANENT_FAILURE]
    assert (len(friend.requests), secret.requests) == (1, [])
    assert friend.requests[0].headers["Host"].startswith("rebound.example:")
    await http.close()


async def test_private_one_is_passed_over_when_a_name_has_several_addresses() -> None:
    http = Http(allowed=[ip_network("127.0.0.2")], resolver=Named(("127.0.0.1", "127.0.0.2")))
    async with serving(friend := Seen(), "127.0.0.2") as url:
        port = url.rpartition(":")[2]
        outcome = (await perform(request(f"http://both.example:{port}"), http))[0].outcome
    assert (outcome.state, len(friend.requests)) == (RunState.SUCCEEDED, 1)
    await http.close()
