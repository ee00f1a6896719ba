"""The policies of jobs with a real gateway, real programs and a real clock: each in a few seconds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from horae.core.spread import spread_offset_s
from tests.support.process import TestHome, running, until

SECOND = timedelta(seconds=1)


def soon(seconds: float = 6.0) -> datetime:
    """A whole second, that long from now: files are taken in and a gateway is up before it, on a busy machine too."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).replace(microsecond=0)


def slots(first: datetime, count: int) -> str:
    """A schedule of so many slots, a second apart."""
    last = first + (count - 1) * SECOND
    return f"every 1 second from {first.isoformat()} until {last.isoformat()}"


def noting(home: TestHome, name: str, seconds: float, *, status: str = "0") -> str:
    """A script that writes down when it began and when it ended, what it was told, and takes so long."""
    log = f'"$HORAE_HOME/{name}.log"'
    home.script(
        f"{name}.sh",
        "now() { date +%s.%N; }\n"
        f"began=$(now); trap 'echo \"$HORAE_SLOT $began $(now) $HORAE_MISSED $HORAE_LATENESS_S\" >> {log}; exit 1' TERM\n"
        f"sleep {seconds} & wait $!\n"
        f'echo "$HORAE_SLOT $began $(now) $HORAE_MISSED $HORAE_LATENESS_S" >> {log}\n'
        f"exit {status}\n",
    )
    return f"{name}.sh"


def noted(home: TestHome, name: str) -> list[tuple[float, float, int, float]]:
    """(began, ended, missed, late) of each run, in the order in which they began."""
    file = home.path / f"{name}.log"
    lines = file.read_text().splitlines() if file.exists() else []
    return sorted((float(b), float(e), int(m), float(late)) for _, b, e, m, late in (line.split() for line in lines))


def outcomes(home: TestHome, slug: str) -> list[str]:
    """Of all slots of a job, in order; `` while one has none."""
    rows = home.sql(
        "SELECT o.outcome, o.span_count FROM occurrence o JOIN job j ON j.id = o.job_id WHERE j.slug = ?"
        " AND o.trigger = 'schedule' ORDER BY o.slot_at", slug,
    )  # fmt: skip
    return [outcome or "" for outcome, count in rows for _ in range(count or 1)]


def all_ended(home: TestHome, slug: str, count: int) -> list[str]:
    """The outcomes, once they all are there."""

    def look() -> list[str] | None:
        found = outcomes(home, slug)
        return found if len(found) == count and all(found) else None

    return until(look, f"{count} outcomes of {slug}")


def overlaps(runs: Sequence[tuple[float, float, int, float]]) -> int:
    """How many runs began before an earlier one had ended."""
    return sum(any(other[0] < run[0] < other[1] for other in runs) for run in runs)


def test_overlap_queue_cancel_running_and_allow(home: TestHome) -> None:
    first = soon()
    for slug, seconds in (("queue", 1.4), ("cancel-running", 1.6), ("allow", 1.6)):
        script = noting(home, slug, seconds)
        home.write(slug, schedule=slots(first, 3), script=script, overlap=slug.replace("-", "_"))
    with running(home):
        assert all_ended(home, "queue", 3) == ["ran"] * 3
        assert all_ended(home, "cancel-running", 3) == ["ran"] * 3
        assert all_ended(home, "allow", 3) == ["ran"] * 3
        states = [run["state"] for run in reversed(home.runs("cancel-running"))]
    assert overlaps(noted(home, "queue")) == overlaps(noted(home, "cancel-running")) == 0
    assert overlaps(noted(home, "allow")) == 2
    assert states == ["cancelled", "cancelled", "completed"]
    late = [run[3] for run in noted(home, "queue")]
    assert late == sorted(late)
    assert late[2] > late[1] > 0.2


def test_a_group_of_one_with_three_jobs(home: TestHome) -> None:
    home.config("groups = {gpu = 1}\n")
    first = soon()
    for number in range(3):
        home.write(f"job{number}", schedule=first.isoformat(), script=noting(home, f"job{number}", 0.5), group="gpu")
    home.write("free", schedule=first.isoformat(), script=noting(home, "free", 0.1))
    with running(home):
        for number in range(3):
            assert all_ended(home, f"job{number}", 1) == ["ran"]
        told = home.json("why", "job2")["occurrences"][0]["decisions"]
    runs = sorted(run for number in range(3) for run in noted(home, f"job{number}"))
    assert overlaps(runs) == 0
    assert runs[-1][1] - runs[0][0] < 1.5 + 2.0, "each is woken by the end of the one before"
    waited = [home.sql("SELECT count(*) FROM journal WHERE what = 'waiting'")[0][0], told[-1]["what"]]
    assert waited == [2, "completed"]
    assert noted(home, "free")[0][3] < 1.0


def test_retries_with_backoff(home: TestHome) -> None:
    home.script(
        "flaky.sh",
        'n=$(cat "$HORAE_HOME/n" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$HORAE_HOME/n"\n'
        'echo "$HORAE_ATTEMPT $HORAE_OCCURRENCE_KEY $(date +%s.%N)" >> "$HORAE_HOME/tries"\n[ $n -ge 3 ]\n',
    )
    home.write("flaky", schedule=soon().isoformat(), script="flaky.sh", retries="{max: 5, backoff: 1s}")
    with running(home):
        assert all_ended(home, "flaky", 1) == ["ran"]
        runs = list(reversed(home.runs("flaky")))
    assert [(run["attempt"], run["state"]) for run in runs] == [(1, "failed"), (2, "failed"), (3, "completed")]
    tries = [line.split() for line in (home.path / "tries").read_text().splitlines()]
    assert ([attempt for attempt, *_ in tries], len({key for _, key, _ in tries})) == (["1", "2", "3"], 1)
    began = [float(at) for *_, at in tries]
    assert 1.0 <= began[1] - began[0] < 2.2
    assert 2.0 <= began[2] - began[1] < 3.6


def test_catch_up_after_a_downtime(home: TestHome) -> None:
    first = soon()
    for chosen in ("all", "once", "skip"):
        extra = {"not_later_than": "1s"} if chosen == "skip" else {}
        home.write(chosen, schedule=slots(first, 3), script=noting(home, chosen, 0.1), catch_up=chosen, **extra)
    home.json("list")  # takes the files in: there is a plan, and no gateway
    until(lambda: datetime.now(UTC) > first + 4 * SECOND, "the slots to pass")
    with running(home):
        assert all_ended(home, "all", 3) == ["ran"] * 3
        assert all_ended(home, "once", 3) == ["missed", "missed", "ran"]
        assert all_ended(home, "skip", 3) == ["missed"] * 3
        until(lambda: len(noted(home, "all")) == 3, "the last one's note")
        story = " ".join(home.json("why", "once")["occurrences"][0]["story"])
    assert [run[2] for run in noted(home, "all")] == [0, 0, 0]
    assert [run[3] > 1.5 for run in noted(home, "all")] == [True] * 3
    assert overlaps(noted(home, "all")) == 0
    assert [run[2] for run in noted(home, "once")] == [2]
    assert noted(home, "skip") == []
    assert "for 2 missed slots before it too" in story


def test_exclusion_spread_and_bounds(home: TestHome) -> None:
    home.config('[calendars.always]\nweekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]\n')
    first = soon()
    home.write("never", schedule=slots(first, 2), script=noting(home, "never", 0), exclude="[always]")
    home.write("spread", schedule=first.isoformat(), script=noting(home, "spread", 0), spread="4s")
    bounds = {"starts": (first + SECOND).isoformat(), "ends": (first + 2 * SECOND).isoformat()}
    home.write("bound", schedule=slots(first, 6), script=noting(home, "bound", 0), **bounds)
    with running(home):
        assert all_ended(home, "never", 2) == ["skipped"] * 2
        assert all_ended(home, "spread", 1) == ["ran"]
        assert all_ended(home, "bound", 2) == ["ran"] * 2
        until(lambda: home.jobs()["bound"]["state"] == "completed", "its end")
        (reason,) = {item["reason"] for item in home.json("why", "never")["occurrences"]}
    assert reason.startswith("always: ")
    ((job_id,),) = home.sql("SELECT id FROM job WHERE slug = 'spread'")
    due = first.timestamp() + spread_offset_s(job_id, 4)
    ((began, _, _, late),) = noted(home, "spread")
    assert due <= began < due + 1.0 + late
    assert noted(home, "never") == []


def test_P6_slots_are_blocked_when_the_file_of_their_calendar_cannot_be_read(home: TestHome) -> None:
    home.config('[calendars.public]\nfile = "public.ics"\n')
    first = soon()
    home.write("unsure", schedule=slots(first, 2), script=noting(home, "unsure", 0), exclude="[public]")
    home.write("free", schedule=slots(first, 2), script=noting(home, "free", 0))
    with running(home):
        assert all_ended(home, "unsure", 2) == ["blocked"] * 2
        assert all_ended(home, "free", 2) == ["ran"] * 2
    reasons = {run["reason"] for run in home.runs("unsure")}
    assert reasons == {
        "exclusion calendar public could not be read: public.ics cannot be read: No such file or directory"
    }
    assert noted(home, "unsure") == []


def test_priority_when_one_may_run_at_a_time(home: TestHome) -> None:
    home.config("parallel = 1\n")
    first = soon()
    home.write("holder", schedule=(first - SECOND).isoformat(), script=noting(home, "holder", 1.6))
    for slug, priority in (("low", -10), ("high", 50), ("plain", 0)):
        home.write(slug, schedule=first.isoformat(), script=noting(home, slug, 0.05), priority=priority)
    with running(home):
        for slug in ("low", "high", "plain"):
            assert all_ended(home, slug, 1) == ["ran"]
    began = sorted((noted(home, slug)[0][0], slug) for slug in ("low", "high", "plain"))
    assert [slug for _, slug in began] == ["high", "plain", "low"]
    assert began[0][0] >= noted(home, "holder")[0][1] - 0.2
    assert time.time() > began[-1][0]
