"""What a provider said instead of an answer, and how a run ends by it if it does: held, or failed where waiting is no use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from horae.agents.stop import Stop

AGAIN_MAX_S = 86_400.0
KEYS_FAULT = (401, 403)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Of one call. `status` is None where there was no answer at all."""

    model: str
    status: int | None
    says: str
    after_s: float | None = None

    @property
    def passes(self) -> bool:
        """Whether the same call may be answered later."""
        return self.status is None or self.status in (408, 429) or self.status >= 500

    @property
    def words(self) -> str:
        """A sentence."""
        return f"the provider of {self.model} {f'answered {self.status}' if self.status else 'did not answer'}: {self.says}"

    def stop(self, state: str | None = None) -> Stop:
        """The end that it means."""
        if self.passes:
            return Stop("held", self.words, again_s=self.after_s, state=state)
        hint = "; look at the provider's `key` in config.toml and at that secret" if self.status in KEYS_FAULT else ""
        return Stop("failed", self.words + hint)


def after_s(header: str | None, now: datetime) -> float | None:
    """How long `Retry-After` says to wait: seconds, or a date. None: it says nothing that can be used."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            at = parsedate_to_datetime(header)
        except ValueError:
            return None
        seconds = (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds()
    return min(max(seconds, 0.0), AGAIN_MAX_S) if seconds == seconds else None  # noqa: PLR0124  NaN
