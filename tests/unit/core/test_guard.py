"""What would stop, restart or replace the scheduler is found in its place, and nowhere else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.guard import FINDINGS_MAX, FOUND_CHARS, findings, refusal

HITS = [
    "horae up",
    "exec horae up --port 80",
    "/usr/local/bin/horae up",
    "uv run horae up &",
    "python3 -m horae up",
    "horae --home /srv/h up",
    "horae --home=/srv/h --json up",
    "horae service install",
    "sudo horae service --system uninstall",
    "if true; then horae up; fi",
    "$(horae up)",
    "`horae up`",
    'sh -c "horae up"',
    'subprocess.run(["horae", "up"])',
    "os.system('cd x && horae up')",
    "echo ok && horae up",
    "systemctl restart horae",
    "systemctl --user stop horae.service",
    "sudo systemctl kill -s KILL horae@home.service",
    "/bin/systemctl disable --now horae-main",
    "subprocess.check_call(['systemctl', '--user', 'restart', 'horae'])",
    "service horae restart",
    "pkill horae",
    "pkill -9 -f 'horae up'",
    "killall -q horae",
    "kill $(pgrep horae)",
    "kill -TERM $(cat ~/.horae/state/gateway.lock)",
    "pgrep -f horae | xargs kill",
    "kill `pidof horae`",
    "launchctl kickstart -k gui/501/horae",
    "launchctl bootout gui/501/com.horae.gateway",
    "launchctl unload ~/Library/LaunchAgents/horae.plist",
    "  horae\tup",
    "kill $(pgrep -f horae)",
    "systemctl --user stop horae",
    "service horae-gateway restart",
    "/etc/init.d/horae restart",
    "supervisorctl restart horae",
    "docker restart horae",
    "ps aux | grep horae | awk '{print $2}' | xargs kill -9",
    "taskkill /F /IM horae.exe",
    "Stop-Process -Name horae",
    "Get-Process horae | Stop-Process",
    "net stop horae",
    'os.system("systemctl restart hor" + "ae")  # horae',
    "pkill hor''ae",
]

OTHERS = [
    "hermes gateway restart",
    "hermes -p work gateway restart",
    "hermes --profile=work gateway stop",
    "hermes update",
    "hermes uninstall --yes",
    "openclaw gateway restart",
    "systemctl --user restart hermes-gateway.service",
    "launchctl kickstart -k gui/501/ai.hermes.gateway",
    "launchctl submit -l hermes -- sleep 1",
    "kill $(pgrep -f hermes)",
    "service hermes-gateway restart",
    'subprocess.run(["hermes", "-p", "work", "gateway", "restart"])',
    'os.system("hermes gate" + "way restart")',
]

IMAGES = [
    "killall python",
    "killall -9 python3",
    "pkill python3.11",
    "pkill -f python",
    "kill -9 $(pgrep python)",
    "pgrep python | xargs kill",
    "taskkill /F /IM python.exe",
    "Stop-Process -Name python",
    "pkill -u ada",
    "killall -u $USER",
    "kill -9 -1",
]

DOOM = [
    "rm -rf /",
    "rm -rf //",
    "rm -rf / --no-preserve-root",
    "rm -rf ~",
    "rm -rf ~/",
    'rm -rf "$HOME"/*',
    "rm -rf ${HOME}",
    "sudo rm -r -f /var/log",
    "rm -fR /home/ada",
    "rm --recursive /etc",
    "rm -rf ~/.horae",
    "rm -rf $HORAE_HOME",
    'subprocess.run(["rm", "-rf", "/"])',
    "find / -delete",
    "dd if=/dev/zero of=/dev/sda bs=1M",
    "mkfs.ext4 /dev/sda1",
]

MISSES = [
    "",
    "horae",
    "horae list",
    "horae status",
    "horae service status",
    "horae run backup --wait",
    "horae add 'every day' --script up.sh",
    "horae log up",
    "horae list | grep up",
    "horae edit job --name up",
    "horae upgrade",
    "horaeup",
    "horae-backup up",
    "my-horae up",
    "~/.horae up",
    "systemctl status horae",
    "systemctl --user show horae.service",
    "systemctl restart nginx",
    "systemctl restart nginx; horae list",
    "systemctl restart nginx && echo horae",
    "systemctl restart nothorae",
    "launchctl list | grep horae",
    "launchctl print gui/501/horae",
    "kill $PID",
    "kill $PID; echo horae",
    "pkill backup",
    "pkill horaetoo",
    "pgrep horae",
    "ps aux | grep horae",
    "tail -f ~/.horae/state/horae.log",
    "skilled horae riders",
    "# horae up",
    "   #horae up",
    "#!/usr/bin/env horae up",
    "ls # then: horae up",
    "ls #",
    "service nginx restart # horae",
    "echo start it up, horae",
    "horae up --help",
    "hermes update --check",
    "hermes gateway status",
    "hermes -p gateway restart",
    "killall pythonista",
    "pkill -f 'python train.py'",
    "pgrep python",
    "kill -1 1234",
    "kill -9 1234",
    "docker restart web",
    "rm -rf /tmp/build",
    "rm -rf ./build dist",
    "rm -rf ~/.cache/tides",
    "rm -rf /var/tmp/x",
    "rm /etc/motd",
    "find / -name '*.pyc' -delete",
    "dd if=/dev/sda of=disk.img",
    "echo ssh-rsa AAAA >> ~/.ssh/authorized_keys",
    "cat ~/.aws/credentials",
    "printf '\\x1b[31mred'",
]


@pytest.mark.parametrize("line", HITS)
def test_it_is_found(line: str) -> None:
    (item,) = findings(f"#!/bin/sh\n{line}\n")
    assert (item.family, item.line) == ("lifecycle", 2)
    assert "horae" in item.found


@pytest.mark.parametrize(
    ("family", "line"),
    [
        *(("lifecycle_others", line) for line in OTHERS),
        *(("lifecycle_images", line) for line in IMAGES),
        *(("destructive_root_rm", line) for line in DOOM),
    ],
)
def test_others_are_found_too(family: str, line: str) -> None:
    (item,) = findings(f"#!/bin/sh\n{line}\n")
    assert (item.family, item.line, item.severity) == (family, 2, "refuse")


def test_a_list_with_a_word_on_each_line_is_one_command() -> None:
    text = 'import subprocess\nsubprocess.run([\n    "systemctl",\n    "restart",\n\n    "horae",\n], check=True)\n'
    (item,) = findings(text)
    assert (item.line, item.found) == (2, "systemctl restart horae")
    apart = 'ACTIONS = [\n    "systemctl restart nginx",\n    "tail horae.log",\n    "horae",\n]\n'
    assert findings(apart) == ()


def test_a_word_that_goes_on_behind_a_line_end_is_one_word() -> None:
    assert [item.line for item in findings("systemctl restart ho\\\nrae\n")] == [1]


@pytest.mark.parametrize("line", MISSES)
def test_it_is_left_alone(line: str) -> None:
    assert findings(f"#!/bin/sh\n{line}\n") == ()


def test_the_line_and_the_words_are_those_of_the_text() -> None:
    text = "#!/bin/sh\r\n\r\necho hi\r\nsudo systemctl --user \\\r\n  restart \\\r\n  horae.service\r\n"
    (item,) = findings(text)
    assert (item.line, item.found) == (4, "systemctl --user restart horae.service")
    said = refusal(item, "script a.sh, line 4", "edit the script")
    assert said == (
        "script a.sh, line 4: `systemctl --user restart horae.service` would stop, restart or replace the scheduler that "
        "runs it; edit the script"
    )


def test_a_line_that_goes_on_at_the_end_of_the_text_counts() -> None:
    assert [item.line for item in findings("a\nhorae \\\nup\\")] == [2]


def test_of_many_the_first_are_told_and_a_long_one_is_cut() -> None:
    many = findings("horae up\n" * 50)
    assert [item.line for item in many] == list(range(1, FINDINGS_MAX + 1))
    (long,) = findings("horae up " + "x" * 1000)
    assert len(long.found) == FOUND_CHARS


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    assert len(findings(text)) <= FINDINGS_MAX
    assert len(findings(text + "\nhorae up\n")) >= 1 or text.rstrip(" ").endswith("\\")


@pytest.mark.parametrize(
    "piece",
    ["horae ", "systemctl ", "systemctl horae ", "kill ", "horae --home ", "# ", " #", "\\\n", "a", "/", "horae."],
)
def test_no_text_takes_long(piece: str) -> None:
    text = "horae\n" + (piece * 1_048_576)[:1_048_576]
    began = time.process_time()
    findings(text)
    assert time.process_time() - began < 5.0  # what goes over itself takes minutes
