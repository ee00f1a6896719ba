"""Labels: whether any gateway that lives would take a job, and why not."""

from __future__ import annotations

import pytest

from horae.core.labels import offered, unoffered


def gateways(*labels: str, alive: bool = True) -> list[dict[str, object]]:
    return [{"labels": text.split(), "alive": alive} for text in labels]


def test_only_who_lives_offers_anything() -> None:
    found = [*gateways("gpu", "eu gpu"), *gateways("us", alive=False)]
    assert offered(found) == [{"gpu"}, {"eu", "gpu"}]
    assert offered([]) == []


@pytest.mark.parametrize(
    ("asked", "there", "why"),
    [
        ("gpu", ("gpu",), None),
        ("gpu", ("", "eu gpu"), None),
        ("eu gpu", ("eu gpu us",), None),
        ("", ("",), None),
        ("gpu", (), "none has gpu (none that is alive has labels)"),
        ("gpu", ("",), "none has gpu (none that is alive has labels)"),
        ("gpu", ("us", "eu"), "none has gpu (those that are alive have eu, us)"),
        ("eu tpu", ("eu", "us"), "none has eu, tpu (those that are alive have eu, us)"),
        ("eu gpu", ("eu", "gpu"), "none has eu, gpu together (those that are alive have eu, gpu)"),
    ],
)
def test_why_nobody_would_take_it(asked: str, there: tuple[str, ...], why: str | None) -> None:
    assert unoffered(asked.split(), offered(gateways(*there))) == why
