"""Which addresses a request of ours may go to: those of the public internet, unless the settings allow more. Pure.

A URL that a target is sent to must not make this machine a way into its own network: into what listens on it, the
cloud's metadata service, a router's pages. An address that stands for another (IPv4 in IPv6, NAT64, 6to4, Teredo) is
judged by the one it stands for as well.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network

Address = IPv4Address | IPv6Address

_NAT64 = IPv6Network("64:ff9b::/96")
_NAT64_LOCAL = IPv6Network("64:ff9b:1::/48")
_COMPATIBLE = IPv6Network("::/96")
_SITE = IPv6Network("fec0::/10")
_SHARED = ip_network("100.64.0.0/10")
_METADATA = (IPv4Address("169.254.169.254"), IPv4Address("100.100.100.200"), IPv6Address("fd00:ec2::254"))


def why_not(address: Address) -> str | None:
    """Why nothing is sent there; None when it is an address of the public internet."""
    for one in (address, *_stands_for(address)):
        if (why := _why_not(one)) is not None:
            return why
    return None


def _stands_for(address: Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that a router would make of it."""
    if isinstance(address, IPv4Address):
        return ()
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64 or address in _COMPATIBLE:
        found.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return tuple(one for one in found if one is not None)


def _why_not(address: Address) -> str | None:
    if address in _METADATA:
        return "the metadata service of a cloud"
    if address.is_unspecified:
        return "no address of any machine"
    if address.is_loopback:
        return "this machine itself"
    if address.is_link_local:
        return "a link-local address"
    if address.is_multicast:
        return "a multicast address"
    if address in _SHARED:
        return "an address of a provider's inner network"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped or address.sixtofour or address.teredo or address in _NAT64:
            return None  # judged by what it stands for
        if address in _SITE or address in _NAT64_LOCAL:
            return "a private address"
    return None if address.is_global else "a private or reserved address"
