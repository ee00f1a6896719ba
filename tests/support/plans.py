"""What a statement costs on PostgreSQL, counted in rows: times differ from machine to machine, rows do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def nodes_of(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A plan's nodes."""
    yield node
    for below in node.get("Plans", ()):
        yield from nodes_of(below)


def touched(node: dict[str, Any]) -> int:
    """Rows that a scan has read."""
    if "Scan" not in node["Node Type"]:
        return 0
    removed = sum(count for name, count in node.items() if name.startswith("Rows Removed by"))
    return int((node.get("Actual Rows", 0) + removed) * node.get("Actual Loops", 1))


def rows_touched(execute: Any, sql: str, args: Any) -> int:
    """Rows that a statement reads when it is carried out."""
    ((found,),) = execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", args).fetchall()
    return sum(map(touched, nodes_of(found[0]["Plan"])))
