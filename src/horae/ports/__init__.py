"""The seams: what the engine and the use cases need from outside, and what each adapter must guarantee.

A seam exists only where two real adapters do, or where a test must inject a fault. The store is seen as *transactions*:
a caller passes a function from `Tx` to a value, and everything in it happens or nothing does. Such a function touches
nothing but the `Tx`, because a store may run it again after a full disk or a lost connection.
"""

from __future__ import annotations

from horae.ports.home import Home, Machine, Ports, Settings, Source
from horae.ports.outside import (
    Clock,
    Closed,
    Folder,
    Key,
    Runner,
    Scripts,
    Sender,
    Shelf,
    Targets,
    Tools,
    Trust,
    Turns,
    Vault,
)
from horae.ports.reading import Past, Reader, Record
from horae.ports.store import (
    Agents,
    Documents,
    Gone,
    Hearers,
    Jobs,
    Journal,
    Orphan,
    Outbox,
    Pruning,
    Runs,
    Store,
    Tx,
    Zones,
)

__all__ = [
    "Agents",
    "Clock",
    "Closed",
    "Documents",
    "Folder",
    "Gone",
    "Hearers",
    "Home",
    "Jobs",
    "Journal",
    "Key",
    "Machine",
    "Orphan",
    "Outbox",
    "Past",
    "Ports",
    "Pruning",
    "Reader",
    "Record",
    "Runner",
    "Runs",
    "Scripts",
    "Sender",
    "Settings",
    "Shelf",
    "Source",
    "Store",
    "Targets",
    "Tools",
    "Trust",
    "Turns",
    "Tx",
    "Vault",
    "Zones",
]
