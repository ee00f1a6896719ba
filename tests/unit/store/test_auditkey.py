"""The key pair of a home: made once, readable by its owner alone, and the same for everybody who asks."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from horae.errors import Trouble
from horae.store.auditkey import AuditKey, genuine


def test_it_is_made_when_it_is_first_needed(tmp_path: Path) -> None:
    path = tmp_path / "audit.key"
    key = AuditKey(str(path))
    assert key.known is None
    assert not path.exists(), "asking whether there is one makes none"
    public = key.public
    assert public.startswith("ed25519:")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["audit.key"]
    assert AuditKey(str(path)).known == key.known == public


def test_a_signature_is_that_of_the_key_over_the_data(tmp_path: Path) -> None:
    key, other = AuditKey(str(tmp_path / "one")), AuditKey(str(tmp_path / "two"))
    signature = key.sign(b"data")
    assert key.genuine(key.public, b"data", signature)
    assert AuditKey(key.path).sign(b"data") == signature
    for public, data, said in (
        (key.public, b"datb", signature),
        (other.public, b"data", signature),
        (key.public, b"data", other.sign(b"data")),
        (key.public, b"data", "nonsense"),
        (key.public, b"data", "é"),
        ("ed25519:nonsense", b"data", signature),
        (key.public.removeprefix("ed25519:"), b"data", signature),
        ("", b"data", signature),
    ):
        assert not genuine(public, data, said)


def test_all_who_are_first_at_once_get_one_key(tmp_path: Path) -> None:
    path = str(tmp_path / "audit.key")
    with ThreadPoolExecutor(8) as pool:
        publics = set(pool.map(lambda _: AuditKey(path).public, range(16)))
    assert len(publics) == 1
    assert os.listdir(tmp_path) == ["audit.key"]


def test_what_cannot_be_used_is_said(tmp_path: Path) -> None:
    path = tmp_path / "audit.key"
    path.write_text("nonsense")
    with pytest.raises(Trouble, match="holds no key"):
        _ = AuditKey(str(path)).public
    assert path.read_text() == "nonsense", "nobody's key is written over"
    pem = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(pem)
    with pytest.raises(Trouble, match="another kind"):
        _ = AuditKey(str(path)).known
    with pytest.raises(Trouble, match="cannot be made"):
        _ = AuditKey(str(tmp_path / "no folder" / "audit.key")).public
