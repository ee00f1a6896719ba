"""What a run finds and may touch, by command: said, shown, changed, taken away and refused."""

from __future__ import annotations

import pytest

from tests.support.process import TestHome

ADD = ("add", "every day at 9:00", "--script", "hi.sh", "--name", "Tides")
KEYS = ("secrets", "workdir", "landlock", "sandbox", "env")


def lines(home: TestHome) -> list[str]:
    return home.file("tides").read_text(encoding="utf-8").splitlines()


def test_it_is_said_shown_changed_and_taken_away(home: TestHome) -> None:
    home.env |= {"API_KEY": "abcdef", "OTHER": "ghijkl"}
    given = (
        "--secret",
        "API_KEY",
        "--secret",
        "OTHER",
        "--workdir",
        "/",
        "--landlock",
        "off",
        "--sandbox",
        "net",
        "--env",
        "EDITOR",
    )
    made = home.json(*ADD, *given, "--limit", "memory=512M,cpu=2m,processes=40")["job"]
    assert (made["secrets"], made["workdir"]) == (["API_KEY", "OTHER"], "/")
    assert (made["landlock"], made["sandbox"]) == (False, "net")
    assert (made["limits"]["memory_bytes"], made["limits"]["cpu_s"], made["limits"]["processes"]) == (2**29, 120.0, 40)
    for line in (
        "secrets: [API_KEY, OTHER]", "workdir: /", "landlock: false", "sandbox: net", "env: [EDITOR]",
        "limits: {memory: 512M, cpu: 2m, processes: 40}",
    ):  # fmt: skip
        assert line in lines(home)
    shown = home.horae("show", "tides").out
    for row in (
        "in            /", "sees          EDITOR", "secrets       API_KEY, OTHER", "landlock      off", "sandbox       net",
    ):  # fmt: skip
        assert row in shown
    home.json("edit", "tides", "--landlock", "on", "--sandbox", "strict", "--unset", "secrets", "--limit", "memory=1g")
    assert {"landlock: true", "sandbox: strict", "limits: {memory: 1g, cpu: 2m, processes: 40}"} <= {*lines(home)}
    assert not [line for line in lines(home) if line.startswith("secrets")]
    home.json("edit", "tides", "--sandbox", "off")
    assert home.json("show", "tides")["job"]["sandbox"] == "off"
    for _ in range(2):
        home.json("undo")
    assert {"landlock: false", "secrets: [API_KEY, OTHER]"} <= {*lines(home)}


def test_a_job_that_says_nothing_shows_nothing_of_it(home: TestHome) -> None:
    made = home.json(*ADD)["job"]
    assert (made["secrets"], made["workdir"], made["landlock"], made["sandbox"]) == ([], None, True, "off")
    assert not [line for line in lines(home) if line.startswith(KEYS)]
    assert not any(word in home.horae("show", "tides").out for word in ("secrets", "landlock", "sandbox"))


@pytest.mark.parametrize(
    ("given", "says", "hint"),
    [
        (("--secret", "A=b"), "'A=b' is none", "the values stay in secrets.toml"),
        (("--workdir", "data"), "it says data", "script's folder"),
        (("--sandbox", "on"), "must be off, net or strict; it says 'on'", None),
        (("--limit", "memory=512"), "from 1M on", None),
        (("--limit", "processes=none"), "a whole number from 1 on", None),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    home: TestHome, given: tuple[str, ...], says: str, hint: str | None
) -> None:
    done = home.horae(*ADD, *given, "--json", status=2)
    assert says in done.out
    assert hint is None or hint in done.out
    assert not home.file("tides").exists()
