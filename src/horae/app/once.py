"""Do what a request asks for once, however often it is sent with the same key.

What was refused was not done, so its key is free again. After a trouble of the machine, such as a database that is lost
while it commits, nobody knows: the key stays taken, as when the process dies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from horae.errors import Invalid, Problem, Refused, Trouble
from horae.ports import Home

Json = dict[str, Any]
KEY_CHARS_MAX = 200
UNKEPT = ("add_token", "make_link", "sign_in")  # their answers hold a secret, which is kept nowhere


def once(
    verbs: Mapping[str, Callable[..., Json]], home: Home, *, scope: str, key: str, verb: str, args: Mapping[str, Any]
) -> Json:
    """The answer of the verb; of a request that was done before, the answer that it had. Raises Conflict, Invalid."""
    if not 0 < len(key) <= KEY_CHARS_MAX or not key.isprintable():
        raise Invalid(f"an idempotency key has 1 to {KEY_CHARS_MAX} printable characters", None, field="key")
    if verb in UNKEPT:
        raise Refused("what this answers is kept nowhere, so it takes no idempotency key", "leave it out")
    digest = sha256(json.dumps([verb, args], sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    kept = home.store.transact(lambda tx: tx.doors.once.begin(scope, key, digest))
    if kept is not None:
        return json.loads(kept)
    try:
        answer = verbs[verb](home, **args)
    except Trouble:
        raise  # it may have been done
    except Problem:
        home.store.transact(lambda tx: tx.doors.once.forget(scope, key))
        raise
    home.store.transact(lambda tx: tx.doors.once.done(scope, key, json.dumps(answer, ensure_ascii=False)))
    return answer
