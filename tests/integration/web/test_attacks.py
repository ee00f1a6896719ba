"""What others try who should not come in, or who want a browser that is signed in to do their work. One home for all of it."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.support.process import TestHome, until
from tests.support.web import Served, served

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A home with a job, served."""
    home = TestHome(tmp_path_factory.mktemp("attacks") / "home", inside=True)
    home.horae("init")
    home.config("")  # a job of these writes down what it finds
    home.script("hi.sh", "#!/bin/sh\necho hi\n")
    home.horae("add", "every 1h", "--script", "hi.sh", "--name", "hi")
    with served(home) as made:
        yield made


class Visitor:
    """A browser that has signed in, as a client: its session and its mark."""

    def __init__(self, at: Served) -> None:
        self.http = at.client()
        self.key = at.link().partition("#")[2]
        signed = self.sign_in(at, self.key)
        assert signed.status_code == 200, signed.text
        self.cookie = signed.headers["set-cookie"]
        self.session = self.cookie.partition("=")[2].partition(";")[0]
        page = self.http.get("/", headers={"accept": "text/html"})
        assert page.status_code == 200
        self.html = page.text
        self.mark = page.text.partition('name="csrf" content="')[2].partition('"')[0]
        self.ours = {"origin": at.address, "x-horae-csrf": self.mark}

    def sign_in(self, at: Served, key: str) -> httpx2.Response:
        return self.http.post("/sign-in", json={"key": key}, headers={"origin": at.address})

    def pause(self, **headers: str) -> httpx2.Response:
        return self.http.post("/do/pause", content=b'{"job": "hi"}', headers={**JSON, **headers})


@pytest.fixture(scope="module")
def ann(at: Served) -> Visitor:
    return Visitor(at)


def raw(at: Served, data: bytes, *, patience_s: float = 10) -> bytes:
    """What is answered to bytes that no client would send."""
    where = urlsplit(at.address)
    with socket.create_connection((where.hostname, where.port), timeout=patience_s) as sock:
        sock.sendall(data)
        found = b""
        while piece := sock.recv(65536):
            found += piece
        return found


def active(at: Served) -> bool:
    return at.home.jobs()["hi"]["state"] == "active"


# ── writes that come from elsewhere


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "foreign_origin"),
        ({"origin": "https://evil.example"}, "foreign_origin"),
        ({"origin": "null"}, "foreign_origin"),
        ({"origin": ""}, "foreign_origin"),
        ({"origin": "http://127.0.0.1:1"}, "foreign_origin"),
        ({"origin": "{ours}.evil.example"}, "foreign_origin"),
        ({"origin": "{ours}@evil.example"}, "foreign_origin"),
        ({"origin": "file://{host}"}, "foreign_origin"),
        ({"sec-fetch-site": "same-site"}, "foreign_origin"),
        ({"sec-fetch-site": "none"}, "foreign_origin"),
        ({"origin": "https://evil.example", "sec-fetch-site": "same-origin"}, "foreign_origin"),
        ({"origin": "{ours}"}, "no_mark"),
        ({"origin": "{ours}", "x-horae-csrf": ""}, "no_mark"),
        ({"origin": "{ours}", "x-horae-csrf": "0" * 40}, "no_mark"),
        ({"sec-fetch-site": "same-origin"}, "no_mark"),
    ],
)
def test_a_write_that_is_not_from_our_pages_is_refused(
    at: Served, ann: Visitor, headers: dict[str, str], code: str
) -> None:
    filled = {name: value.format(ours=at.address, host=urlsplit(at.address).netloc) for name, value in headers.items()}
    if code == "foreign_origin":
        filled["x-horae-csrf"] = ann.mark  # not even with it
    refused = ann.pause(**filled)
    assert (refused.status_code, refused.json()["code"]) == (403, code)
    assert active(at)


def test_forms_and_other_kinds_of_bodies_do_nothing_either(at: Served, ann: Visitor) -> None:
    for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"):
        foreign = {"origin": "https://evil.example", "content-type": kind}
        assert ann.http.post("/do/pause", content=b'{"job": "hi"}', headers=foreign).status_code == 403
    for name in ("x-http-method-override", "x-method-override", "x-http-method"):
        assert ann.http.get("/do/pause", headers={name: "POST", "accept": "text/html"}).status_code in (404, 405)
    assert ann.http.get("/do/pause?_method=POST&job=hi", headers={"accept": "text/html"}).status_code in (404, 405)
    assert active(at)


def test_the_mark_of_another_session_is_none(at: Served, ann: Visitor) -> None:
    other = Visitor(at)
    assert other.mark != ann.mark
    assert ann.pause(origin=at.address, **{"x-horae-csrf": other.mark}).json()["code"] == "no_mark"
    assert active(at)
    done = ann.pause(**ann.ours)
    assert done.status_code == 200, done.text
    assert ann.http.post("/do/resume", json={"job": "hi"}, headers=ann.ours).status_code == 200


def test_one_cannot_be_signed_in_by_another_site(at: Served) -> None:
    """Else somebody works in a session that is a stranger's."""
    key = at.link().partition("#")[2]
    for headers in ({}, {"origin": "https://evil.example"}, {"origin": "null"}):
        assert at.client().post("/sign-in", json={"key": key}, headers=headers).status_code == 403
    assert at.client().post("/sign-in", json={"key": key}, headers={"origin": at.address}).status_code == 200


# ── names that are pointed here


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.2", "0.0.0.0",
        "evil.example@127.0.0.1", "127.0.0.1, evil.example", "127.0.0.1/evil", "[::1", "127.0.0.1:x", "", "2130706433",
        "xn--localhost-", "127.0.0.1\\evil",
    ],
)  # fmt: skip
def test_other_hosts_are_not_answered(at: Served, ann: Visitor, host: str) -> None:
    host = host.format(port=urlsplit(at.address).port)
    said = raw(at, f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert said.split(b" ", 2)[1] in (b"421", b"400"), said[:200]
    assert b"Sign in" not in said


def test_our_own_names_are_answered(at: Served) -> None:
    port = urlsplit(at.address).port
    for host in ("127.0.0.1", "LOCALHOST", f"localhost:{port}", f"[::1]:{port}", "localhost."):
        assert raw(at, f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()).endswith(b"ok\n")
    forwarded = at.client().get(
        "/healthz", headers={"x-forwarded-host": "evil.example", "forwarded": "host=evil.example"}
    )
    assert forwarded.text == "ok\n"
    twice = raw(at, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
    assert twice.split(b" ", 2)[1] in (b"421", b"400")


# ── paths


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/%2e%2e/app.py", "/static/%252e%252e/app.py", "/static/..%2fapp.py", "/static/..\\app.py",
        "/static/..%5capp.py", "/static//etc/passwd", "/static/%2fetc/passwd", "/static/horae.css%00.js", "/static/",
        "/static/lib/../../app.py", "/static/....//app.py", "/static/%c0%ae%c0%ae/app.py", "/static/.", "/../config.toml",
    ],
)  # fmt: skip
def test_nothing_but_our_own_files_is_served(at: Served, path: str) -> None:
    said = raw(at, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert said.split(b" ", 2)[1] in (b"404", b"400", b"401"), said[:300]
    assert b"create_app" not in said
    assert b"root:" not in said
    assert b"Traceback" not in said


def test_nobody_gets_past_the_door_by_the_way_a_path_is_written(at: Served) -> None:
    for path in ("//jobs", "/static/../jobs", "/hooks/../jobs", "/sign-in/../jobs", "/healthz/../api/v1/jobs", "/JOBS",
                 "/static/%2e%2e/jobs", "/hooks/%2e%2e/%2e%2e/jobs", "/api/v1/jobs;/static/", "/%6aobs"):  # fmt: skip
        said = raw(
            at, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n".encode()
        )
        assert said.split(b" ", 2)[1] in (b"303", b"400", b"401", b"404", b"405"), (path, said[:200])


# ── secrets


def test_a_session_is_no_token_and_a_token_no_session(at: Served, ann: Visitor) -> None:
    token = at.token("admin", "confused")
    name = ann.cookie.partition("=")[0]
    cases = [
        {"authorization": f"Bearer {ann.session}"},
        {"cookie": f"{name}={token}"},
        {"authorization": f"Bearer {ann.key}"},
        {"cookie": f"{name}={ann.key}"},
        {"authorization": token},
        {"authorization": f"Basic {token}"},
        {"authorization": f"Bearer {token} x"},
        {"authorization": f"Bearer {token[:-1]}"},
        {"authorization": f"Bearer {token}A"},
        {"authorization": "Bearer ht_" + "A" * 5000},
        {"authorization": "Bearer"},
        {"cookie": f"{name}={ann.session}; {name}=hs_other"},
        {"cookie": f"{name}=hs_other; {name}={ann.session}"},
        {"authorization": "Bearer ht_wrong", "cookie": f"{name}={ann.session}"},
    ]
    for headers in cases:
        refused = at.client().get("/api/v1/jobs", headers=headers)
        assert refused.status_code in (401, 429), headers
        assert refused.headers["content-type"] == "application/problem+json"
    for query in (f"token={token}", f"access_token={token}", f"authorization=Bearer%20{token}"):
        assert at.client().get(f"/api/v1/jobs?{query}").status_code == 401
    assert at.client(token).get("/api/v1/jobs").status_code == 200


def test_wrong_tokens_are_counted_and_the_right_one_is_never_refused_for_them(at: Served) -> None:
    wrong = at.client("ht_" + "x" * 43)
    token = at.token("read", "steady")
    answers = [wrong.get("/api/v1/jobs") for _ in range(14)]
    assert answers[-1].status_code == 429
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
    assert at.client(token).get("/api/v1/jobs").status_code == 200
    assert Visitor(at).http.get("/jobs", headers={"accept": "text/html"}).status_code == 200


def test_guessing_links_is_counted(at: Served) -> None:
    guess = at.client(origin=at.address)
    seen = {guess.post("/sign-in", json={"key": f"hl_{n}"}).status_code for n in range(14)}
    assert 429 in seen <= {403, 429}
    for odd in ({"key": 1}, {"key": None}, {}, [], "x", {"key": {"$ne": ""}}):
        assert guess.post("/sign-in", json=odd).status_code in (422, 429)


def test_a_link_is_for_one_visit_also_when_two_come_at_once(at: Served) -> None:
    key, seen = at.link().partition("#")[2], []
    clients = [at.client(origin=at.address) for _ in range(6)]
    together = threading.Barrier(6, timeout=20)

    def go(client: Any) -> None:
        together.wait()
        seen.append(client.post("/sign-in", json={"key": key}).status_code)

    threads = [threading.Thread(target=go, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert min(seen) == 200
    assert seen.count(200) == 1


def test_a_session_is_new_at_each_sign_in_and_ends_at_once(at: Served) -> None:
    eve = Visitor(at)
    name = eve.cookie.partition("=")[0]
    for part in ("HttpOnly", "SameSite=lax", "Path=/"):
        assert part in eve.cookie
    assert "Domain" not in eve.cookie
    fixed = at.client(cookie=f"{name}=hs_chosen")
    again = fixed.post("/sign-in", json={"key": at.link().partition("#")[2]}, headers={"origin": at.address})
    assert "hs_chosen" not in again.headers["set-cookie"]
    assert eve.http.post("/sign-out", headers=eve.ours).status_code == 200
    kept = at.client(cookie=f"{name}={eve.session}")
    assert kept.get("/api/v1/jobs").status_code == 401


def test_a_token_that_is_revoked_reads_no_further(at: Served) -> None:
    token = at.token("read", "watcher")
    with at.client(token).stream("GET", "/api/v1/events") as events:
        assert events.status_code == 200
        at.home.json("tokens", "revoke", "watcher")
        assert at.client(token).get("/api/v1/jobs").status_code in (401, 429)
        for _ in events.iter_bytes():
            pass  # it ends by itself


def test_secrets_are_nowhere(at: Served, ann: Visitor) -> None:
    token = at.token("read", "hidden")
    at.client(token).get("/api/v1/jobs")
    secrets = [token, ann.session, ann.key]
    for page in ("/", "/access", "/access?all=true", "/jobs"):
        text = ann.http.get(page, headers={"accept": "text/html"}).text
        assert not [one for one in secrets if one in text], page
    for one in secrets:
        for path in sorted(at.home.path.rglob("*")):
            if path.is_file():
                assert one.encode() not in path.read_bytes(), path
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                assert one.encode() not in process.read_bytes(), process
            except OSError:
                continue
        assert one not in at.gateway.said()


# ── what is sent


def test_large_and_odd_requests_are_refused_and_cost_little(at: Served, ann: Visitor) -> None:
    big = b'{"job": "' + b"x" * (800 * 1024) + b'"}'
    assert ann.http.post("/do/pause", content=big, headers={**JSON, **ann.ours}).status_code == 413

    def pieces() -> Iterator[bytes]:
        for _ in range(20):
            yield b"x" * 65536

    assert ann.http.post("/do/pause", content=pieces(), headers={**JSON, **ann.ours}).status_code == 413
    assert ann.http.post("/hooks/none", content=b"x" * (129 * 1024)).status_code == 413
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    with contextlib.suppress(ConnectionError):  # it is hung up on before all of it was sent
        assert b"200 OK" not in raw(at, head + b"X: " + b"y" * 300_000 + b"\r\n\r\n")[:20]
    for length in (b"-1", b"x", b"1e9", b"99999999999999999999"):
        post = b"POST /do/pause HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " + length
        assert raw(at, post + b"\r\n\r\n{}").split(b" ", 2)[1] in (b"400", b"413"), length
    deep = b"[" * 100_000
    assert ann.http.post("/do/pause", content=deep, headers={**JSON, **ann.ours}).status_code in (400, 422)
    assert at.client().get("/healthz").status_code == 200


def test_one_that_sends_slowly_holds_up_nobody(at: Served) -> None:
    where = urlsplit(at.address)
    slow = [socket.create_connection((where.hostname, where.port), timeout=10) for _ in range(30)]
    for sock in slow:
        sock.sendall(b"POST /hooks/none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx")
    assert at.client().get("/healthz").text == "ok\n"
    for sock in slow:
        sock.close()


def test_one_is_sent_nowhere_else(at: Served, ann: Visitor) -> None:
    html = {"accept": "text/html"}
    asked = at.client().get("/jobs/x?a=b", headers=html)
    assert (asked.status_code, asked.headers["location"]) == (303, "/sign-in?next=/jobs/x%3Fa%3Db")
    for bad in ("//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/\tevil", "/%0d%0aX:1\r\n",
                "\\\\evil.example", "http:evil.example", "/\n/evil.example"):  # fmt: skip
        page = at.client().get("/sign-in", params={"next": bad}, headers=html)
        assert 'data-next="/"' in page.text, bad
    said = raw(at, b"GET //evil.example HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n")
    assert b"location: //" not in said.lower()
    for path in ("/%0d%0aSet-Cookie:%20a=b", "/jobs/%0d%0aX-Evil:1", "/jobs?%0d%0aX-Evil:1"):
        answer = at.client().get(path, headers=html)
        assert "x-evil" not in answer.headers
        assert "set-cookie" not in answer.headers


def test_every_answer_says_what_a_browser_may_do_with_it(at: Served, ann: Visitor) -> None:
    html = {"accept": "text/html"}
    answers = [
        ann.http.get(path, headers=html) for path in ("/", "/access", "/nothing", "/static/horae.js", "/healthz")
    ]
    answers += [at.client().get("/api/v1/jobs"), at.client().get("/jobs", headers=html), ann.pause()]
    answers.append(at.client().get("/", headers={"host": "evil.example"}))
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers
    lasting = at.client().get("/static/horae.js?v=1")
    assert "immutable" in lasting.headers["cache-control"]
    assert "immutable" not in at.client().get("/static/none.js?v=1").headers["cache-control"]


def test_what_a_face_did_says_who(at: Served, ann: Visitor) -> None:
    token = at.token("admin", "auditor")
    assert ann.pause(**ann.ours).status_code == 200
    assert ann.http.post("/do/resume", json={"job": "hi"}, headers=ann.ours).status_code == 200
    made = ann.http.post("/access/tokens", json={"name": "paged", "role": "read"}, headers=ann.ours)
    assert made.json()["token"].startswith("ht_")
    assert at.client(made.json()["token"]).get("/access", headers={"accept": "text/html"}).text.count("Revoke") == 0
    ended = ann.http.post("/access/end", json={"credential": "paged"}, headers=ann.ours)
    assert ended.status_code == 200, ended.text
    assert at.client(token).post("/api/v1/jobs/hi/pause", json={}).status_code == 200
    assert at.client(token).post("/api/v1/jobs/hi/resume", json={}).status_code == 200
    acted = set(at.home.sql("SELECT what, actor FROM journal"))
    for what, actor in (("paused", "ann (dashboard)"), ("paused", "token auditor (rest)"), ("let_in", "ann (dashboard)"),
                        ("shut_out", "ann (dashboard)")):  # fmt: skip
        assert (what, actor) in acted, acted


def test_P11_a_run_lets_nobody_in(at: Served) -> None:
    inside = {"HORAE_RUN_ID": "a" * 12}
    for words in (("open", "--print"), ("tokens", "add", "sly"), ("tokens", "revoke", "ci")):
        refused = at.home.error(*words, status=4, **inside)
        assert refused["code"] == "refused", refused


def test_no_socket_of_the_gateway_reaches_what_it_starts(at: Served) -> None:
    """Neither a run nor the dashboard's own helpers may listen where the gateway does."""
    port = urlsplit(at.address).port
    folder = at.home.path / "fds"
    assert at.client().get("/healthz").text == "ok\n"
    at.home.script("fds.sh", f"#!/bin/sh\nls -l /proc/$$/fd > {folder}\nls -l /proc/$PPID/fd >> {folder}\n")
    at.home.horae("add", "every 1h", "--script", "fds.sh", "--name", "fds")
    listening = {
        line.split()[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
    }
    assert listening
    at.home.horae("run", "fds")
    until(folder.exists, "the run has looked")
    assert not [inode for inode in listening if f"socket:[{inode}]" in folder.read_text()]
    holders = [
        int(path.parent.parent.name)
        for path in Path("/proc").glob("[0-9]*/fd/*")
        if _leads_to(path, {f"socket:[{inode}]" for inode in listening})
    ]
    assert at.gateway.pid in holders
    assert len(set(holders)) == 2, "the gateway, and what serves"


def _leads_to(path: Path, places: set[str]) -> bool:
    try:
        return os.readlink(path) in places
    except OSError:
        return False
