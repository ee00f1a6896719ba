"""Others start jobs: signed calls over real HTTP, and everything that is wrong with one."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest
from standardwebhooks import Webhook

from tests.support.process import new_home
from tests.support.web import Served, served

SECRET = "whsec_" + base64.b64encode(b"a key that is long enough for it").decode()
PLAIN = "It's a Secret to Everybody"
CONFIG = """
commands = ["true", "sleep", "sh"]

[hooks.std]
kind = "standard"
secret = ["STD_OLD", "STD"]
jobs = ["show"]

[hooks.gh]
kind = "github"
secret = "GH"
jobs = ["show"]
events = ["push"]

[hooks.plain]
kind = "bearer"
secret = "PLAIN"
jobs = ["show", "resting", "nowhere"]
max = "1k"

[hooks.slow]
kind = "bearer"
secret = "PLAIN"
jobs = ["resting"]
rate = 3
"""
SHOW = 'printf "%s" "$HORAE_WITH"; echo; echo "by $HORAE_TRIGGER $HORAE_HOOK $HORAE_WITH_FORM $TRACEPARENT"\n'


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One home for all of these, with its hooks."""
    home = new_home(tmp_path_factory.mktemp("hooks") / "home")
    home.script("show.sh", SHOW)
    home.config(CONFIG)
    home.write("show", script="show.sh", overlap="queue")
    home.write("resting", script="show.sh")
    secrets = home.path / "secrets.toml"
    secrets.write_text(f'STD = "{SECRET}"\nGH = "{PLAIN}"\nPLAIN = "{PLAIN}"\n', encoding="utf-8")
    secrets.chmod(0o600)
    with served(home) as made:
        home.horae("pause", "resting", "--reason", "a rest")
        yield made


def standard(message: str, body: str, at: datetime | None = None) -> dict[str, str]:
    now = at or datetime.now(UTC)
    mark = Webhook(SECRET).sign(message, now, body)
    return {"webhook-id": message, "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": mark}


def github(delivery: str, body: str, event: str = "push") -> dict[str, str]:
    mark = hmac.new(PLAIN.encode(), body.encode(), sha256).hexdigest()
    return {"x-github-event": event, "x-github-delivery": delivery, "x-hub-signature-256": f"sha256={mark}"}


def bearer(secret: str = PLAIN, **more: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}", **more}


def post(at: Served, hook: str, body: str | bytes, headers: dict[str, str]) -> httpx2.Response:
    return at.client().post(f"/hooks/{hook}", content=body, headers=headers)


def output(at: Served, run_id: str) -> str:
    at.home.ended(run_id)
    return at.home.look("log", run_id)["stdout"]


def journaled(at: Served) -> int:
    return at.home.sql("SELECT count(*) FROM journal")[0][0]


def test_what_the_library_signs_starts_a_run_with_what_it_says(at: Served) -> None:
    body = '{"type": "paid", "n": 1}'
    first = post(at, "std", body, headers := standard("m-1", body))
    assert first.status_code == 202, first.text
    (run,) = first.json()["runs"]
    said = output(at, run["run_id"])
    assert said.startswith(body + "\nby hook std text 00-")
    assert f"00-{run['key'].replace('-', '')}-" in said, "its programs join the trace of the occurrence"
    again = post(at, "std", body, headers)
    assert (again.status_code, again.json()) == (200, {**first.json(), "again": True})
    assert len([one for one in at.home.runs("show") if one["key"] == run["key"]]) == 1
    story = json.dumps(at.home.look("why", "show"))
    assert "hook std" in story


def test_github_and_its_events(at: Served) -> None:
    body = '{"ref": "refs/heads/main"}'
    taken = post(at, "gh", body, github("d-1", body))
    assert taken.status_code == 202
    assert body in output(at, taken.json()["runs"][0]["run_id"])
    replayed = post(at, "gh", body, github("d-other", body))
    assert (replayed.status_code, replayed.json()["again"]) == (200, True), "the delivery's id is not signed"
    for event in ("ping", "issues"):
        ignored = post(at, "gh", "{}", github("d-2", "{}", event))
        assert (ignored.status_code, ignored.json()["ignored"]) == (200, True)


def test_a_bearer_starts_what_can_start_and_is_told_of_the_rest(at: Served) -> None:
    answer = post(at, "plain", "hello", bearer())
    assert answer.status_code == 202
    (run,) = answer.json()["runs"]
    resting, nowhere = answer.json()["dropped"]
    assert "paused by" in resting["reason"]
    assert "a rest" in resting["reason"]
    assert nowhere == {"job": "nowhere", "reason": "there is no such job", "key": None}
    assert output(at, run["run_id"]).startswith("hello\n")
    (dropped,) = [one for one in at.home.look("why", "resting")["occurrences"] if one["key"] == resting["key"]]
    assert dropped["outcome"] == "skipped"
    assert dropped["reason"].endswith("called by hook plain")
    shown = at.home.horae("why", "resting", resting["key"]).out
    assert "called by hook plain" in shown


def test_the_same_key_is_the_same_call_also_of_many_at_once(at: Served) -> None:
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: post(at, "plain", "once", bearer(**{"idempotency-key": "k-1"})), range(6)))
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [202]
    assert len({answer.json()["runs"][0]["run_id"] for answer in answers}) == 1


def test_what_is_not_good_is_answered_alike_and_leaves_nothing(at: Served) -> None:
    body = '{"a": 1}'
    before, old = journaled(at), datetime.now(UTC) - timedelta(minutes=6)
    bad = [
        post(at, "std", body, standard("m-2", body, old)),
        post(at, "std", body + " ", standard("m-3", body)),
        post(at, "std", body, {}),
        post(at, "gh", body, github("d-9", body + " ")),
        post(at, "plain", body, bearer("wrong")),
        post(at, "nobody", body, bearer()),
        post(at, "..%2fstd", body, bearer()),
        post(at, "NOBODY\x00".encode("unicode_escape").decode(), body, bearer()),
    ]
    assert {answer.status_code for answer in bad} <= {401, 404}
    assert len({answer.text for answer in bad if answer.status_code == 401}) == 1
    assert [answer.status_code for answer in bad[:6]] == [401] * 6
    assert journaled(at) == before
    assert at.client().get("/hooks/std").status_code == 405


def test_what_is_too_long_is_refused(at: Served) -> None:
    assert post(at, "plain", "x" * 1025, bearer()).status_code == 413
    assert post(at, "plain", "x" * 1025, bearer("wrong")).status_code == 401, "nobody learns the limit without a secret"
    assert post(at, "plain", "x" * 200_000, bearer()).status_code == 413
    largest = "x" * (64 * 1024)
    taken = post(at, "std", largest, standard("m-large", largest))
    assert output(at, taken.json()["runs"][0]["run_id"]).startswith("xxx")


HOSTILE = (
    "$(touch pwned); `touch pwned`; \"; rm -rf / #\n'\"'\nHORAE_HOME=/tmp\nPATH=/nowhere\n%s%n\\0 \u202e",
    "<script>alert(1)</script>\n---\nschedule: every 1s\n---\nIgnore all previous instructions",
    "",
)


@pytest.mark.parametrize("body", HOSTILE)
def test_whatever_a_call_says_is_data(at: Served, body: str) -> None:
    jobs = sorted(at.home.jobs())
    message = f"h-{sha256(body.encode()).hexdigest()[:8]}"
    taken = post(at, "std", body.encode(), standard(message, body))
    assert taken.status_code == 202
    said = output(at, taken.json()["runs"][0]["run_id"])
    assert "\nby hook std text 00-" in f"\n{said}"
    assert body.split("\n", maxsplit=1)[0].replace("\u202e", "") in said
    assert sorted(at.home.jobs()) == jobs
    assert not list(Path(at.home.path).rglob("pwned"))


def test_what_is_no_text_is_handed_over_as_base64(at: Served) -> None:
    body = b"\x00\xff\x01"
    taken = post(at, "plain", body, bearer())
    said = output(at, taken.json()["runs"][0]["run_id"])
    assert said.startswith(f"{base64.b64encode(body).decode()}\nby hook plain base64 ")


def test_too_many_in_a_minute_are_put_off_and_journaled_once(at: Served) -> None:
    answers = [post(at, "slow", str(number), bearer()) for number in range(6)]
    late = [answer for answer in answers if answer.status_code == 429]
    assert len(late) >= 3 or len({answer.headers["date"][:-7] for answer in answers}) > 1
    assert all(1 <= int(answer.headers["retry-after"]) <= 60 for answer in late)
    assert 1 <= at.home.sql("SELECT count(*) FROM journal WHERE what = 'call_refused'")[0][0] <= 2


def test_a_hook_that_is_written_now_can_be_called_now(at: Served) -> None:
    added = '\n[hooks.new]\nkind = "bearer"\nsecret = "PLAIN"\njobs = ["show"]\n'
    assert post(at, "new", "{}", bearer()).status_code == 401
    at.home.config(CONFIG + added)
    assert post(at, "new", "{}", bearer()).status_code == 202
    at.home.config(CONFIG + "\n[hooks.broken]\n")
    broken = post(at, "std", "{}", standard("m-b", "{}"))
    assert broken.status_code == 503
    assert str(at.home.path) not in broken.text, "strangers learn nothing of the home"
    at.home.config(CONFIG)
    assert post(at, "new", "{}", bearer()).status_code == 401


def test_they_are_listed_tried_and_looked_after(at: Served) -> None:
    listed: dict[str, Any] = {row["name"]: row for row in at.home.json("hooks")["hooks"]}
    assert listed["plain"]["last_call"] is not None
    assert listed["plain"]["problems"] == ["there is no job 'nowhere'"]
    assert listed["std"]["problems"] == ["the secret STD_OLD has no value (`horae secrets set STD_OLD`)"]
    assert f"{at.address}/hooks/gh" in at.home.horae("hooks", COLUMNS="200").out
    tried = at.home.json("hooks", "test", "std", "--data", "from the command line")
    assert tried["ok"]
    assert output(at, tried["answer"]["runs"][0]["run_id"]).startswith("from the command line\n")
    assert at.home.error("hooks", "test", "nobody", status=3)["code"] == "not_found"
    found = at.home.json("doctor", status=None)["checks"]
    assert [check["check"] for check in found if check["check"].startswith("hook ")] == ["hook std", "hook plain"]
