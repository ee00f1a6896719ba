"""What `config.toml` says about delivery: platforms, targets, alerts, quiet hours, the heartbeat, and each mistake."""

from __future__ import annotations

import re
from datetime import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae import settings
from horae.core.delivery import Address, Alerts, Heartbeat, Platform, Quiet
from horae.core.deliveryform import TABLES, delivery_of
from horae.core.target import Directory, resolve
from horae.errors import Invalid
from horae.settings import load

TELEGRAM = '[platforms.telegram]\nkind = "apprise"\nurl = "tgram://{TELEGRAM}/{chat}:{thread}"\n'
SECRET = "hunter2"


def home(tmp_path: Path, text: str) -> str:
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    return str(tmp_path)


def test_without_any_of_it_there_is_local_only(tmp_path: Path) -> None:
    found = load(home(tmp_path, ""), {})
    assert (found.platforms, found.targets, found.alerts) == ({}, {}, Alerts())
    assert (found.quiet, found.heartbeat, found.link, found.give_up_s) == (None, None, None, 86_400)


def test_every_key_is_read(tmp_path: Path) -> None:
    text = """
timezone = "Asia/Tokyo"
link = "https://horae.example.org:8443/board/"
[platforms.telegram]
kind = "apprise"
url = "tgram://{TELEGRAM}/{chat}:{thread}"
home = -100777
header = false
footer = false
quiet = false
timeout = "1m"
safe_to_repeat = true
[platforms.telegram.chats.5]
quiet = true
[platforms.telegram.chats." 5 : 7"]
header = true
[platforms.desktop]
[targets]
ops = "telegram:5:7"
"discord:#room" = ["ops", "desktop, local"]
[alerts]
to = ["ops", "origin"]
fallback = "desktop"
remind = "6h"
pause_after = 5
[quiet]
hours = ["22:00-07:00", "12:30 to 13:30"]
digest = "8:00"
[heartbeat]
url = "https://ping.example.org/{PING}"
every = "5m"
[delivery]
give_up = "2h"
"""
    found = load(home(tmp_path, text), {})
    assert found.platforms == {
        "telegram": Platform(
            "telegram", "apprise", {"url": "tgram://{TELEGRAM}/{chat}:{thread}"}, home="-100777", threads=True,
            header=False, footer=False, quiet=False, timeout_s=60.0, safe_to_repeat=True,
            chats={"telegram:5": {"quiet": True}, "telegram:5:7": {"header": True}},
        ),
        "desktop": Platform("desktop", "desktop", {}, alone=True),
    }  # fmt: skip
    assert found.platforms["desktop"].timeout_s == Platform("x", "mail").timeout_s
    assert found.targets == {"ops": ("telegram:5:7",), "discord:#room": ("ops", "desktop", "local")}
    assert found.alerts == Alerts(("ops", "origin"), "desktop", 21_600.0, 5)
    assert found.quiet == Quiet("Asia/Tokyo", ((1320, 420), (750, 810)), 480)
    assert found.heartbeat == Heartbeat("https://ping.example.org/{PING}", 300.0)
    assert (found.link, found.give_up_s) == ("https://horae.example.org:8443/board", 7200.0)


def test_what_may_be_said_in_more_than_one_way(tmp_path: Path) -> None:
    text = '[alerts]\nto = "local, origin"\nremind = "never"\n'
    text += '[heartbeat]\nurl = "{PING_URL}"\n[quiet]\nhours = ["22:00-24:00"]\ntimezone = "Europe/Paris"\n'
    found = load(home(tmp_path, text), {})
    assert found.alerts == Alerts(("local", "origin"), None, None, None)
    assert found.heartbeat == Heartbeat("{PING_URL}", 60.0)
    assert found.quiet == Quiet("Europe/Paris", ((1320, 1440),))


@pytest.mark.parametrize(
    ("text", "key", "said", "hint"),
    [
        ("platforms = 3", "platforms", "must be a table of platforms", None),
        ("[platforms]\nx = 3", "platforms.x", "must be a table", "[platforms.NAME]"),
        ("[platforms.Ops]", "platforms.Ops", "is not a name", None),
        ("[platforms.local]", "platforms.local", "a meaning of its own", None),
        ("[platforms.all]", "platforms.all", "a meaning of its own", None),
        ("[platforms.x]", "platforms.x.kind", "is missing", "apprise, mail, webhook"),
        ('[platforms.x]\nkind = "local"', "platforms.x.kind", "there is no kind 'local'", None),
        ('[platforms.x]\nkind = "webhok"', "platforms.x.kind", "there is no kind 'webhok'", "did you mean webhook?"),
        ("[platforms.x]\nkind = 3", "platforms.x.kind", "must be a kind of platform", None),
        ('[platforms.x]\nkind = ""', "platforms.x.kind", "is empty", None),
        ("[platforms.mail]", "platforms.mail.host", "is missing", "the mail server"),
        (TELEGRAM + "limit = 0", "platforms.telegram.limit", "must be a whole number above 0", "characters"),
        (TELEGRAM + 'hom = "5"', "platforms.telegram.hom", "has no option 'hom'", "did you mean home?"),
        (TELEGRAM + "home = true", "platforms.telegram.home", "must be a chat", None),
        (TELEGRAM + 'home = "5:"', "platforms.telegram.home", "has an empty part", None),
        (TELEGRAM + 'home = "telegram:5"', "platforms.telegram.home", "names its platform", 'home = "5"'),
        (TELEGRAM + 'home = "tgram://hunter2"', "platforms.telegram.home", "cannot be a URL", None),
        (TELEGRAM + "quiet = 1", "platforms.telegram.quiet", "must be true or false", None),
        (TELEGRAM + 'safe_to_repeat = "yes"', "platforms.telegram.safe_to_repeat", "must be true or false", None),
        (TELEGRAM + "chats = 3", "platforms.telegram.chats", "must be a table", '[platforms.telegram.chats."CHAT"]'),
        (TELEGRAM + "chats.5 = 3", "platforms.telegram.chats.5", "must be a table", "header = false"),
        (TELEGRAM + "chats.5.headr = true", "platforms.telegram.chats.5.headr", "is not a key", "did you mean header?"),
        (TELEGRAM + "chats.5.footer = 0", "platforms.telegram.chats.5.footer", "must be true or false", None),
        (TELEGRAM + 'chats."5:".quiet = true', 'platforms.telegram.chats."5:"', "has an empty part", None),
        (TELEGRAM + 'chats."a,b".quiet = true', 'platforms.telegram.chats."a,b"', "is more than one target", None),
        (TELEGRAM + 'timeout = "6m"', "platforms.telegram.timeout", "must be from 1 second to 5 minutes, not 6m", None),
        (TELEGRAM + "timeout = 30", "platforms.telegram.timeout", "must be a duration", "in quotes"),
        (TELEGRAM + 'timeout = "30"', "platforms.telegram.timeout", "'30' has no unit", "with units"),
        ("targets = 3", "targets", "must be a table of friendly names", None),
        ('[targets]\nops = "telegram"', "targets.ops", "no such target: telegram", "[platforms.NAME]"),
        ("[targets]\nops = 3", "targets.ops", "must be a target", None),
        ("[targets]\nops = []", "targets.ops", "names no target", None),
        ('[targets]\nops = "local,"', "targets.ops", "names no target", None),
        ('[targets]\nlocal = "origin"', "targets.local", "a meaning of its own", None),
        ('[targets]\n"a,b" = "local"', 'targets."a,b"', "a comma", None),
        (TELEGRAM + '[targets]\ntelegram = "local"', "targets.telegram", "is called already", None),
        ('[targets]\na = "b"\nb = ["local", "a"]', "targets.a", "a stands for itself: a → b → a", None),
        ('[targets]\na = "b"\nb = "locl"', "targets.b", "no such target: locl", "did you mean local?"),
        ('[targets]\nx = "https://anna:hunter2@e.org/"', "targets.x", "a URL (https://…)", "[platforms.NAME]"),
        ("alerts = 3", "alerts", "must be a table", None),
        ('[alerts]\nfallbak = "local"', "alerts.fallbak", "is not a key", "did you mean fallback?"),
        ('[alerts]\nto = "opps"', "alerts.to", "no such target: opps", None),
        ('[alerts]\nfallback = "opps"', "alerts.fallback", "no such target: opps", None),
        ('[alerts]\nremind = "often"', "alerts.remind", "cannot read the duration 'often'", None),
        ('[alerts]\nremind = "1s"', "alerts.remind", "must be from 1 minute", "or never"),
        ("[alerts]\npause_after = 0", "alerts.pause_after", "a whole number from 1 to 1000", None),
        ("[alerts]\npause_after = true", "alerts.pause_after", "a whole number from 1 to 1000", None),
        ("[quiet]", "quiet", "no hours and no digest", None),
        ('[quiet]\nhours = "22:00-07:00"', "quiet.hours", "must be a list", None),
        ('[quiet]\nhours = ["22-7"]', "quiet.hours", "cannot read '22-7'", None),
        ('[quiet]\nhours = ["22:60-07:00"]', "quiet.hours", "cannot read", None),
        ('[quiet]\nhours = ["07:00-07:00"]', "quiet.hours", "is the whole day", None),
        ('[quiet]\nhours = ["07:00-19:00", "18:00-7:00"]', "quiet.hours", "cover the whole day", None),
        ('[quiet]\nhours = ["22:00-07:00"]\ntimezone = "Paris"', "quiet.timezone", "unknown time zone", "Europe/Paris"),
        ('[quiet]\ndigest = "24:00"', "quiet.digest", "must be a time of day", None),
        ("[quiet]\ndigest = 08:00:00", "quiet.digest", "must be a time of day", "in quotes"),
        ('[heartbeat]\nevery = "1m"', "heartbeat.url", "is missing", None),
        ('[heartbeat]\nurl = "ftp://hunter2"', "heartbeat.url", "must be a URL of http or https", "{NAME}"),
        ('[heartbeat]\nurl = "https://e.org/hunter2 x"', "heartbeat.url", "must be a URL of http or https", None),
        ('[heartbeat]\nurl = "https://e.org"\nevery = "9s"', "heartbeat.every", "must be from 10 seconds", None),
        ('heartbeat = "https://e.org/hunter2"', "heartbeat", "must be a table: url, every", None),
        ('link = "horae.example.org"', "link", "must be the address of the dashboard", None),
        ('link = "https://anna:hunter2@example.org"', "link", "must be the address of the dashboard", None),
        ('link = "https://example.org/?a=hunter2"', "link", "must be the address of the dashboard", None),
        ("link = 3", "link", "must be the URL of the dashboard", None),
        ('[delivery]\ngive_up = "31d"', "delivery.give_up", "must be from 1 minute to 30 days", None),
        ('[delivery]\ngiveup = "1d"', "delivery.giveup", "is not a key", "did you mean give_up?"),
    ],
)
def test_a_mistake_names_file_key_and_what_to_do(
    tmp_path: Path, text: str, key: str, said: str, hint: str | None
) -> None:
    with pytest.raises(Invalid) as caught:
        load(home(tmp_path, text), {})
    assert caught.value.message.startswith(f"{tmp_path}/config.toml: {key}")
    assert said in caught.value.message
    assert (hint or "") in str(caught.value.hint)
    assert caught.value.details["file"] == f"{tmp_path}/config.toml"
    assert caught.value.details["key"] == key
    assert SECRET not in str(caught.value.as_json())


def test_there_are_bounds(tmp_path: Path) -> None:
    many = "".join(f"[platforms.p{at}]\nkind = 'desktop'\n" for at in range(101))
    for text, said in (
        (many, "more than 100 platforms"),
        ("[targets]\n" + "".join(f"n{at} = 'local'\n" for at in range(1001)), "more than 1000 names"),
        ("[targets]\nops = [" + "'local'," * 101 + "]", "more than 100 targets"),
        ("[quiet]\nhours = [" + "'22:00-07:00'," * 51 + "]", "more than 50 times"),
    ):
        with pytest.raises(Invalid, match=said):
            load(home(tmp_path, text), {})


def test_a_chat_has_what_its_platform_has_but_for_what_is_said_of_it(tmp_path: Path) -> None:
    text = TELEGRAM + "header = false\n"
    text += "chats.5 = { header = true, quiet = false }\nchats.'5:7'.footer = false\n"
    telegram = load(home(tmp_path, text), {}).platforms["telegram"]

    def flags(*where: str) -> tuple[bool, bool, bool]:
        found = telegram.at(Address("telegram", *where))
        return found.header, found.footer, found.quiet

    assert flags("6") == flags() == (False, True, True)
    assert flags("5") == flags("5", "8") == (True, True, False)
    assert flags("5", "7") == (True, False, False)


SCALARS = st.one_of(
    st.text(max_size=8), st.booleans(), st.integers(), st.floats(), st.just(time(8)), st.just("local"), st.just("22:00-07:00"),
    st.sampled_from(["mail", "desktop", "a@b", "1d", "https://e.org", "08:00", "never", "Europe/Paris", "x", "y"]),
)  # fmt: skip
WORDS = "kind home header chats timeout to fallback remind pause_after hours timezone digest url every give_up host from x y"
KEYS = st.sampled_from(re.findall(r"\w+", WORDS))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(TABLES), VALUES | st.dictionaries(KEYS, VALUES, max_size=4), max_size=4))
def test_whatever_stands_there_is_read_or_invalid(values: dict[str, Any]) -> None:
    try:
        found = delivery_of(values, "UTC")
    except Invalid as error:
        wrong = str(error.details["key"])
    else:
        wrong = None
    assert wrong is None or wrong.split(".")[0] in TABLES
    if wrong is not None:
        return
    directory = Directory(found.platforms, found.targets)
    for name in [*found.targets, *found.alerts.to, *filter(None, [found.alerts.fallback])]:
        for address in resolve(name, directory):
            assert resolve(str(address), directory) == (address,)


def test_the_examples_of_a_new_home_are_right(tmp_path: Path) -> None:
    """What stands behind `#`, in the file of a new home."""
    example = (Path(settings.__file__).parent / "example" / "config.toml").read_text(encoding="utf-8")
    keys = "|".join(TABLES)
    text = re.sub(rf"^# ({keys}) = ", r"\1 = ", example, flags=re.MULTILINE)
    found = load(home(tmp_path, text), {})
    assert list(found.platforms) == ["mail"]
    assert found.targets["discord:#room"] == ("mail",)
    assert found.alerts == Alerts(("ops",), "mail", 86_400, 5)
    assert (found.quiet is None, found.heartbeat is None, found.link) == (False, False, "https://horae.example.org")
