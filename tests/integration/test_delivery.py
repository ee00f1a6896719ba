"""Results and alerts on their way to people: real gateways, real servers on loopback, jobs that run scripts."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest

from tests.support.post import (
    KEY,
    OK,
    TOKEN,
    command,
    deliveries,
    entries,
    file,
    hook,
    job,
    letter,
    post_home,
    run,
    said,
    states,
    through,
)
from tests.support.process import TestHome, running, until
from tests.support.receivers import HttpServer, MailServer, closed_port, says

# One of Apprise's modules imports it, when all are loaded
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")


@pytest.fixture
def home(tmp_path: Path) -> TestHome:
    return post_home(tmp_path / "home")


@pytest.fixture
def server() -> Iterator[HttpServer]:
    """Takes everything, if it is not told otherwise."""
    with HttpServer(answer=OK).running() as made:
        yield made


# ── one result, many ways


def test_U4_a_result_reaches_each_of_its_targets_once_without_a_secret(home: TestHome, server: HttpServer) -> None:
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


def test_each_target_has_the_header_and_footer_that_are_said_of_it(home: TestHome) -> None:
    home.script("tides.sh", "echo high water\n")
    pager = command("pager", '{ cat; echo .; } >> "$HORAE_HOME/pager-${HORAE_TARGET#pager:}"')
    home.config(
        f"{pager}[platforms.pager.chats]\nbare = {{ header = false, footer = false }}\nhead.footer = false\n"
        "foot.header = false\n[targets]\nteam = ['pager:bare', 'pager:head']\n"
    )
    job(home, "tides", "tides.sh", "team", "pager:foot", "pager:full")
    with running(home):
        run_id = run(home, "tides")
        through(home, run_id)
    head, foot = "tides · 2", f"run {run_id} · horae log {run_id}"
    got = {chat: (home.path / f"pager-{chat}").read_text() for chat in ("bare", "head", "foot", "full")}
    assert got["bare"] == "high water.\n"
    assert {chat for chat, text in got.items() if text.startswith(head)} == {"head", "full"}
    assert {chat for chat, text in got.items() if foot in text} == {"foot", "full"}


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


def test_an_acknowledged_failure_is_no_news(home: TestHome, server: HttpServer) -> None:
    server.answer = says("403 Forbidden", "not you")
    home.config(hook(server))
    job(home, "tides", "count.sh", "hook", "local")
    with running(home):
        assert states(through(home, run(home, "tides")))["hook"] == "failed"
        (incident,) = until(lambda: home.json("incidents")["incidents"], "it is an incident")
        assert (incident["kind"], incident["cause"]) == ("undelivered", "hook")
        assert home.json("status")["waiting"]
        home.json("doctor", status=1)
        home.json("ack", incident["id"])
        assert home.json("status")["waiting"] == []
        home.json("doctor", status=0)
        server.answer = OK
        assert states(through(home, run(home, "tides")))["hook"] == "delivered"
        assert home.json("incidents")["incidents"] == []


def test_what_is_tried_again_does_not_wait_for_a_person(home: TestHome) -> None:
    home.config(hook(HttpServer(port=closed_port())))
    job(home, "tides", "count.sh", "hook")
    with running(home):
        run_id = run(home, "tides")
        found = until(
            lambda: (one := deliveries(home, run_id)["hook"])["attempts"] and one["next_try"] and one, "it is tried"
        )
        assert (found["state"], found["reason"]) == ("pending", "127.0.0.1: Connection refused")
        assert home.json("status")["waiting"] == []


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


def test_settings_that_would_do_harm_are_seen_before_anything_is_sent(home: TestHome) -> None:
    home.config(
        file("diary").replace("diary.txt", "notes/../secrets.toml")
        + command("shown", "page-me {TOKEN}")
        + command("titled", 'echo "${HORAE_TITLE}"')
    )
    found = {one["name"]: one for one in home.json("targets")["targets"]}
    assert "belongs to Horae itself" in found["diary"]["problem"]
    assert "would be seen by all users of this machine" in found["shown"]["problem"]
    assert found["titled"]["ready"], "what a shell fills in is no secret"
    assert home.json("targets", "test", "titled")["receipts"][0]["evidence"] == "Horae test message"
    home.json("targets", "test", "diary", status=1)
    assert (home.path / "secrets.toml").read_text().count("\n") == 2
