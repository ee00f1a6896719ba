"""What a run cannot do to the home that it belongs to, and what it can do all the same.

Landlock covers what is written, made, renamed and removed, and what is read. It covers neither modes, owners and times of
files, nor sockets; the control socket looks for itself at who asks. Where the kernel has no Landlock, nothing claims it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from horae.control.place import SOCKET
from horae.core.model import Result
from horae.ports import Settings
from horae.runners.process import ProcessRunner
from horae.runners.shim.landlock import version
from tests.support.badprograms import alive, carry_out, python, run, run_as_nobody, sh, shim_pid, until
from tests.support.process import TestHome, new_home, running

WALLS = version() > 0
SECRET = 'TOKEN = "correct-horse-battery"\n'


def furnish(home: Path) -> Path:
    """A home as it stands when a gateway is up."""
    for name in ("jobs", "scripts", "skills", "state/output/other"):
        (home / name).mkdir(parents=True)
    (home / "config.toml").write_text("parallel = 3\n")
    (home / "jobs" / "a.md").write_text("---\nschedule: every 1h\n---\n")
    (home / "scripts" / "a.sh").write_text("echo a\n")
    (home / "skills" / "a.md").write_text("a\n")
    (home / "state" / "runtime.db").write_text("rows\n")
    (home / "state" / "output" / "other" / "stdout").write_text("theirs\n")
    (home / "state" / "audit.key").write_text("the-journals-key\n")
    (home / "secrets.toml").write_text(SECRET)
    (home / "secrets.toml").chmod(0o600)
    return home


def contents(home: Path) -> dict[str, str]:
    """All of a home but for spools."""
    return {
        str(path.relative_to(home)): path.read_text() if path.is_file() else "/"
        for path in sorted(home.rglob("*"))
        if "spool" not in path.parts
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return furnish(tmp_path / "beside" / "home")


@pytest.fixture
def free(tmp_path: Path) -> Path:
    """A folder that is not on the way to the home: runs may do in it what they like."""
    (tmp_path / "free").mkdir()
    return tmp_path / "free"


@pytest.fixture
def runner(home: Path) -> Iterator[ProcessRunner]:
    found = ProcessRunner(Settings(str(home)))
    yield found
    found.close()


def walled(runner: ProcessRunner, script: str, **given: Any) -> Result:
    """A shell script behind walls, with the home in $H."""
    result = run(runner, sh(script, landlock=True, **given))
    assert result.refused is None, result
    return result


def leak(runner: ProcessRunner, home: Path, free: Path, script: str) -> str:
    """What such a script could read. It writes it to a file: what it prints would come back without secrets."""
    walled(runner, f'{{ {script}; }} >"$T/leak"', env={"H": str(home), "T": str(free)})
    return (free / "leak").read_text()


if WALLS:
    TRICKS = {
        "writes": 'echo x >"$H/{0}"',
        "appends": 'echo x >>"$H/{0}"',
        "truncates": 'truncate -s 0 "$H/{0}"',
        "removes": 'rm -f "$H/{0}"',
        "moves away": 'mv "$H/{0}" "$T/away"',
        "renames": 'mv "$H/{0}" "$H/{0}.old"',
        "moves over": 'echo x >"$T/new"; mv -f "$T/new" "$H/{0}"',
        "copies over": 'echo x >"$T/new"; cp -f "$T/new" "$H/{0}"',
        "links in": 'echo x >"$T/new"; ln -f "$T/new" "$H/{0}"',
        "links out and writes": 'ln "$H/{0}" "$T/link" && echo x >"$T/link"',
        "writes through a link": 'ln -s "$H/{0}" "$T/link"; echo x >"$T/link"',
        "writes through a link of its folder": 'ln -s "$H" "$T/link"; echo x >"$T/link/{0}"',
        "writes below /proc/self/root": 'echo x >"/proc/self/root$H/{0}"',
        "writes below the shim's root": 'echo x >"/proc/$PPID/root$H/{0}"',
        "writes below the shim's cwd": 'echo x >"/proc/$PPID/cwd$H/{0}"',
        "writes by a way around": 'cd "$H/state"; echo x >"../{0}"',
        "writes from its own folder": 'cd "$HORAE_OUTPUT"; echo x >"../../../{0}"',
        "mounts over": 'mount --bind /etc "$H/{0}"; mount -t tmpfs none "$H"',
        "unshares and mounts over": 'unshare -m sh -c \'mount -t tmpfs none "$H" && echo x >"$H/{0}"\'',
        "unshares its user": 'unshare -Urm sh -c \'mount -t tmpfs none "$H" && echo mounted\'; echo x >"$H/{0}"',
    }

    @pytest.mark.parametrize("trick", list(TRICKS))
    def test_P11_U15_no_trick_changes_what_is_in_the_home(
        runner: ProcessRunner, home: Path, free: Path, trick: str
    ) -> None:
        before = contents(home)
        names = [name for name, text in before.items() if text != "/"]
        script = "\n".join(f"( {TRICKS[trick].format(name)} )" for name in names)
        result = walled(runner, script, env={"H": str(home), "T": str(free)})
        assert contents(home) == before, result
        assert "mounted" not in result.stdout

    def test_P11_U15_nothing_is_made_in_the_home(runner: ProcessRunner, home: Path, free: Path) -> None:
        before = contents(home)
        folders = ["."] + [name for name, text in before.items() if text == "/"]
        made = "mkdir d; echo x >f; ln -s /etc s; mkfifo p; mknod n p; ln /etc/hostname l; touch t; mv $T/dir moved"
        (free / "dir").mkdir()
        script = "\n".join(f'( cd "$H/{folder}" && {{ {made}; }} )' for folder in folders)
        walled(runner, script, env={"H": str(home), "T": str(free)})
        assert contents(home) == before

    def test_P11_U15_folders_are_not_moved_or_removed_or_swapped(runner: ProcessRunner, home: Path, free: Path) -> None:
        before = contents(home)
        code = """
import os, shutil, sys, ctypes
home, outside = sys.argv[1:]
os.makedirs(outside + "/jobs")
libc = ctypes.CDLL(None, use_errno=True)
for name in ("jobs", "scripts", "state", "."):
    for what in (lambda: os.rename(f"{home}/{name}", outside + "/gone"), lambda: shutil.rmtree(f"{home}/{name}"),
                 lambda: os.rename(home, home + ".old"), lambda: os.symlink(outside, home + "/state/x")):
        try:
            what()
            print("did", name)
        except OSError:
            pass
    if libc.renameat2(-100, f"{home}/{name}".encode(), -100, (outside + "/jobs").encode(), 2) == 0:  # EXCHANGE
        print("exchanged", name)
"""
        result = run(runner, python(code, str(home), str(free), landlock=True))
        assert (result.stdout, result.exit_code) == ("", 0), result
        assert contents(home) == before

    def test_P11_U15_modes_and_times_are_not_covered(runner: ProcessRunner, home: Path) -> None:
        """Landlock knows no such right. It opens nothing: what may not be written stays so, whatever its mode says."""
        before = contents(home)
        result = walled(runner, 'chmod 777 "$H/jobs/a.md"; echo x >"$H/jobs/a.md"', env={"H": str(home)})
        assert (home / "jobs" / "a.md").stat().st_mode & 0o777 == 0o777
        assert result.exit_code != 0
        assert contents(home) == before

    HIDDEN = {
        "reads": 'cat "$H/{0}"',
        "through a link": 'ln -s "$H/{0}" "$T/link"; cat "$T/link"',
        "through a hard link": 'ln "$H/{0}" "$T/link"; cat "$T/link"',
        "below /proc/self/root": 'cat "/proc/self/root$H/{0}"',
        "below the shim's root": 'cat "/proc/$PPID/root$H/{0}"',
        "moved": 'mv "$H/{0}" "$T/x"; cat "$T/x"',
        "copied by root's means": 'cp -a "$H" "$T/copy"; cat "$T/copy/{0}"',
        "archived": 'tar -cf - -C "$H" . | tar -xOf - "./{0}"',
        "its name's inode": 'debug=$(stat -c %i "$H/{0}"); find "$H" -inum $debug -exec cat {{}} +',
        "bound elsewhere": 'mkdir "$T/m"; unshare -m sh -c \'mount --bind "$H" "$T/m" && cat "$T/m/{0}"\'',
    }

    @pytest.mark.parametrize("trick", list(HIDDEN))
    @pytest.mark.parametrize("name", ["secrets.toml", "state/audit.key"])
    def test_P11_U15_secrets_and_the_journals_key_cannot_be_read(
        runner: ProcessRunner, home: Path, free: Path, trick: str, name: str
    ) -> None:
        script = HIDDEN[trick].format(name)
        assert leak(runner, home, free, script) == ""
        assert name in ("secrets.toml", "state/audit.key")

    def test_P11_U15_spools_cannot_be_read_or_written(runner: ProcessRunner, home: Path) -> None:
        walled(runner, "echo a secret of another run")
        script = """
        cat "$H"/state/spool/*.log "${HORAE_OUTPUT%.d}.log"; for f in /proc/$PPID/fd/*; do timeout 1 cat $f; done
        echo x >>"${HORAE_OUTPUT%.d}.log"; echo x >"$H/state/spool/x"; rmdir "$HORAE_OUTPUT"; mkdir "$H/state/spool/y.d"
        for f in /proc/$PPID/fd/*; do echo x >$f; done; cat /proc/$PPID/mem; echo x >/proc/$PPID/mem
        true
        """
        result = walled(runner, script, env={"H": str(home)})
        assert (result.stdout, result.exit_code) == ("", 0), result
        assert walled(runner, 'echo fine; : >"$HORAE_OUTPUT/x"; rm "$HORAE_OUTPUT/x"').exit_code == 0

    def test_P11_U15_another_live_run_s_folder_and_processes_are_out_of_reach(
        runner: ProcessRunner, home: Path
    ) -> None:
        async def story() -> tuple[Result, Result]:
            one = sh('echo mine >"$HORAE_OUTPUT/x"; echo $$ $HORAE_OUTPUT; exec sleep 20', landlock=True)
            task = asyncio.create_task(carry_out(runner, one))
            await until(lambda: (runner.so_far(one.run_id) or ("",))[0].endswith("\n"))
            pid, folder = (runner.so_far(one.run_id) or ("",))[0].split(maxsplit=1)
            folder = folder.strip()
            script = f"cat {folder}/x; echo x >{folder}/x; rm {folder}/x; cat /proc/{pid}/fd/* /proc/{pid}/root{folder}/x; true"
            other = await carry_out(runner, sh(script, landlock=True))
            runner.cancel(one.run_id, "enough")
            return await task, other

        one, other = asyncio.run(story())
        assert (other.stdout, other.exit_code) == ("", 0), other
        (made,) = (home / "state" / "output").glob("*/files/x")
        assert made.read_text() == "mine\n"
        assert one.ended_by == "enough"

    def test_P11_U15_what_a_run_may_do(runner: ProcessRunner, home: Path, tmp_path: Path, free: Path) -> None:
        (tmp_path / "beside" / "folder").mkdir()
        (tmp_path / "beside" / "file").write_text("old")
        script = """
        set -e
        cat "$H/config.toml" "$H/jobs/a.md" "$H/scripts/a.sh" "$H/state/runtime.db" "$H/skills/a.md" >/dev/null
        ls "$H" "$H/state" "$H/jobs" >/dev/null
        echo x >"$HORAE_OUTPUT/report"; mkdir "$HORAE_OUTPUT/d"; mv "$HORAE_OUTPUT/report" "$HORAE_OUTPUT/d"
        ln -s d "$HORAE_OUTPUT/s"; ln "$HORAE_OUTPUT/d/report" "$HORAE_OUTPUT/h"; touch "$HORAE_BEAT"
        echo x >"$H/../folder/new"; echo x >"$H/../file"; mkdir "$H/../folder/d"; mv "$H/../folder/new" "$H/../folder/d"
        f=$(mktemp); mv $f "$H/../folder/moved"; rm "$H/../folder/moved"; mktemp -d | xargs rmdir
        echo x >/dev/null; echo x >/dev/shm/horae-$$; rm /dev/shm/horae-$$; cat /proc/self/status >/dev/null
        sh "$H/scripts/a.sh"
        """
        result = walled(runner, script, env={"H": str(home), "TMPDIR": str(free)})
        assert (result.stdout, result.stderr, result.exit_code) == ("a\n", "", 0)
        assert result.files == ("files",)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
    def test_P11_U15_nobody_s_run_learns_nothing_of_its_gateway_and_shim(tmp_path: Path) -> None:
        """Root's runs do: the kernel shows what a process has in memory to whoever may measure it."""
        script = "for f in maps environ; do cat /proc/$PPID/$f /proc/$(cut -d' ' -f4 /proc/$PPID/stat)/$f; done; true"
        (result,) = run_as_nobody(tmp_path, sh(script, landlock=True))
        assert (result["stdout"], result["exit_code"]) == ("", 0), result
        assert result["stderr"].count("Permission denied") == 4, result

    # ── what changes while a shim lives

    def test_P11_U15_secrets_that_are_replaced_stay_hidden(runner: ProcessRunner, home: Path, free: Path) -> None:
        assert leak(runner, home, free, f"cat {home}/secrets.toml") == ""
        shim = shim_pid(home)
        for way in ("rename", "write", "remove and write"):
            if way == "remove and write":
                (home / "secrets.toml").unlink()
            target = home / ("secrets.new" if way == "rename" else "secrets.toml")
            target.write_text(SECRET)
            if way == "rename":
                target.rename(home / "secrets.toml")
            assert leak(runner, home, free, f"cat {home}/secrets.toml") == "", way
        assert shim_pid(home) == shim, "all by one shim"

    def test_P11_U15_secrets_that_appear_later_are_hidden(tmp_path: Path, free: Path) -> None:
        home = furnish(tmp_path / "home")
        (home / "secrets.toml").unlink()
        (home / "state" / "audit.key").unlink()
        runner = ProcessRunner(Settings(str(home)))
        try:
            walled(runner, "true")
            (home / "secrets.toml").write_text(SECRET)
            (home / "state" / "audit.key").write_text("key\n")
            assert leak(runner, home, free, f"cat {home}/secrets.toml {home}/state/audit.key") == ""
        finally:
            runner.close()

    @pytest.mark.parametrize("name", ["secrets.toml", "state/audit.key", "state/output/new", "jobs/new.md", "new"])
    def test_P11_U15_what_appears_while_a_run_is_live_is_behind_its_walls(
        runner: ProcessRunner, home: Path, free: Path, name: str
    ) -> None:
        """Written beside it first, and renamed, as editors do: before and after the run began."""

        async def story() -> Result:
            first = home / f"{name}.new"
            first.write_text("correct-horse-battery")
            wait = f"until [ -e {free}/go ]; do sleep 0.02; done"
            script = f"echo up; {wait}; cat {home}/{name} >{free}/leak; echo x >{home}/{name}"
            what = sh(script, landlock=True)
            task = asyncio.create_task(carry_out(runner, what))
            await until(lambda: (runner.so_far(what.run_id) or ("",))[0] == "up\n")
            first.rename(home / name)
            (free / "go").touch()
            return await task

        result = asyncio.run(story())
        assert (home / name).read_text() == "correct-horse-battery"
        if name in ("secrets.toml", "state/audit.key"):
            assert (free / "leak").read_text() == "", result

    @pytest.mark.parametrize("name", ["secrets.toml~", "secrets.toml.bak", ".secrets.toml.swp", "secrets.toml.orig"])
    def test_P11_U15_what_an_editor_leaves_of_the_secrets_is_hidden_too(
        runner: ProcessRunner, home: Path, free: Path, name: str
    ) -> None:
        (home / name).write_text(SECRET)
        assert leak(runner, home, free, f"cat {home}/{name}") == ""

    def test_P11_U15_folders_made_later_can_be_used_by_the_next_run(runner: ProcessRunner, home: Path) -> None:
        assert walled(runner, f"echo x >{home}/../new/x").exit_code != 0
        (home.parent / "new").mkdir()
        assert walled(runner, f"echo x >{home}/../new/x && mkdir {home}/../new/y").exit_code == 0
        (home.parent / "new").rename(home.parent / "old")
        assert walled(runner, f"echo x >{home}/../old/x").exit_code == 0

    def test_P11_U15_what_is_put_into_the_home_later_can_be_read_by_the_next_run(
        runner: ProcessRunner, home: Path
    ) -> None:
        walled(runner, "true")
        (home / "notes.md").write_text("notes\n")
        (home / "jobs" / "b.md").write_text("b\n")
        assert walled(runner, f"cat {home}/notes.md {home}/jobs/b.md").stdout == "notes\nb\n"

    # ── where a home may lie

    def place(tmp_path: Path, kind: str) -> tuple[Path, Path]:
        """A home, and the path that leads there as it is configured."""
        if kind == "a link":
            real = furnish(tmp_path / "real" / "home")
            (tmp_path / "link").symlink_to(tmp_path / "real")
            (tmp_path / "home").symlink_to(tmp_path / "link" / "home")
            return real, tmp_path / "home"
        if kind == "words":
            real = furnish(tmp_path / "Ärger mit Leerzeichen\n'\"$x" / "home ☃ (2)")
        elif kind == "deep":
            real = furnish(tmp_path.joinpath(*["folder"] * 60, "home"))
        elif kind == "a common beginning":
            real = furnish(tmp_path / "home")
            (tmp_path / "home2").mkdir()
            (tmp_path / "hom").mkdir()
        else:
            real = furnish(tmp_path / "home" / "jobs" / "state" / "home")
        return real, real

    @pytest.mark.parametrize("kind", ["a link", "words", "deep", "a common beginning", "names of its own parts"])
    def test_P11_U15_wherever_the_home_lies(tmp_path: Path, kind: str) -> None:
        real, said = place(tmp_path, kind)
        holds(real, said)
        if kind == "a common beginning":
            assert (tmp_path / "home2" / "x").exists()
            assert (tmp_path / "hom" / "x").exists()

    def holds(real: Path, said: Path) -> None:
        before = contents(real)
        script = """
        for h in "$REAL" "$SAID"; do
            echo x >"$h/jobs/a.md"; echo x >"$h/new"; rm "$h/config.toml"; cat "$h/secrets.toml"; cat "$h/state/audit.key"
        done
        cat "$SAID/config.toml"; echo x >"$HORAE_OUTPUT/x"; for d in "$SAID/../home2" "$SAID/../hom"; do echo x >"$d/x"; done
        true
        """
        runner = ProcessRunner(Settings(str(said)))
        try:
            result = walled(runner, script, env={"REAL": str(real), "SAID": str(said)})
        finally:
            runner.close()
        assert (result.stdout, result.files) == ("parallel = 3\n", ("files",)), result
        after = {name: text for name, text in contents(real).items() if not name.startswith("state/output/")}
        assert after == {name: text for name, text in before.items() if not name.startswith("state/output/")}

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root may write to /")
    def test_P11_U15_a_home_directly_below_the_root(tmp_path: Path) -> None:
        home = Path("/") / f"horae-test-{os.getpid()}"
        try:
            holds(furnish(home), home)
        finally:
            shutil.rmtree(home)

    @pytest.mark.parametrize("name", ["jobs", "scripts", "config.toml", "state", "skills"])
    def test_P11_U15_what_is_a_link_in_the_home_is_behind_the_walls_too(tmp_path: Path, name: str) -> None:
        """As people do who keep such files in a repository of their own."""
        home = furnish(tmp_path / "home")
        (tmp_path / "dotfiles").mkdir()
        (home / name).rename(tmp_path / "dotfiles" / name)
        (home / name).symlink_to(tmp_path / "dotfiles" / name)
        file = {"config.toml": "config.toml", "scripts": "scripts/a.sh", "state": "state/runtime.db"}.get(
            name, f"{name}/a.md"
        )
        before = (home / file).read_text()
        runner = ProcessRunner(Settings(str(home)))
        try:
            result = walled(runner, f"cat {home}/{file}; echo x >{home}/{file}; echo x >{tmp_path}/dotfiles/{file}")
        finally:
            runner.close()
        assert (home / file).read_text() == before
        assert result.stdout == before

    @pytest.mark.parametrize("where", ["dotfiles", "home"])
    def test_P11_U15_secrets_behind_a_link_are_hidden(tmp_path: Path, free: Path, where: str) -> None:
        home = furnish(tmp_path / "home")
        (tmp_path / "dotfiles").mkdir()
        target = tmp_path / where / "kept.toml"
        (home / "secrets.toml").rename(target)
        (home / "secrets.toml").symlink_to(target)
        runner = ProcessRunner(Settings(str(home)))
        try:
            assert (
                leak(runner, home, free, f"cat $H/secrets.toml; cat {target}; cat $H/config.toml") == "parallel = 3\n"
            )
            (tmp_path / "dotfiles" / "free").mkdir()
            assert walled(runner, f"echo x >{tmp_path}/dotfiles/free/x && echo x >{home}/../other").stdout == ""
            assert (tmp_path / "dotfiles" / "free" / "x").exists()
        finally:
            runner.close()

    # ── through a whole gateway

    @pytest.fixture
    def whole(tmp_path: Path) -> TestHome:
        (tmp_path / "beside").mkdir()
        found = new_home(tmp_path / "beside" / "home")
        found.config('commands = ["true"]\ntimezone = "Europe/Paris"\nlandlock = "on"\n')
        return found

    def inside(home: TestHome, script: str, **keys: str) -> dict[str, Any]:
        """What a script says that runs in a whole gateway."""
        home.script("inside.sh", f"H='{sys.executable} -m horae'\n{script}")
        home.write("inside", script="inside.sh", **keys)
        home.write("hi", script="hi.sh")
        with running(home):
            home.state_of("inside", "active")
            home.json("run", "inside", "--wait", status=None)
            run = home.runs("inside")[0]
            said = home.json("log", run["id"])
        assert alive(run["id"]) == []
        return {**run, "stdout": said["stdout"], "stderr": said["stderr"]}

    def test_P11_U15_a_run_may_look(whole: TestHome) -> None:
        script = "set -e; $H list; $H next; $H --json status >/dev/null; $H runs; $H show hi; $H why hi next\n"
        run = inside(whole, script)
        assert run["state"] == "completed", run
        assert "hi" in run["stdout"]

    COMMANDS = [
        "add 'every 1h' --script hi.sh --name new", "run hi", "pause hi", "remove hi", "edit hi --name other",
        "service install", "skip hi next", "undo", "cancel x", "apply \"$HORAE_HOME/jobs\"",
    ]  # fmt: skip

    @pytest.mark.parametrize(
        "how",
        [
            "",
            "env -u HORAE_RUN_ID",
            'env -i PATH="$PATH" HORAE_HOME="$HORAE_HOME"',
            'setsid env -i HORAE_HOME="$HORAE_HOME"',
        ],
    )
    def test_P11_U15_a_run_changes_nothing(whole: TestHome, how: str) -> None:
        words = "\n".join(f'{how} $H {command}; echo "=$?"' for command in COMMANDS)
        run = inside(whole, words)
        assert run["state"] == "completed"
        statuses = [line[1:] for line in run["stdout"].splitlines() if line.startswith("=")]
        refused = dict(zip(COMMANDS, statuses, strict=True))
        assert set(refused.values()) == {"4"}, (refused, run["stdout"])
        assert sorted(whole.digests()) == ["hi.md", "inside.md"], "no job was added"
        assert whole.runs("hi") == []
        assert whole.jobs()["hi"]["state"] == "active"

    RAW = """
import json, os, socket, sys
for verb, args in (("run", {{"job": "hi"}}), ("pause", {{"job": "hi", "reason": None}}), ("remove", {{"job": "hi"}})):
    for pid in range(8):
        child = os.fork()
        if child: os.waitpid(child, 0); continue
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(sys.argv[1])
            s.sendall(json.dumps({{"verb": verb, "args": {{"actor": "me", **args}}}}).encode() + b"\\n")
            if {waits}: print(verb, "error" in s.makefile().readline(), flush=True)
        os._exit(0)
"""

    @pytest.mark.parametrize("waits", [True, False])
    def test_P11_U15_a_run_changes_nothing_by_the_socket_itself(whole: TestHome, tmp_path: Path, waits: bool) -> None:
        """Also one that does not wait for the answer, and is gone when the gateway looks for who it was."""
        code = tmp_path / "raw.py"
        code.write_text(RAW.format(waits=waits))
        run = inside(whole, f'env -i {sys.executable} {code} "$HORAE_HOME/state/{SOCKET}"; sleep 0.5\n')
        assert run["state"] == "completed", run
        assert "False" not in run["stdout"]
        assert whole.runs("hi") == []
        assert whole.jobs()["hi"]["state"] == "active"

    def test_P11_U15_the_home_of_a_gateway_is_behind_walls(whole: TestHome) -> None:
        (whole.path / "secrets.toml").write_text(SECRET)
        (whole.path / "secrets.toml").chmod(0o600)
        script = """
        for f in config.toml jobs/hi.md scripts/hi.sh state/runtime.db new; do echo x >"$HORAE_HOME/$f" && echo wrote $f; done
        cat "$HORAE_HOME/secrets.toml" "$HORAE_HOME/state/audit.key" | wc -c; cat "$HORAE_HOME/scripts/hi.sh"
        """
        run = inside(whole, script)
        assert run["stdout"] == "0\necho hi\n"

    def test_P11_U15_a_job_without_walls_may_write(whole: TestHome) -> None:
        run = inside(whole, 'echo x >"$HORAE_HOME/notes" && echo wrote\n', landlock="off")
        assert run["stdout"] == "wrote\n"
        assert (whole.path / "notes").exists()

    def test_P11_U15_doctor_says_so(whole: TestHome) -> None:
        assert "runs are kept out of the home" in whole.horae("doctor", status=None).out

else:

    def test_P11_U15_without_landlock_nothing_claims_it(tmp_path: Path) -> None:
        home = new_home(tmp_path / "home")
        home.config('landlock = "on"\n')
        said = home.horae("doctor", status=None).out
        assert "runs are kept out of the home" not in said
        assert "landlock" in said.lower()
        runner = ProcessRunner(Settings(str(home.path)))
        try:
            result = walled(runner, 'echo x >"$H/notes"; echo done', env={"H": str(home.path)})
        finally:
            runner.close()
        assert result.stdout == "done\n"
        assert (home.path / "notes").exists()
