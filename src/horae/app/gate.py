"""The gate: how faces that serve others reach use cases. `wiring/gate.py` has the one that is real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from horae.core.access import Who

Json = dict[str, Any]


class Gate(Protocol):
    """Blocking, and safe to be called from several threads at once."""

    def do(self, who: Who, name: str, /, **args: Any) -> Json:
        """A use case of `app/usecases.py` in the name of somebody, by the gateway where one runs. Raises Problem."""
        ...

    def once(self, who: Who, key: str | None, name: str, /, **args: Any) -> Json:
        """The same; with a key, one that was done before is not done again, and answered as it was then."""
        ...

    def who(self, secret: str, face: str) -> Who | None:
        """Whose secret this is: a token's, or a session's; None when nobody's (any more)."""
        ...

    def hook(self, name: str, headers: Mapping[str, str], body: bytes) -> Json | str | None:
        """A call of a hook, by its signature alone: the answer; a word where it starts nothing; None when it is not good."""
        ...

    def metrics(self) -> Json:
        """What the home's gateways have counted, and how it stands (see `app/metrics.py`). Whoever asks has been let in."""
        ...

    def live(self, run_id: str) -> Json | None:
        """What a live run has printed and done until now: `stdout`, `stderr`, `events`, `live`; None when nobody watches it."""
        ...

    def changes(self, after: int, limit: int) -> Sequence[Json]:
        """Entries of the journal behind a number: `id`, `at`, `actor`, `what`, `job_id`, `job`, `key`, `run_id`."""
        ...

    def newest(self) -> int:
        """The number of the newest entry of the journal."""
        ...
