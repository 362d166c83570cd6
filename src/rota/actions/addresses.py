"""Which addresses a request may reach: public ones, and private networks only where they are allowed."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from aiohttp import AddrInfoType

from rota.errors import ScheduleError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

SETTING = "ROTA_HTTP_ALLOW"
# Written out, because what Python calls global differs from one patch release to the next.
_CLOSED_4 = tuple(
    map(
        IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
            *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        ),
    )
)
_OPEN_6 = IPv6Network("2000::/3")
_CLOSED_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
_NAT64 = IPv6Network("64:ff9b::/96")


class RefusedAddressError(OSError):
    """An address that no request may reach. The message says how it could be allowed."""


class Reach:
    """Asked for every socket just before it connects, so what a name meant a moment ago plays no part."""

    def __init__(self, allowed: Iterable[Network] = ()) -> None:
        self._allowed = tuple(allowed)

    def fault(self, text: str) -> str | None:
        """Why an address may not be reached, and what to do about it."""
        try:
            address = _meant(ip_address(text.partition("%")[0]))
        except ValueError:
            return f"The address {text} cannot be read; use a host name or a plain IP address."
        if _is_public(address) or any(address in network for network in self._allowed):
            return None
        return (
            f"The address {text} is not public; fix the URL, or allow the address "
            f"by adding {address} to {SETTING} where the engine runs."
        )

    def make_socket(self, info: AddrInfoType) -> socket.socket:
        """A socket for exactly this address; aiohttp connects it to no other."""
        family, kind, protocol, _, address = info
        if (fault := self.fault(str(address[0]))) is not None:
            raise RefusedAddressError(errno.EACCES, fault)
        return socket.socket(family, kind, protocol)


def networks_from(environment: Mapping[str, str]) -> tuple[Network, ...]:
    """The private networks that the environment allows: ``ROTA_HTTP_ALLOW=127.0.0.0/8,::1``."""
    found = []
    for text in environment.get(SETTING, "").replace(",", " ").split():
        try:
            found.append(ip_network(text))
        except ValueError:
            raise ScheduleError(
                field=SETTING, value=text, expected="networks with commas between them", example="127.0.0.0/8,::1"
            ) from None
    return tuple(found)


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _CLOSED_4)
    return address in _OPEN_6 and not any(address in network for network in _CLOSED_6)


def _meant(address: Address) -> Address:
    """Where packets arrive in the end: some IPv6 addresses stand for one of IPv4."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address
