"""The key pair of a home: an Ed25519 key in `state/audit.key`, made when it is first needed.

It signs what leaves the home (exports) and what the journal lost by intention (markers of pruned entries). The private
half never leaves its file, which is the owner's alone. The public half is written `ed25519:` and 32 bytes in base64.

This module is loaded by name, and only when something is signed or checked: its library takes memory and time to load.
"""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from tempfile import mkstemp

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from horae.errors import Trouble

KIND = "ed25519:"
RESTORE = "restore it from a backup; without it, move it away: the next export or pruning makes another one"


class AuditKey:
    """The key pair of one home; `core.chain.Signer`. Nothing is read or made before it is needed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._key: Ed25519PrivateKey | None = None

    @property
    def known(self) -> str | None:
        """The public half, None when there is no key yet. Makes none."""
        if self._key is None:
            self._key = read_key(self.path)
        return None if self._key is None else public_of(self._key)

    @property
    def public(self) -> str:
        """The public half; makes the key when there is none."""
        return self.known or public_of(self._made())

    def sign(self, data: bytes) -> str:
        """The signature over the data, in base64; makes the key when there is none."""
        key = self._key if self.known is not None and self._key is not None else self._made()
        return b64encode(key.sign(data)).decode()

    @staticmethod
    def genuine(public: str, data: bytes, signature: str) -> bool:
        """Whether that public key made that signature over the data."""
        return genuine(public, data, signature)

    def _made(self) -> Ed25519PrivateKey:
        """Make the key, complete before it has its name: of several who are first, one makes it."""
        key = Ed25519PrivateKey.generate()
        try:
            handle, part = mkstemp(prefix=".audit-", dir=os.path.dirname(self.path))  # readable by its owner alone
            try:
                os.write(handle, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
                os.fsync(handle)
            finally:
                os.close(handle)
            try:
                os.link(part, self.path)  # unlike a rename it never takes the place of somebody else's, who was first
            except FileExistsError:
                pass
            finally:
                os.unlink(part)
        except OSError as error:
            message = f"{self.path} cannot be made: {error.strerror}"
            raise Trouble(message, "check the folder's owner, its mode and the disk", file=self.path) from error
        self._key = read_key(self.path)
        if self._key is None:
            raise Trouble(f"{self.path} was taken away while it was made", "try again", file=self.path)
        return self._key


def read_key(path: str) -> Ed25519PrivateKey | None:
    """The key that lies there, or None."""
    try:
        with open(path, "rb") as file:
            text = file.read()
        loaded = load_pem_private_key(text, password=None)
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise Trouble(message, "check its owner and mode: it is yours alone", file=path) from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise Trouble(f"{path} holds no key that can be used ({error})", RESTORE, file=path) from error
    if not isinstance(loaded, Ed25519PrivateKey):
        raise Trouble(f"{path} holds a key of another kind than Ed25519", RESTORE, file=path)
    return loaded


def public_of(key: Ed25519PrivateKey) -> str:
    """The public half as text."""
    return KIND + b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


def genuine(public: str, data: bytes, signature: str) -> bool:
    """Whether that key made that signature over the data. What is no key or no signature did not."""
    try:
        key = Ed25519PublicKey.from_public_bytes(b64decode(public.removeprefix(KIND), validate=True))
        key.verify(b64decode(signature, validate=True), data)
    except (ValueError, NotBase64, InvalidSignature):
        return False
    return public.startswith(KIND)
