"""The keyring as a place for secrets: what it says is taken, and whatever it does is a trouble in words that show no value."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from horae.aside import Bounded
from horae.core.agent import AgentSettings, Provider
from horae.errors import Trouble
from horae.keyrings import Ring, ring_of
from horae.ports import Settings
from horae.secretfile import SecretFile


class Keeper:
    """What `import keyring` would be."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], str] = {}
        self.asked: list[str] = []
        self.error: Exception | None = None
        self.drops = False

    def get_password(self, service: str, name: str) -> str | None:
        self.asked.append(name)
        if self.error is not None:
            raise self.error
        return self.held.get((service, name))

    def set_password(self, service: str, name: str, value: str) -> None:
        if self.error is not None:
            raise self.error
        if not self.drops:
            self.held[service, name] = value

    def delete_password(self, service: str, name: str) -> None:
        del self.held[service, name]


@pytest.fixture
def keeper(monkeypatch: pytest.MonkeyPatch) -> Keeper:
    kept = Keeper()
    monkeypatch.setitem(sys.modules, "keyring", kept)
    return kept


def put(home: Path, text: str) -> None:
    path = home / "secrets.toml"
    path.write_text(text)
    path.chmod(0o600)


def test_what_is_put_is_there_is_listed_and_goes(keeper: Keeper) -> None:
    ring = Ring("/h")
    ring.put("B", 'a"b\nü')
    ring.put("A", "x")
    assert (ring.get("B"), ring.names()) == ('a"b\nü', ("A", "B"))
    assert keeper.held["horae:/h", "A"] == "x"
    assert Ring("/other").get("A") is None
    assert ring.remove("B")
    assert not ring.remove("B")
    assert (ring.get("B"), ring.names()) == (None, ("A",))


def test_one_that_keeps_nothing_is_found_out(keeper: Keeper) -> None:
    keeper.drops = True
    with pytest.raises(Trouble, match="does not have it"):
        Ring("/h").put("A", "hunter2")


def test_whatever_it_raises_is_a_trouble_that_shows_no_value(keeper: Keeper) -> None:
    keeper.error = RuntimeError("cannot store hunter2 for you\x1b[0m")
    with pytest.raises(Trouble) as caught:
        Ring("/h").put("A", "hunter2")
    assert "the keyring cannot be used: cannot store … for you" in caught.value.message
    assert "hunter2" not in f"{caught.value.message}{caught.value.hint}"
    assert "\x1b" not in caught.value.message
    assert caught.value.__cause__ is None


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(Trouble, match="which is not installed") as caught:
        Ring("/h").get("A")
    assert "pip install" in (caught.value.hint or "")


def test_a_list_that_somebody_has_damaged_is_no_list(keeper: Keeper) -> None:
    for text in ("{", "5", '["A", 1, null]'):
        keeper.held["horae:/h", "(names)"] = text
        assert Ring("/h").names() in ((), ("A",))


def test_one_that_hangs_is_given_up_and_not_asked_again_until_it_answers() -> None:
    bounded, gate, begun = Bounded(0.0), threading.Event(), threading.Event()

    def hang() -> bool:
        begun.set()
        return gate.wait(60)

    with pytest.raises(TimeoutError):
        bounded(hang)
    assert begun.wait(60)
    with pytest.raises(TimeoutError):
        bounded(lambda: pytest.fail("a second thread is spent"))
    first = bounded._thread
    gate.set()
    assert first is not None
    first.join(60)
    patient = Bounded(60.0)
    assert patient(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        patient(lambda: 1 // 0)


def test_a_hanging_keyring_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = Ring("/h")

    def gives_up(_work: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(ring, "_ask", gives_up)
    with pytest.raises(Trouble, match="does not answer") as caught:
        ring.get("A")
    assert 'keyring = "off"' in (caught.value.hint or "")


# --- among the other places


def test_file_then_environment_then_keyring(tmp_path: Path, keeper: Keeper) -> None:
    put(tmp_path, 'A = "file-a"\n')
    ring = Ring(str(tmp_path))
    for name in "ABC":
        ring.put(name, f"ring-{name}")
    keeper.asked.clear()
    secrets = SecretFile(str(tmp_path), {"A": "env-a", "B": "env-b"}, ring=ring)
    found, problems = secrets.lookup(("A", "B", "C", "D"))
    assert found == {"A": "file-a", "B": "env-b", "C": "ring-C"}
    assert [problem.split(":")[0] for problem in problems] == ["secret D has no value"]
    assert "horae secrets set D" in problems[0]
    assert keeper.asked == ["C", "D"]


def test_without_the_setting_nothing_is_asked(tmp_path: Path, keeper: Keeper) -> None:
    Ring(str(tmp_path)).put("C", "ring-c")
    keeper.asked.clear()
    assert SecretFile.of(Settings(str(tmp_path))).lookup(("C",))[0] == {}
    assert keeper.asked == []
    assert SecretFile.of(Settings(str(tmp_path), keyring=True)).lookup(("C",))[0] == {"C": "ring-c"}


def test_a_keyring_in_trouble_harms_only_what_is_in_it(tmp_path: Path, keeper: Keeper) -> None:
    put(tmp_path, 'A = "file-a"\n')
    keeper.error = OSError("no bus")
    secrets = SecretFile(str(tmp_path), {}, ring=Ring(str(tmp_path)))
    found, problems = secrets.lookup(("A", "B"))
    assert found == {"A": "file-a"}
    assert "secret B has no value" in problems[0]
    assert "the keyring cannot be used: no bus" in problems[1]
    assert secrets.redactor(("B",)).text("file-a") == "[redacted A]"


def test_values_from_everywhere_are_taken_out_of_texts(tmp_path: Path, keeper: Keeper) -> None:
    put(tmp_path, 'A = "from-file"\n')
    agents = AgentSettings(
        providers={
            "p": Provider("p", "openai", None, "FROM_ENV"),
            "q": Provider("q", "openai", None, "FROM_RING"),
            "r": Provider("r", "openai", None, "A"),
        }
    )
    settings = Settings(str(tmp_path), env={"FROM_ENV": "from-env-1"}, keyring=True, agents=agents)
    ring_of(str(tmp_path)).put("FROM_RING", "from-ring-1")
    ring_of(str(tmp_path)).put("OF_A_JOB", "from-ring-2")
    secrets = SecretFile.of(settings)
    said = "[redacted A] [redacted FROM_ENV] [redacted FROM_RING] [redacted OF_A_JOB]"
    assert secrets.redactor().text("from-file from-env-1 from-ring-1 from-ring-2") == said
    assert secrets.redactor() is secrets.redactor()
    fresh = SecretFile(str(tmp_path), {}, ring=Ring(str(tmp_path)))
    assert fresh.redactor().text("from-ring-2") == "from-ring-2"  # not asked for, so it has told nobody
    assert fresh.redactor(("OF_A_JOB",)).text("from-ring-2") == "[redacted OF_A_JOB]"
    ring_of(str(tmp_path)).put("FROM_RING", "from-ring-3")
    assert secrets.redactor().text("from-ring-3") == "[redacted FROM_RING]"
