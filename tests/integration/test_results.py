"""The result of each run is kept with it, and found by job and by run."""

from __future__ import annotations

from tests.support.process import TestHome, running

INSIDE = True


def test_S7_each_run_has_its_result_document_under_its_job(home: TestHome) -> None:
    home.script(
        "count.sh", 'echo x >> "$HORAE_HOME/count"; echo "$HORAE_JOB_NAME said $(wc -l < "$HORAE_HOME/count")"\n'
    )
    for name in ("One", "Two"):
        home.json("add", "every 1h", "--script", "count.sh", "--name", name)
    with running(home):
        made = [home.json("run", job, "--wait")["run"]["id"] for job in ("one", "two", "one")]
    assert [run["id"] for run in home.runs("one")] == [made[2], made[0]]
    assert [run["id"] for run in home.runs("two")] == [made[1]]
    documents = [home.json("log", run) for run in made]
    assert [document["message"] for document in documents] == ["One said 1", "Two said 2", "One said 3"]
    assert [document["run"]["job"] for document in documents] == ["One", "Two", "One"]
    assert home.json("runs", "--limit", "1")["runs"][0]["id"] == made[2]
