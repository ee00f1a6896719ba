"""Notes on a screen: the real `notify-send` on a bus of its own, and a server there that writes down what it shows."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from jeepney import HeaderFields, Message, MessageType, new_error, new_method_return
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

from horae.core.delivery import Receipt
from horae.senders.desktop import BUS, Desktop
from tests.support import letters
from tests.support.process import TestHome, new_home, running, until
from tests.support.world import scratch

NAME = "org.freedesktop.Notifications"
URGENT, USUAL = 2, 1  # what the hint `urgency` means by its bytes
WAIT_S = 10
FIRST_ID = 41


@dataclass(frozen=True)
class Note:
    """What somebody would see."""

    app: str
    title: str
    body: str
    urgency: int


@dataclass
class Screen:
    """A server for notes, on a thread."""

    bus: str
    refuses: bool = False
    notes: list[Note] = field(default_factory=list)
    ready: threading.Event = field(default_factory=threading.Event)

    def serve(self) -> None:
        """Answer until the bus is gone."""
        with suppress(OSError, EOFError), open_dbus_connection(self.bus) as link:
            link.send_and_get_reply(message_bus.RequestName(NAME))
            self.ready.set()
            while True:
                asked = link.receive()
                if asked.header.message_type is MessageType.method_call:
                    link.send(self._answer(asked, asked.header.fields.get(HeaderFields.member)))

    def _answer(self, asked: Message, verb: Any) -> Message:
        if verb == "GetServerInformation":
            return new_method_return(asked, "ssss", ("screen", "tests", "1", "1.2"))
        if verb == "GetCapabilities":
            return new_method_return(asked, "as", (["body", "body-markup"],))
        if verb != "Notify":
            return new_error(asked, "org.freedesktop.DBus.Error.UnknownMethod")
        if self.refuses:
            return new_error(asked, f"{NAME}.Error.ExcessNotificationGeneration", "s", ("too many notes",))
        app, _, _, title, body, _, hints, _ = asked.body
        self.notes.append(Note(app, title, body, hints["urgency"][1]))
        return new_method_return(asked, "u", (FIRST_ID + len(self.notes) - 1,))


@contextmanager
def bus() -> Iterator[str]:
    """A bus that nobody else is on: its address. It lies where `$XDG_RUNTIME_DIR/bus` would."""
    if not all(map(shutil.which, ("dbus-daemon", "notify-send"))):
        pytest.skip("needs dbus-daemon and notify-send")
    with scratch() as folder:
        words = ("dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address")
        daemon = subprocess.Popen(
            (*words, f"--address=unix:path={folder}/bus"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            assert daemon.stdout is not None
            address = daemon.stdout.readline().strip()
            assert address, "the bus did not begin"
            yield address
        finally:
            daemon.kill()
            daemon.communicate()


@pytest.fixture
def screen() -> Iterator[Screen]:
    with bus() as address:
        made = Screen(address)
        thread = threading.Thread(target=made.serve, daemon=True)
        thread.start()
        assert made.ready.wait(WAIT_S), "nobody shows notes"
        yield made
    thread.join(WAIT_S)
    assert not thread.is_alive()


def around(**given: str) -> dict[str, str]:
    """The surroundings of a gateway, with these words about the session and no others."""
    return {**{name: value for name, value in os.environ.items() if name not in (BUS, "XDG_RUNTIME_DIR")}, **given}


def show(folder: Path, env: dict[str, str], **what: Any) -> Receipt:
    sender = Desktop(letters.platform("desktop", {}), letters.tools(folder, env=env), system="linux")
    return letters.send(sender, letters.message(**what))


def test_a_note_has_its_title_its_text_and_a_number_as_evidence(screen: Screen, tmp_path: Path) -> None:
    receipt = show(tmp_path, around(**{BUS: screen.bus}), title="Tides", body="High water at 06:12\nand at 18:40")
    assert receipt == Receipt("accept", evidence=f"note {FIRST_ID}")
    assert screen.notes == [Note("Horae", "Tides", "High water at 06:12\nand at 18:40", USUAL)]


def test_an_alert_is_urgent(screen: Screen, tmp_path: Path) -> None:
    env = around(**{BUS: screen.bus})
    show(tmp_path, env, title="Tides")
    receipt = show(tmp_path, env, title="Tides: failed", alert=True)
    assert receipt.evidence == f"note {FIRST_ID + 1}"
    assert [note.urgency for note in screen.notes] == [USUAL, URGENT]


HOSTILE = {
    "markup": "<b>bold</b> <a href='file:///etc/passwd'>here</a> & &lt;i&gt; &amp;",
    "options": "--urgency=low\n-t 1\n--help",
    "backslashes": r"C:\temp\new \x41 \n \"quoted\" \\server\share",
    "half a character": r"\377 \200 \303",
    "a last backslash": "the end \\",
    "shell": "$(touch here) `touch here` ; touch here | sh",
    "percent": "100 % %s %n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_text_stays_text(text: str, screen: Screen, tmp_path: Path) -> None:
    """A desktop that reads the body as markup shows exactly what was said."""
    receipt = show(tmp_path, around(**{BUS: screen.bus}), title="t", body=text)
    assert receipt.event == "accept", receipt
    (note,) = screen.notes
    assert "<" not in note.body
    assert unescape(note.body) == text


def test_letters_of_all_scripts_arrive_where_no_locale_is_set(screen: Screen, tmp_path: Path) -> None:
    """As in a service that was started by the system."""
    env = {name: value for name, value in around(**{BUS: screen.bus}).items() if not name.startswith(("LC_", "LANG"))}
    assert show(tmp_path, env, title="Überfahrt", body="Φ 06:12 — 潮").event == "accept"
    assert [(note.title, note.body) for note in screen.notes] == [("Überfahrt", "Φ 06:12 — 潮")]


@pytest.mark.parametrize("text", ["--help", "-u", "<b>x</b>", r"a\nb \377", "%s"])
def test_a_title_is_no_option_and_no_markup(text: str, screen: Screen, tmp_path: Path) -> None:
    assert show(tmp_path, around(**{BUS: screen.bus}), title=text, body="b").event == "accept"
    assert [note.title for note in screen.notes] == [text]


def test_a_session_is_found_by_its_folder(screen: Screen, tmp_path: Path) -> None:
    folder = os.path.dirname(screen.bus.removeprefix("unix:path=").split(",")[0])
    assert show(tmp_path, around(XDG_RUNTIME_DIR=folder)).event == "accept"
    assert len(screen.notes) == 1


def test_whoever_refuses_a_note_may_take_it_later(screen: Screen, tmp_path: Path) -> None:
    screen.refuses = True
    receipt = show(tmp_path, around(**{BUS: screen.bus}))
    assert receipt.event == "retry"
    assert "too many notes" in (receipt.reason or "")


def test_a_session_that_shows_no_notes_may_do_so_later(tmp_path: Path) -> None:
    with bus() as address:
        receipt = show(tmp_path, around(**{BUS: address}))
    assert receipt.event == "retry"
    assert NAME in (receipt.reason or "")


# ── as a person uses it


@pytest.fixture
def home(screen: Screen, tmp_path: Path) -> TestHome:
    made = new_home(tmp_path / "home")
    made.inside = True
    made.env[BUS] = screen.bus
    made.config('[platforms.desk]\nkind = "desktop"\n')
    return made


def test_a_person_tries_it(home: TestHome, screen: Screen) -> None:
    (receipt,) = home.json("targets", "test", "desk", "--message=-u <b>low</b>")["receipts"]
    assert (receipt["event"], receipt["evidence"]) == ("accept", f"note {FIRST_ID}")
    (note,) = screen.notes
    assert (note.app, note.title, note.urgency) == ("Horae", "Horae test message", USUAL)
    assert "-u &lt;b&gt;low&lt;/b&gt;" in note.body


def test_a_person_learns_that_nobody_shows_it(home: TestHome, screen: Screen) -> None:
    screen.refuses = True
    (receipt,) = home.json("targets", "test", "desk", status=1)["receipts"]
    assert receipt["event"] == "retry"
    assert "too many notes" in receipt["reason"]


def test_a_failure_is_shown_as_urgent(home: TestHome, screen: Screen) -> None:
    home.script("fail.sh", "echo 'no route <to> host' >&2; exit 3\n")
    home.write("tides", script="fail.sh", deliver="desk", name="Tides")
    with running(home, env={BUS: screen.bus}):
        home.horae("run", "tides")
        until(lambda: screen.notes, "the alert is on the screen")
        (delivery,) = until(
            lambda: [each for each in home.runs("tides")[0]["deliveries"] if each["state"] == "delivered"],
            "it is recorded",
        )
    assert delivery["evidence"] == f"note {FIRST_ID}"
    (note,) = screen.notes
    assert (note.title, note.urgency) == ("Tides: failed", URGENT)
    assert "no route &lt;to&gt; host" in note.body
