"""Laws of the guards over generated texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from horae.core.guard import FINDINGS_MAX, findings, scan
from horae.core.guardfamilies import DOES, Where
from horae.core.unseen import named, unseen, without_unseen

WHERE = st.sampled_from(("prompt", "script", "skill", "command", "data"))
WORDS = st.sampled_from([
    "horae", "up", "hermes", "gateway", "restart", "kill", "systemctl", "rm", "-rf", "/", "~", "curl", "-d", "@.env",
    "https://x.example", "$API_KEY", "ignore", "all", "previous", "instructions", "run", "never", "`", "```", "\n", ".", ";",
    "\u200b", "\u202e", "\\\n", "'", '"', "+", "[", "(", ",", "authorized_keys", ">>", "tell", "the", "user",
])  # fmt: skip
TEXT = st.one_of(
    st.text(max_size=300), st.lists(WORDS, max_size=40).map(" ".join), st.lists(WORDS, max_size=40).map("".join)
)


@given(TEXT, WHERE)
def test_any_text_is_taken_and_findings_are_in_bounds(text: str, where: Where) -> None:
    found = scan(text, where)
    assert found == scan(text, where)
    assert len(found) <= 2 * FINDINGS_MAX * len(DOES)
    assert [item.severity for item in found] == sorted(item.severity for item in found)  # what refuses comes first
    for item in found:
        assert 1 <= item.line <= text.count("\n") + 1
        assert item.found
        assert "\n" not in item.found
    if where == "data":
        assert all(item.severity == "warn" for item in found)


@given(TEXT)
def test_a_command_on_a_line_of_its_own_is_found_below_any_prompt(text: str) -> None:
    if "`" in text or "~~~" in text or text.endswith("\\"):
        return  # a block of code may begin there, or the line go on
    assert any(item.family == "lifecycle" for item in scan(f"{text}\n\nhorae up\n", "prompt"))


@given(TEXT)
def test_a_script_is_refused_for_what_a_scan_refuses(text: str) -> None:
    refused = [item for item in scan(text, "script") if item.severity == "refuse"]
    assert list(findings(text)) == refused[:FINDINGS_MAX]


@given(TEXT)
def test_nothing_unseen_is_left(text: str) -> None:
    assert list(unseen(named(text))) == []
    seen = without_unseen(text)
    assert len(seen) + len(list(unseen(text))) == len(text)
    assert seen.count("\n") == text.count("\n")
