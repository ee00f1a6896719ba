"""What a script finds and what becomes of what it prints, through a real gateway."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import pytest

from tests.support.process import TestHome, running, until

INSIDE = True


def add(home: TestHome, name: str, text: str, *words: str) -> str:
    """A job whose script says this; returns its slug."""
    home.script(f"{name}.sh", text)
    return home.json("add", "every day at 04:00", "--script", f"{name}.sh", "--name", name, *words)["job"]["slug"]


def result(home: TestHome, slug: str, *words: str) -> dict:
    """The result document of a run by hand."""
    return home.json("run", slug, "--wait", *words, status=None)


def test_what_is_printed_is_the_message_and_silence_is_a_silent_success(home: TestHome) -> None:
    with running(home):
        said = result(home, add(home, "says", "echo; echo '  two'; echo 'lines  '; echo; echo aside >&2"))
        assert said["message"] == "two\nlines"
        assert said["stdout"] == "\n  two\nlines  \n\n"
        assert said["stderr"] == "aside\n"
        assert [(item["target"], item["state"]) for item in said["run"]["deliveries"]] == [("local", "delivered")]
        quiet = result(home, add(home, "quiet", "printf '  \\n\\n'"))
        assert (quiet["run"]["state"], quiet["run"]["outcome"], quiet["message"]) == ("completed", "ran", "")
        assert [item["state"] for item in quiet["run"]["deliveries"]] == ["suppressed"]


def test_a_failure_is_an_alert_with_its_evidence(home: TestHome) -> None:
    with running(home):
        failed = result(home, add(home, "fails", "echo half; echo broken >&2; exit 7"))
        run = failed["run"]
        assert (run["state"], run["exit_code"], run["outcome"]) == ("failed", 7, "ran")
        assert run["reason"] == "exit status 7"
        assert "fails failed: exit status 7" in failed["message"]
        assert "broken" in failed["message"]
        assert "half" in failed["message"]
        assert [item["state"] for item in run["deliveries"]] == ["delivered"]
        killed = result(home, add(home, "dies", "kill -9 $$"))["run"]
        assert (killed["state"], killed["exit_code"], killed["signal"]) == ("failed", None, 9)
        unstartable = home.script("bad.py", "#!/nonexistent/python\n")
        assert unstartable.exists()
        assert "interpreter" in home.error("add", "every 1h", "--script", "bad.py", status=4)["message"]
    assert home.horae("run", "fails", "--wait", status=5).err.startswith("error: no gateway")


def test_a_run_that_takes_too_long_is_ended_with_everything_it_started(home: TestHome) -> None:
    with running(home):
        slug = add(home, "long", 'sleep 300 & echo $! > "$HORAE_HOME/child"; echo begun; wait', "--limit", "wall=1s")
        began = time.monotonic()
        ended = result(home, slug)
        assert time.monotonic() - began < 10
        assert ended["run"]["state"] == "failed"
        assert ended["run"]["reason"] == "wall limit of 1 second reached"
        assert ended["stdout"] == "begun\n"
        child = int((home.path / "child").read_text())
        until(
            lambda: subprocess.run(["kill", "-0", str(child)], capture_output=True, check=False).returncode,
            "the child is gone",
        )


def test_a_script_that_ignores_term_is_killed(home: TestHome) -> None:
    with running(home):
        ended = result(home, add(home, "stubborn", "trap '' TERM; while :; do sleep 0.1; done", "--limit", "wall=1s"))
        assert ended["run"]["state"] == "failed"
        assert "wall limit" in ended["run"]["reason"]


def test_a_run_finds_what_is_promised_and_nothing_of_the_gateway(home: TestHome) -> None:
    secrets = {
        "AWS_SECRET_ACCESS_KEY": "hush",
        "OPENAI_API_KEY": "hush",
        "WANTED": "yes",
        "PROXY_OF_ALL": "p",
        "LC_TIME": "C",
    }
    home.config('timezone = "Europe/Paris"\npass_env = ["PROXY_OF_ALL"]\n')
    with running(home, env=secrets):
        slug = add(home, "looks", "env -0 | base64 -w0; echo; pwd; echo $PPID", "--env", "WANTED")
        answer = result(home, slug, "--with", "some text")
        encoded, cwd, _ = answer["stdout"].splitlines()
        found = dict(
            item.split("=", 1)
            for item in subprocess.run(
                ["base64", "-d"], input=encoded, capture_output=True, text=True, check=True
            ).stdout.split("\0")
            if item
        )
        run, job = answer["run"], home.jobs()[slug]
        assert {name: value for name, value in found.items() if name.startswith("HORAE_")} == {
            "HORAE_HOME": str(home.path),
            "HORAE_JOB_ID": job["id"],
            "HORAE_JOB_NAME": "looks",
            "HORAE_RUN_ID": run["id"],
            "HORAE_ATTEMPT": "1",
            "HORAE_OCCURRENCE_KEY": run["key"],
            "HORAE_SLOT": run["slot"],
            "HORAE_LATENESS_S": found["HORAE_LATENESS_S"],
            "HORAE_MISSED": "0",
            "HORAE_TRIGGER": "manual",
            "HORAE_WITH": "some text",
            "HORAE_OUTPUT": found["HORAE_OUTPUT"],
            "HORAE_BEAT": f"{found['HORAE_OUTPUT']}/.beat",
        }
        assert found["HORAE_OUTPUT"].startswith(str(home.path / "state" / "spool"))
        assert 0 <= float(found["HORAE_LATENESS_S"]) < 5
        assert (found["WANTED"], found["PROXY_OF_ALL"], found["LC_TIME"]) == ("yes", "p", "C")
        assert "hush" not in found.values()
        assert not {"AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "VIRTUAL_ENV", "PYTHONPATH"} & set(found)
        assert cwd == str(home.path / "scripts")


def test_a_run_may_look_but_not_change(home: TestHome) -> None:
    python = " ".join(home.words())
    home.config(f'pass_env = ["PYTHONPATH"]\ncommands = ["{home.words()[0]}"]\n')
    with running(home):
        slug = add(
            home,
            "breeds",
            f"{python} --json add 'every 1h' --script breeds.sh; {python} --json list",
            "--limit",
            "wall=20s",
        )
        answer = result(home, slug)
        refusal, listed = answer["stdout"].split("\n}\n", 1)
        assert json.loads(refusal + "}")["error"]["code"] == "refused"
        assert [job["slug"] for job in json.loads(listed)["jobs"]] == [slug]


def test_much_output_is_cut_and_the_cut_is_said(home: TestHome) -> None:
    with running(home):
        answer = result(home, add(home, "chatty", "echo first; yes 0123456789 | head -c 2000000; echo last"))
        assert answer["run"]["state"] == "completed"
        assert answer["stdout_cut_bytes"] > 1_000_000
        assert answer["stdout"].startswith("first\n")
        assert answer["stdout"].endswith("last\n")
        assert f"[... {answer['stdout_cut_bytes']} bytes cut ...]" in answer["stdout"]
        assert len(answer["stdout"]) < 300_000
        run_id = answer["run"]["id"]
        assert f"({answer['stdout_cut_bytes']} bytes were cut)" in home.horae("log", run_id).out
        binary = result(home, add(home, "binary", "printf 'a\\000b\\377c'"))
        assert binary["stdout"] == "a\u2400b\ufffdc"


def test_manual_runs_use_up_no_slot_and_wait_for_none(home: TestHome) -> None:
    """A run by hand neither postpones the schedule nor counts for `repeat`."""
    with running(home):
        slug = add(home, "counts", "echo $HORAE_TRIGGER", "--repeat", "2")
        slots = home.json("next", slug)["slots"]
        assert len(slots) == 2
        for _ in range(3):
            assert result(home, slug)["message"] == "manual"
        assert home.json("next", slug)["slots"] == slots
        assert [run["trigger"] for run in home.runs(slug)] == ["manual"] * 3
        assert len({run["key"] for run in home.runs(slug)}) == 3
        home.json("pause", slug)
        assert result(home, slug)["run"]["state"] == "completed"  # paused stops slots, not people
        home.script("hold.sh", 'while [ ! -e "$HORAE_HOME/go" ]; do sleep 0.05; done\n')
        home.json("add", "every 1h", "--script", "hold.sh", "--name", "hold")
        run_id = home.json("run", "hold")["run_id"]
        until(lambda: home.runs("hold"), "it has begun")
        error = home.error("run", "hold", status=4)
        assert run_id in error["message"]
        (home.path / "go").touch()
        assert home.ended(run_id)["state"] == "completed"


def test_a_dry_run_starts_nothing(home: TestHome) -> None:
    slug = add(home, "never", 'touch "$HORAE_HOME/started"')
    answer = home.json("run", slug, "--dry")
    assert answer["argv"][-1] == str(home.path / "scripts" / "never.sh")
    assert answer["problems"] == []
    assert answer["deliver"] == ["local"]
    assert "would start" in home.horae("run", slug, "--dry").out
    (home.path / "scripts" / "never.sh").unlink()
    assert "does not exist" in home.json("run", slug, "--dry", status=1)["problems"][0]
    assert home.runs() == []
    assert not (home.path / "started").exists()


@pytest.mark.parametrize("as_json", [False, True])
def test_following_shows_output_as_it_comes(home: TestHome, as_json: bool) -> None:
    text = 'echo one; while [ ! -e "$HORAE_HOME/go" ]; do sleep 0.05; done; echo two; exit 3'
    with running(home):
        run_id = home.json("run", add(home, "talks", text))["run_id"]
        until(home.runs, "it begins")
        words = home.words(*(["--json"] if as_json else []), "log", run_id, "--follow")
        with subprocess.Popen(words, env=home.environment(), stdout=subprocess.PIPE, text=True) as following:
            assert following.stdout is not None
            first = following.stdout.readline()
            (home.path / "go").touch()
            rest = following.stdout.read()
        if not as_json:
            assert (first, rest) == ("one\n", "two\n")
            return
        lines = [json.loads(line) for line in (first + rest).splitlines()]
        assert "".join(line["text"] or "" for line in lines) == "one\ntwo\n"
        assert [set(line) for line in lines] == [{"run", "text", "ended"}] * len(lines)
        assert lines[-1]["ended"]["state"] == "failed"
        assert lines[-1]["ended"]["exit_code"] == 3


def test_waiting_ends_with_the_gateway(home: TestHome) -> None:
    slug = add(home, "holds", "sleep 60")
    with running(home) as gateway:
        with subprocess.Popen(
            home.words("--json", "run", slug, "--wait"), env=home.environment(), stdout=subprocess.PIPE, text=True
        ) as waiting:
            until(lambda: [run for run in home.runs() if run["state"] == "running"], "it runs")
            gateway.signal(signal.SIGTERM)
            gateway.says("waiting for")
            gateway.signal(signal.SIGTERM)
            out, _ = waiting.communicate(timeout=20)
        found = json.loads(out)
        assert waiting.returncode in (1, 5)
        assert found.get("run", {}).get("state") == "cancelled" or found["error"]["code"] == "unavailable"
        assert gateway.ends() == 0
