"""Functions of addresses."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network


def in_subnet(address: str, cidr: str) -> bool | None:
    """True if an address of IPv4 or IPv6 is in a subnet. IPv4 written as IPv6 (::ffff:a.b.c.d) is IPv4."""
    try:
        found = ip_address(address)
    except ValueError:
        return None
    network = _network(cidr)
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None and network.version == 4:
        found = found.ipv4_mapped
    return found in network


def wrong_cidr(text: str) -> str:
    """The error of a subnet; "" if it is right."""
    try:
        _network(text)
    except ValueError as error:
        return str(error)
    return ""


@lru_cache(maxsize=256)
def _network(cidr: str) -> IPv4Network | IPv6Network:
    return ip_network(cidr)
