"""Results and alerts on their way to people: real gateways, real servers on loopback, jobs that run scripts."""

from __future__ import annotations

import base64
import email
import email.policy
import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier

from tests.support.process import TestHome, new_home, running, until
from tests.support.receivers import HttpServer, MailServer, closed_port, says

# One of Apprise's modules imports it, when all are loaded
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
TOKEN = "tr0ub4dor-and-3-horses"
OK = says("200 OK")
ON_ITS_WAY = ("pending", "sending")


@pytest.fixture
def home(tmp_path: Path) -> TestHome:
    """One whose commands are run by this process, with secrets, and with scripts that say something and count their runs."""
    made = new_home(tmp_path / "home")
    made.inside = True
    (made.path / "secrets.toml").write_text(f'HOOK = "{KEY}"\nTOKEN = "{TOKEN}"\n')
    (made.path / "secrets.toml").chmod(0o600)
    made.script("count.sh", 'echo x >> "$HORAE_HOME/ran"\necho "High water at 06:12"\n')
    made.script("fail.sh", 'if [ -e "$HORAE_HOME/bad" ]; then echo "no route" >&2; exit 3; fi; echo fine\n')
    return made


@pytest.fixture
def server() -> Iterator[HttpServer]:
    """Takes everything, if it is not told otherwise."""
    with HttpServer(answer=OK).running() as made:
        yield made


def hook(server: HttpServer, name: str = "hook", timeout: str = "5s") -> str:
    """A webhook to that server."""
    return (
        f'[platforms.{name}]\nkind = "webhook"\nurl = "{server.url}/{name}"\nsecret = "{{HOOK}}"\n'
        f'allow_private = true\ntimeout = "{timeout}"\n'
    )


def file(name: str) -> str:
    """A file in the home."""
    return f'[platforms.{name}]\nkind = "file"\npath = "{name}.txt"\n'


def command(name: str, line: str) -> str:
    """A line for a shell, which has the home as `$HORAE_HOME`."""
    return f'[platforms.{name}]\nkind = "command"\nargv = ["sh", "-c", {json.dumps(line)}]\ntimeout = "60s"\n'


def job(home: TestHome, slug: str, script: str, *deliver: str, **keys: object) -> None:
    """A job that runs when it is asked to."""
    home.write(slug, schedule="2099-01-01T09:00", script=script, deliver=f"[{', '.join(deliver)}]", **keys)


def run(home: TestHome, slug: str) -> str:
    """Run it to its end; the run's id."""
    return str(home.json("run", slug, "--wait", status=None)["run"]["id"])


def deliveries(home: TestHome, run_id: str) -> dict[str, dict[str, Any]]:
    """Of each target the last delivery of a run."""
    found = next(one for one in home.runs() if one["id"] == run_id)
    return {one["target"]: one for one in found["deliveries"]}


def through(home: TestHome, run_id: str) -> dict[str, dict[str, Any]]:
    """The same, once nothing of it is on its way."""

    def look() -> dict[str, dict[str, Any]] | None:
        found = deliveries(home, run_id)
        return None if any(one["state"] in ON_ITS_WAY for one in found.values()) else found

    return until(look, f"all messages of {run_id} are through")


def states(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {target: one["state"] for target, one in found.items()}


def entries(home: TestHome, name: str) -> list[str]:
    """What stands in a file that messages go to, each without the line that it begins with."""
    path = home.path / f"{name}.txt"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [entry.partition("\n")[2] for entry in f"\n{text}".split("\n# ")[1:]]


def letter(server: MailServer) -> Any:
    """The last mail that arrived."""
    content = server.got[-1].content
    assert isinstance(content, bytes)
    return email.message_from_bytes(content, policy=email.policy.default)


def said(request: Any, name: str = "hook") -> dict[str, Any]:
    """What a webhook says, once it is proved to be ours."""
    assert request.path == f"/{name}"
    whole = Verifier(KEY).verify(request.body, request.headers)
    return dict(whole["data"])


# ── one result, many ways


def test_a_result_reaches_each_of_its_targets_once_without_a_secret(home: TestHome, server: HttpServer) -> None:
    home.script(
        "report.sh",
        'echo "see $(cat "$HORAE_HOME/secrets.toml")" > "$HORAE_OUTPUT/tides.txt"\n'
        'printf "\\211PNG\\0\\1" > "$HORAE_OUTPUT/tides.png"\n'
        f"""echo '{{"horae": {{"message": "High **water**: {TOKEN}", "attachments": ["tides.txt", "tides.png"]}}}}'\n""",
    )
    targets = ("local", "hook", "mail", "logfile", "chat", "page", "pager")
    with ExitStack() as stack:
        mail = stack.enter_context(MailServer().running())
        chat, page = (stack.enter_context(HttpServer(answer=OK).running()) for _ in range(2))
        home.config(
            hook(server)
            + file("logfile")
            + f'[platforms.mail]\nhost = "127.0.0.1"\nport = {mail.port}\nsecurity = "none"\n'
            + 'from = "Horae <horae@example.org>"\nhome = "ann@example.org"\n'
            + f'[platforms.chat]\nkind = "apprise"\nurl = "json://127.0.0.1:{chat.port}/in"\n'
            + f'[platforms.page]\nkind = "apprise"\nurl = "form://127.0.0.1:{page.port}/in"\n'
            + command("pager", 'env | grep ^HORAE_ > "$HORAE_HOME/pager.env"; cat >> "$HORAE_HOME/pager"; echo paged')
        )
        job(home, "tides", "report.sh", *targets, name=f"Tides {TOKEN}")
        with running(home) as gateway:
            run_id = run(home, "tides")
            found = through(home, run_id)
        assert states(found) == dict.fromkeys(targets, "delivered"), found
        assert {target: one["attempts"] for target, one in found.items()} == {**dict.fromkeys(targets, 1), "local": 0}
        assert f"webhook-id {run_id}." in found["hook"]["evidence"]
        assert "250 OK queued as 4711" in found["mail"]["evidence"]
        assert found["logfile"]["evidence"] == f"{home.path}/logfile.txt at 0"
        assert found["pager"]["evidence"] == "paged"
        shown = home.horae("log", run_id).out
        assert all(f"delivery: {target} delivered" in shown for target in targets)

        whole = "Tides [redacted TOKEN] · "
        assert [len(one.got) for one in (server, mail, chat, page)] == [1, 1, 1, 1]
        told = said(server.got[0])
        assert (told["run"], told["job"], told["kind"], told["format"]) == (run_id, "tides", "result", "text")
        assert (told["state"], told["alert"], told["title"]) == ("completed", False, "Tides [redacted TOKEN]")
        assert told["body"].startswith(whole)
        assert [one["name"] for one in told["attachments"]] == ["tides.txt", "tides.png"]

        got = letter(mail)
        text, html, *files = (part for part in got.walk() if not part.is_multipart())
        assert "High **water**: [redacted TOKEN]" in text.get_content()
        assert "<strong>" not in html.get_content(), "what a program prints is no Markdown"
        assert [part.get_filename() for part in files] == ["tides.txt", "tides.png"]
        assert files[0].get_content().count("[redacted") == 2
        assert files[1].get_content() == b"\x89PNG\0\1"

        (entry,) = entries(home, "logfile")
        assert "High **water**: [redacted TOKEN]" in entry
        assert json.loads(chat.got[0].body)["message"].startswith(whole)
        assert len(json.loads(chat.got[0].body)["attachments"]) == 2
        assert page.got[0].body.count(b"filename=") == 2
        assert (home.path / "pager").read_text().startswith(whole)
        everything = [
            *(request.body.decode("latin-1") for one in (server, chat, page) for request in one.got),
            *(base64.b64decode(one["base64"]).decode("latin-1") for one in json.loads(chat.got[0].body)["attachments"]),
            *(str(part.get_content()) for part in got.walk() if not part.is_multipart()),
            str(got),
            *(path.read_text() for path in (home.path / "logfile.txt", home.path / "pager", home.path / "pager.env")),
            gateway.said(),
            *(
                text.replace(f"Tides {TOKEN}", "") for text in (shown, str(home.look("why", "tides")))
            ),  # as it is called
        ]
        for secret in (TOKEN, KEY, KEY.removeprefix("whsec_")):
            assert not [text for text in everything if secret in text], secret


def test_silence_is_on_record_and_nothing_is_sent(home: TestHome, server: HttpServer) -> None:
    home.config(hook(server))
    home.script("silent.sh", 'echo "[SILENT]"\n')
    home.script("nothing.sh", "true\n")
    home.script("almost.sh", 'echo "All good. [SILENT]"\n')
    for slug in ("silent", "nothing", "almost"):
        job(home, slug, f"{slug}.sh", "hook")
    with running(home):
        silent, nothing, almost = (run(home, slug) for slug in ("silent", "nothing", "almost"))
        assert states(through(home, almost)) == {"hook": "delivered"}
    for run_id in (silent, nothing):
        found = deliveries(home, run_id)["hook"]
        assert (found["state"], bool(found["reason"])) == ("suppressed", True)
        assert f"delivery: hook suppressed {found['reason']}" in home.horae("log", run_id).out
    assert [said(one)["run"] for one in server.got] == [almost]


# ── a target that refuses


def test_P5_only_the_target_that_did_not_take_it_is_tried_again_and_the_job_is_not(
    home: TestHome, server: HttpServer
) -> None:
    server.answers = [says("500 Oops", "try later")]
    with HttpServer(answer=OK, answers=[says("429 Slow Down", Retry_After="7")]).running() as busy:
        home.config(hook(server) + hook(busy, "busy") + file("logfile"))
        job(home, "tides", "count.sh", "hook", "logfile")
        job(home, "waves", "count.sh", "busy")
        with running(home):
            tides, waves = run(home, "tides"), run(home, "waves")
            until(lambda: server.got and busy.got, "both were asked")
            first = until(
                lambda: (found := deliveries(home, tides))["hook"]["next_try"] and found,
                "one of them will be tried again",
            )
            assert states(first) == {"hook": "pending", "logfile": "delivered"}
            assert first["hook"]["reason"] == "500 Oops: try later"
            slow = until(lambda: (found := deliveries(home, waves)["busy"])["next_try"] and found, "so will the other")
            assert 7 <= seconds(slow["changed_at"], slow["next_try"]) < 8
            assert states(through(home, tides)) == {"hook": "delivered", "logfile": "delivered"}
            assert states(through(home, waves)) == {"busy": "delivered"}
        ids = [one.headers["webhook-id"] for one in server.got]
        assert len(ids) == 2
        assert len(set(ids)) == 1, "the id is the same however often it is tried"
        assert len(busy.got) == 2
    assert len(entries(home, "logfile")) == 1
    assert (home.path / "ran").read_text() == "x\n" * 2, "one run of each job"
    assert {one["state"] for one in home.runs()} == {"completed"}


def seconds(first: str, then: str) -> float:
    return (datetime.fromisoformat(then) - datetime.fromisoformat(first)).total_seconds()


def test_an_address_that_is_gone_is_closed_until_a_person_opens_it(home: TestHome, server: HttpServer) -> None:
    server.answers = [says("410 Gone", "we have moved")]
    home.config(hook(server) + file("desk"))
    job(home, "tides", "count.sh", "hook", alerts="[desk]")
    with running(home):
        assert states(through(home, run(home, "tides"))) == {"hook": "failed"}
        (closed,) = home.json("targets")["closed"]
        assert (closed["address"], closed["reason"]) == ("hook", "410 Gone: we have moved")
        assert "closed: hook, since" in home.horae("targets").err + home.horae("targets").out
        blocked = home.json("run", "tides", "--wait", status=1)["run"]
        assert blocked["state"] == "blocked"
        assert "takes nothing any more" in blocked["reason"]
        assert "horae targets open hook" in blocked["reason"]
        assert states(through(home, blocked["id"])) == {"desk": "delivered"}
        home.json("targets", "open", "hook")
        assert home.json("targets")["closed"] == []
        assert states(through(home, run(home, "tides"))) == {"hook": "delivered", "desk": "delivered"}
    assert len(server.got) == 2
    assert ["works again" in entry for entry in entries(home, "desk")] == [False, True]
    assert (home.path / "ran").read_text() == "x\n" * 2, "the blocked one did not run"


def test_P4_P5_what_may_have_arrived_is_unknown_and_sent_again_only_by_a_person(
    home: TestHome, server: HttpServer
) -> None:
    server.answer, server.then = b"", "hang"
    with HttpServer(answer=b"HTTP/1.1 2").running() as breaks:
        home.config(hook(server, timeout="1s") + hook(breaks, "breaks"))
        job(home, "tides", "count.sh", "hook", "breaks", "local")
        with running(home):
            run_id = run(home, "tides")
            found = through(home, run_id)
            assert states(found) == {"hook": "unknown", "breaks": "unknown", "local": "delivered"}
            assert found["hook"]["reason"] == "127.0.0.1: no answer in time"
            (waiting,) = {one["job"] for one in home.json("status")["waiting"] if one["kind"] == "delivery"}
            assert waiting == "tides"
            assert "hook" in str(home.json("doctor", status=1))
            assert "hook unknown" in home.horae("runs").out
            assert home.runs()[0]["state"] == "completed"

            breaks.answer = server.answer = OK
            server.then = "close"
            done = home.json("resend", run_id, "hook")
            assert done["targets"] == ["hook"]
            assert states(through(home, run_id)) == {"hook": "delivered", "breaks": "unknown", "local": "delivered"}
            error = home.error("resend", run_id, "hook", status=4)
            assert "hook has it already" in error["message"]
            assert home.json("resend", run_id)["targets"] == ["breaks"]
            assert set(states(through(home, run_id)).values()) == {"delivered"}
            error = home.error("resend", run_id, status=4)
            assert "has it already" in error["message"]
            assert "no such delivery" in home.error("resend", run_id, "nowhere", status=4)["message"]
        assert [len(one.got) for one in (server, breaks)] == [2, 2], "never by itself"
        ids = [one.headers["webhook-id"] for one in server.got]
        assert len(set(ids)) == 2, "whoever asks for it wants it to be taken"
    assert (home.path / "ran").read_text() == "x\n"
    assert home.json("status", status=5)["error"]["code"] == "unavailable"
    assert "delivery" not in str(home.json("doctor", status=None).get("problems"))


def test_an_acknowledged_failure_is_no_news(home: TestHome, server: HttpServer) -> None:
    server.answer = says("403 Forbidden", "not you")
    home.config(hook(server))
    job(home, "tides", "count.sh", "hook", "local")
    with running(home):
        assert states(through(home, run(home, "tides")))["hook"] == "failed"
        (incident,) = until(lambda: home.json("incidents")["incidents"], "it is an incident")
        assert (incident["kind"], incident["cause"]) == ("undelivered", "hook")
        assert [one["kind"] for one in home.json("status")["waiting"]] != []
        home.json("doctor", status=1)
        home.json("ack", incident["id"])
        assert home.json("status")["waiting"] == []
        home.json("doctor", status=0)
        server.answer = OK
        assert states(through(home, run(home, "tides")))["hook"] == "delivered"
        assert home.json("incidents")["incidents"] == []


# ── alerts


def test_trouble_is_told_once_and_its_end_too(home: TestHome) -> None:
    home.config(file("results") + file("desk") + '[alerts]\nto = "desk"\n')
    job(home, "tides", "fail.sh", "results")
    (home.path / "bad").touch()
    with running(home):
        first = run(home, "tides")
        assert states(through(home, first)) == {"desk": "delivered"}
        second = run(home, "tides")
        (found,) = through(home, second).values()
        assert (found["target"], found["state"]) == ("desk", "suppressed")
        (incident,) = home.json("incidents")["incidents"]
        assert incident["id"] in found["reason"]
        assert (incident["state"], incident["count"]) == ("open", 2)
        (home.path / "bad").unlink()
        assert states(through(home, run(home, "tides"))) == {"results": "delivered", "desk": "delivered"}
        assert states(through(home, run(home, "tides"))) == {"results": "delivered"}
    alert, recovery = entries(home, "desk")
    assert "exit status 3" in alert
    assert "no route" in alert
    assert "works again" in recovery
    assert [("fine" in entry, "works again" in entry) for entry in entries(home, "results")] == [(True, False)] * 2
    assert home.json("incidents")["incidents"] == []


def test_a_job_that_fails_again_and_again_is_paused_and_says_how_to_go_on(home: TestHome) -> None:
    home.config(file("desk"))
    job(home, "tides", "fail.sh", "desk", pause_after=2)
    (home.path / "bad").touch()
    with running(home):
        for _ in range(2):
            assert states(through(home, run(home, "tides"))) == {"desk": "delivered"}
    assert home.jobs()["tides"]["state"] == "paused"
    first, second = entries(home, "desk")
    assert "paused" not in first
    assert "`horae resume tides`" in second
    home.json("resume", "tides")
    assert home.jobs()["tides"]["state"] == "active"


def test_the_fallback_hears_of_an_alert_that_reached_nobody(home: TestHome, server: HttpServer) -> None:
    server.answer = says("400 Bad Request", "no such channel")
    home.config(hook(server) + file("desk") + '[alerts]\nto = "hook"\nfallback = "desk"\n')
    job(home, "tides", "fail.sh", "local")
    (home.path / "bad").touch()
    with running(home):
        run_id = run(home, "tides")
        assert states(through(home, run_id))["hook"] == "failed"
        until(lambda: entries(home, "desk"), "somebody hears of it")
    (entry,) = entries(home, "desk")
    for words in ("could not be delivered", "no such channel", "no route", f"horae log {run_id}"):
        assert words in entry


def test_what_is_expected_and_does_not_come_is_told_and_so_is_that_it_came(home: TestHome) -> None:
    home.config(file("desk"))
    job(home, "tides", "count.sh", "local", alerts="[desk]", expect_every="1h")
    home.json("check")
    with running(home):
        home.state_of("tides", "active")
    home.sql_write("UPDATE expectation SET due_at = due_at - 7200 * 1000000")  # as if two hours had gone by
    with running(home):
        until(lambda: entries(home, "desk"), "it is told")
        (incident,) = home.json("incidents")["incidents"]
        assert incident["kind"] == "overdue"
        run(home, "tides")
        until(lambda: len(entries(home, "desk")) == 2, "its end is told")
    overdue, recovery = entries(home, "desk")
    assert "is overdue" in overdue
    assert "`horae why tides`" in overdue
    assert "works again" in recovery


# ── targets that are not there


def test_P6_a_target_that_is_not_there_is_refused_and_blocks_when_it_goes_away(
    home: TestHome, server: HttpServer
) -> None:
    given = hook(server) + file("desk")
    alerts = '[alerts]\nto = "desk"\n'
    home.config(given + file("diary") + alerts)
    error = home.error("add", "every 1h", "--script", "count.sh", "--deliver", "hok", "--alerts", "dairy", status=4)
    assert "did you mean hook?" in error["message"]
    assert "did you mean diary?" in error["message"]
    assert home.jobs() == {}
    job(home, "tides", "count.sh", "diary")
    with running(home):
        assert states(through(home, run(home, "tides"))) == {"diary": "delivered"}
    home.config(given + alerts)
    with running(home):
        first, second = (run(home, "tides") for _ in range(2))
        assert states(through(home, first)) == {"desk": "delivered"}
        assert states(through(home, second)) == {"desk": "suppressed"}
    assert {one["state"] for one in home.runs()} == {"blocked", "completed"}
    assert (home.path / "ran").read_text() == "x\n"
    assert len(entries(home, "desk")) == 1
    assert "no such target" in str(home.json("check", status=1))


# ── stopping


def test_a_stop_waits_for_a_message_that_is_being_sent(home: TestHome) -> None:
    home.config(command("slow", 'touch "$HORAE_HOME/began"; while [ ! -e "$HORAE_HOME/go" ]; do sleep 0.05; done; cat'))
    job(home, "tides", "count.sh", "slow")
    with running(home) as gateway:
        run_id = run(home, "tides")
        until((home.path / "began").exists, "it is being sent")
        gateway.signal(signal.SIGTERM)
        gateway.says("stopping")
        with pytest.raises(subprocess.TimeoutExpired):
            gateway.process.wait(0.5)
        (home.path / "go").touch()
        assert gateway.ends() == 0
        assert "Traceback" not in gateway.said()
    found = deliveries(home, run_id)["slow"]
    assert found["state"] == "delivered"
    assert "High water" not in found["reason"] if found["reason"] else True


@pytest.mark.parametrize("kind", ["webhook", "mail", "apprise", "command"])
def test_a_stop_does_not_wait_for_a_target_that_never_answers(home: TestHome, server: HttpServer, kind: str) -> None:
    server.answer, server.then = b"", "hang"
    asleep = threading.Event()
    with MailServer(hang=asleep).running() as mail:
        platforms = {
            "webhook": hook(server, "stuck", "60s"),
            "mail": f'[platforms.stuck]\nkind = "mail"\nhost = "127.0.0.1"\nport = {mail.port}\nsecurity = "none"\n'
            'from = "horae@example.org"\nhome = "ann@example.org"\ntimeout = "60s"\n',
            "apprise": f'[platforms.stuck]\nkind = "apprise"\nurl = "json://127.0.0.1:{server.port}"\ntimeout = "60s"\n',
            "command": command("stuck", 'touch "$HORAE_HOME/began"; exec sleep 60'),
        }
        home.config('drain = "1s"\n' + platforms[kind])
        job(home, "tides", "count.sh", "stuck")
        with running(home) as gateway:
            run_id = run(home, "tides")
            until(lambda: server.got or mail.got or (home.path / "began").exists(), "it is being sent")
            gateway.signal(signal.SIGTERM)
            began = time.monotonic()
            assert gateway.ends() == 0
            assert time.monotonic() - began < 5, gateway.said()
            assert "Traceback" not in gateway.said()
        asleep.set()
    with running(home):
        found = through(home, run_id)["stuck"]
    assert found["state"] == "unknown"
    assert "stopped" in found["reason"] or "ended" in found["reason"]


# ── many at once


def test_two_hundred_results_arrive_in_order_and_once_each(home: TestHome, server: HttpServer) -> None:
    home.config("parallel = 16\n" + hook(server))
    at = datetime.fromtimestamp(int(time.time()) + 4, UTC).isoformat()
    for number in range(200):
        home.write(f"job-{number}", schedule=at, script="count.sh", deliver="[hook]")
    with running(home):
        until(lambda: len(server.got) >= 200, "all arrive", 60)
        until(
            lambda: home.sql("SELECT count(*) FROM delivery WHERE state = 'delivered'") == [(200,)], "all are on record"
        )
    order = [run_id for (run_id,) in home.sql("SELECT run_id FROM delivery ORDER BY id")]
    assert [said(one)["run"] for one in server.got] == order


def test_targets_that_hang_hold_up_neither_runs_nor_whoever_looks(home: TestHome, server: HttpServer) -> None:
    server.answer, server.then = b"", "hang"
    names = [f"stuck{number}" for number in range(8)]
    hanging = [command(name, 'echo x >> "$HORAE_HOME/hanging"; exec sleep 60') for name in names[:7]]
    home.config('drain = "1s"\n' + "".join(hanging) + hook(server, names[7], "60s"))
    job(home, "tides", "count.sh", *names)
    home.write("beat", schedule="every 1s", script="hi.sh", deliver="[local]")
    with running(home) as gateway:
        run(home, "tides")
        marks = home.path / "hanging"
        until(lambda: server.got and marks.exists() and marks.read_text() == "x\n" * 7, "all of them are being sent to")
        seen = {one["id"] for one in home.runs("beat")}
        new = until(
            lambda: (
                found
                if len(found := [one for one in home.runs("beat", "--state", "completed") if one["id"] not in seen]) > 3
                else None
            ),
            "other jobs go on",
        )
        assert max(one["lateness_s"] for one in new) < 0.5
        began = time.monotonic()
        assert home.json("status")["gateway"]["alive"]
        assert time.monotonic() - began < 2
        gateway.signal(signal.SIGTERM)
        began = time.monotonic()
        assert gateway.ends() == 0
        assert time.monotonic() - began < 8


def test_nobody_there_is_tried_again_until_somebody_is(home: TestHome) -> None:
    port = closed_port()
    there = HttpServer(answer=OK, port=port)
    home.config(hook(there))
    job(home, "tides", "count.sh", "hook")
    with running(home):
        run_id = run(home, "tides")
        found = until(
            lambda: (one := deliveries(home, run_id)["hook"])["attempts"] and one["next_try"] and one, "it is tried"
        )
        assert (found["state"], found["reason"]) == ("pending", "127.0.0.1: Connection refused")
        assert [one["kind"] for one in home.json("status")["waiting"]] == []
