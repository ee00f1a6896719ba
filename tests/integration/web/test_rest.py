"""REST as its programs use it: what is found, changed, refused; and that a request sent twice is done once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from horae.web import shapes
from tests.support.process import new_home, until
from tests.support.web import Served, served

API = "/api/v1"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One home for all of these: each test makes its own jobs."""
    home = new_home(tmp_path_factory.mktemp("rest") / "home")
    home.write("tides", script="hi.sh", schedule="every 1h")
    with served(home) as made:
        yield made


@pytest.fixture(scope="module")
def admin(web: Served) -> Any:
    return web.api("admin")


def made(admin: Any, name: str, **more: Any) -> dict[str, Any]:
    """A job, made over REST."""
    said = {"schedule": "every 1h", "fields": {"name": name, "script": "hi.sh", "agent": False}, **more}
    answer = admin.post(f"{API}/jobs", json=said)
    assert answer.status_code == 201, answer.text
    return answer.json()["job"]


def refusal(answer: Any, status: int, code: str) -> dict[str, Any]:
    """A refusal in its form, with what to do."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert (found["status"], found["code"]) == (status, code), found
    shapes.Refusal.model_validate(found)
    return found


def test_a_job_from_its_making_to_its_end(web: Served, admin: Any) -> None:
    job = made(admin, "Whole life")
    slug = job["slug"]
    assert admin.get(f"{API}/jobs/{slug}").json()["job"]["name"] == "Whole life"
    edited = admin.patch(f"{API}/jobs/{slug}", json={"changes": {"schedule": "weekdays at 9am"}}).json()
    assert edited["meaning"] == "at 09:00 on weekdays"
    assert len(edited["slots"]) == 3
    ordered = admin.post(f"{API}/jobs/{slug}/run", json={"input": "spring"})
    assert ordered.status_code == 202
    key = ordered.json()["key"]
    ended = until(lambda: look(admin, key), "the run ends")
    log = admin.get(f"{API}/runs/{ended['log']['run']['id']}").json()
    assert log["stdout"] == "hi\n"
    assert log["run"]["state"] == "completed"
    slot = edited["slots"][0]["slot"]
    moved = admin.post(f"{API}/jobs/{slug}/move", json={"slot": slot, "to": "2099-01-05T10:00"}).json()
    told = admin.get(f"{API}/jobs/{slug}/why", params={"slot": slot}).json()["occurrences"][0]
    assert told["due"].startswith("2099-01-05T10:00")
    assert told["decisions"][-1]["actor"] == "token test-admin (rest)"
    assert admin.post(f"{API}/undo", json={"entry": moved["entry"]}).status_code == 200
    skipped = admin.post(f"{API}/jobs/{slug}/skip", json={"slot": "next"}).json()
    assert skipped["did"]
    assert skipped["undo"].startswith("horae undo")
    assert admin.post(f"{API}/jobs/{slug}/pause", json={"reason": "spring"}).status_code == 200
    assert admin.get(f"{API}/jobs", params={"state": "paused"}).json()["jobs"][0]["slug"] == slug
    assert admin.post(f"{API}/jobs/{slug}/resume").status_code == 200
    assert admin.delete(f"{API}/jobs/{slug}").status_code == 200
    refusal(admin.get(f"{API}/jobs/{slug}"), 404, "not_found")
    entry = web.home.sql("SELECT actor FROM journal WHERE what = 'removed' ORDER BY seq DESC LIMIT 1")
    assert entry == [("token test-admin (rest)",)]


def look(admin: Any, key: str) -> dict[str, Any] | None:
    found = admin.get(f"{API}/occurrences/{key}").json()
    return found if found["occurrence"]["outcome"] is not None else None


def test_answers_have_the_shapes_that_are_described(admin: Any) -> None:
    made(admin, "Shape")
    for path, shape in (
        ("/jobs", shapes.Jobs),
        ("/jobs/tides", shapes.Whole),
        ("/jobs/tides/file", shapes.File),
        ("/jobs/tides/next", shapes.Preview),
        ("/jobs/tides/why", shapes.Why),
        ("/runs", shapes.Runs),
        ("/status", shapes.Status),
        ("/doctor", shapes.Checks),
        ("/asks", shapes.Asks),
    ):
        found = admin.get(f"{API}{path}").json()
        told = shape.model_validate(found)
        assert set(type(told).model_fields) <= set(found), (path, sorted(found))


def test_pages_hang_together(admin: Any) -> None:
    for number in range(3):
        made(admin, f"Page {number}")
    first = admin.get(f"{API}/jobs", params={"limit": 2, "search": "page-"}).json()
    second = admin.get(f"{API}/jobs", params={"limit": 2, "search": "page-", "cursor": first["cursor"]}).json()
    slugs = [job["slug"] for job in first["jobs"] + second["jobs"]]
    assert slugs == ["page-0", "page-1", "page-2"]
    assert second["cursor"] is None
    refusal(admin.get(f"{API}/runs", params={"cursor": "nonsense"}), 422, "invalid")


@pytest.mark.parametrize(
    ("path", "says"),
    [("/jobs?stat=paused", "there is no 'stat'"), ("/jobs?state=a&state=b", "given twice"), ("/jobs?limit=0", "limit")],
)
def test_a_mistyped_filter_is_refused(admin: Any, path: str, says: str) -> None:
    assert says in refusal(admin.get(API + path), 422, "invalid")["detail"]


def test_what_is_wrong_is_named(admin: Any) -> None:
    found = refusal(admin.post(f"{API}/jobs", json={"schedule": "30m", "fields": {"prompt": "x"}}), 422, "invalid")
    assert "every 30m" in f"{found['detail']} {found['hint']}"
    found = refusal(
        admin.post(f"{API}/jobs", json={"schedule": "every 1h", "fields": {}, "pausd": True}), 422, "invalid"
    )
    assert "pausd" in found["detail"]
    said = {"schedule": "every 1h", "fields": {"script": "../x.sh", "agent": False}}
    assert "must not leave scripts/" in refusal(admin.post(f"{API}/jobs", json=said), 422, "invalid")["detail"]
    said = {"schedule": "every 1h", "fields": {"script": "gone.sh", "agent": False}}
    assert refusal(admin.post(f"{API}/jobs", json=said), 403, "refused")["hint"]
    twice = [made(admin, "Twin"), made(admin, "Twin")]
    found = refusal(admin.get(f"{API}/jobs/Twin"), 409, "ambiguous")
    assert {each["id"] for each in found["details"]["candidates"]} == {each["id"] for each in twice}
    found = refusal(admin.put(f"{API}/status"), 405, "not_allowed")
    assert found["detail"] == f"PUT is nothing that can be done at {API}/status"
    assert found["hint"] == "it takes GET"
    answer = admin.delete(f"{API}/jobs")
    assert refusal(answer, 405, "not_allowed")["hint"] == "it takes GET, POST"
    assert answer.headers["allow"] == "GET, POST"
    found = refusal(admin.get(f"{API}/nothing"), 404, "not_found")
    assert (found["detail"], found["hint"] is None) == (f"there is nothing at {API}/nothing", False)
    named = {"schedule": "every 1h", "fields": {"name": ["a"], "script": "hi.sh"}}
    assert "`name` is no text" in refusal(admin.post(f"{API}/jobs", json=named), 422, "invalid")["detail"]
    basic = admin.get(f"{API}/jobs", headers={"authorization": "Basic abc"})
    assert "Bearer" in refusal(basic, 401, "signed_out")["hint"]
    found = refusal(
        admin.post(f"{API}/jobs", content=b'{"bad', headers={"content-type": "application/json"}), 422, "invalid"
    )
    assert found["detail"].startswith("body: it is no JSON: ")


@pytest.mark.parametrize(
    "body", [b"{", b"\xff\xfe", b'"x"', b"[]", b'{"schedule": "\\ud800"}', b'{"reason": "a\\u0000"}']
)
def test_what_is_no_request_is_refused_in_words(admin: Any, body: bytes) -> None:
    answer = admin.post(f"{API}/jobs/tides/pause", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422), answer.text
    assert answer.json()["detail"]


def test_a_file_is_changed_by_whoever_has_read_it(web: Served, admin: Any) -> None:
    slug = made(admin, "Etag")["slug"]
    first = admin.get(f"{API}/jobs/{slug}/file")
    tag, text = first.headers["etag"], first.json()["text"]
    assert admin.get(f"{API}/jobs/{slug}/file", headers={"if-none-match": tag}).status_code == 304
    refusal(admin.put(f"{API}/jobs/{slug}/file", json={"text": text}), 428, "unconditional")
    changed = text.replace("every hour", "every 2 hours")
    assert changed != text, text
    answer = admin.put(f"{API}/jobs/{slug}/file", json={"text": changed}, headers={"if-match": tag})
    assert answer.status_code == 200
    assert "2 hours" in answer.json()["meaning"]
    for method, path, said in (
        ("PUT", "/file", {"json": {"text": text}}),
        ("PATCH", "", {"json": {"changes": {"name": "Other"}}}),
        ("DELETE", "", {}),
    ):
        refusal(admin.request(method, f"{API}/jobs/{slug}{path}", headers={"if-match": tag}, **said), 412, "conflict")
    assert web.home.file(slug).read_text(encoding="utf-8") == changed
    now = admin.get(f"{API}/jobs/{slug}/file").headers["etag"]
    answer = admin.patch(f"{API}/jobs/{slug}", json={"changes": {"name": "Other"}}, headers={"if-match": now})
    assert answer.status_code == 200, answer.text


def test_a_file_that_was_put_with_a_key_is_put_once(web: Served, admin: Any) -> None:
    slug = made(admin, "Put twice")["slug"]
    first = admin.get(f"{API}/jobs/{slug}/file")
    headers = {"if-match": first.headers["etag"], "idempotency-key": "put-1"}
    said = {"text": first.json()["text"] + "# a remark in the prompt\n"}
    answers = [admin.put(f"{API}/jobs/{slug}/file", json=said, headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200], [answer.text for answer in answers]
    assert answers[0].json()["entry"] == answers[1].json()["entry"]
    refusal(admin.get(f"{API}/events", headers={"last-event-id": "9" * 19}), 422, "invalid")


def test_a_request_that_is_sent_twice_is_done_once(web: Served, admin: Any) -> None:
    headers = {"idempotency-key": "spring-1"}

    def order(_: int) -> Any:
        return admin.post(f"{API}/jobs/tides/run", json={}, headers=headers)

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(order, range(6)))
    done = [answer.json()["key"] for answer in answers if answer.status_code == 202]
    assert done
    assert set(done) == {done[0]}
    assert {answer.status_code for answer in answers} <= {202, 409}
    assert admin.post(f"{API}/jobs/tides/run", json={}, headers=headers).json()["key"] == done[0]
    refusal(admin.post(f"{API}/jobs/tides/run", json={"input": "other"}, headers=headers), 422, "invalid")
    count = web.home.sql("SELECT count(*) FROM occurrence WHERE key = ?", done[0])
    assert count == [(1,)]
    other = web.api("operate")  # keys are their owner's
    assert other.post(f"{API}/jobs/tides/run", json={}, headers=headers).json()["key"] != done[0]


def test_one_that_was_refused_may_be_sent_again(admin: Any) -> None:
    headers = {"idempotency-key": "later"}
    for _ in range(2):
        refusal(admin.post(f"{API}/jobs/nobody/run", json={}, headers=headers), 404, "not_found")


def test_roles_do_what_they_may(web: Served) -> None:
    read, operate = web.api("read"), web.api("operate")
    assert read.get(f"{API}/jobs").status_code == 200
    assert "operate" in refusal(read.post(f"{API}/jobs/tides/run", json={}), 403, "refused")["detail"]
    assert operate.post(f"{API}/jobs/tides/run", json={}).status_code == 202
    refusal(operate.patch(f"{API}/jobs/tides", json={"changes": {"name": "X"}}), 403, "refused")
    refusal(operate.get(f"{API}/secrets"), 403, "refused")


def test_P10_confirmations_are_for_people(admin: Any) -> None:
    for path, said in (
        ("/asks/abc/approve", {}),
        ("/asks/abc/deny", {}),
        ("/runs/abc/resolve", {"said": "completed"}),
    ):
        found = refusal(admin.post(f"{API}{path}", json=said), 403, "refused")
        assert "only a person" in found["detail"]
        assert "dashboard" in found["hint"]


def test_O14_a_completed_job_is_listed_and_revived(web: Served, admin: Any) -> None:
    slug = made(admin, "Once only")["slug"]
    admin.patch(f"{API}/jobs/{slug}", json={"changes": {"schedule": "every 1s", "repeat": 1}})
    web.home.state_of(slug, "completed")
    assert slug not in [job["slug"] for job in admin.get(f"{API}/jobs", params={"limit": 1000}).json()["jobs"]]
    listed = admin.get(f"{API}/jobs", params={"all": True, "search": slug}).json()["jobs"][0]
    assert listed["state"] == "completed"
    assert listed["completed_reason"]
    for verb in ("pause", "resume", "run"):
        found = refusal(admin.post(f"{API}/jobs/{slug}/{verb}", json={}), 403, "refused")
        assert "completed" in found["detail"]
        assert found["hint"]
    kept = admin.patch(f"{API}/jobs/{slug}", json={"changes": {"name": "Another"}}).json()
    assert kept["job"]["state"] == "completed"
    assert any("stays completed" in one for one in kept["warnings"])
    revived = admin.patch(f"{API}/jobs/{slug}", json={"changes": {"schedule": "every 1h"}}).json()
    assert revived["revived"]
    assert revived["job"]["state"] == "active"
    assert admin.delete(f"{API}/jobs/{slug}").status_code == 200
