"""Those who receive, on loopback: a mail server and an HTTP server that behave as they are told, each on a thread."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

WAIT_S = 10


@contextlib.contextmanager
def serving(factory: Callable[[], asyncio.BaseProtocol], context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Serve on a loop of its own; the port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def begin() -> asyncio.Server:
        return await loop.create_server(factory, "127.0.0.1", 0, ssl=context)

    server = asyncio.run_coroutine_threadsafe(begin(), loop).result(WAIT_S)

    async def end() -> None:
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await loop.shutdown_default_executor()

    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(WAIT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(WAIT_S)
        loop.close()


# --- mail


@dataclass
class MailServer:
    """What it answers, and what it has got."""

    rcpt: dict[str, str] = field(default_factory=dict)
    data: str = "250 OK queued as 4711"
    drop: bool = False
    hang: threading.Event | None = None
    got: list[Envelope] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    port: int = 0

    async def handle_RCPT(self, server: Any, session: Any, envelope: Envelope, address: str, options: Any) -> str:
        self.commands.append(f"RCPT {address}")
        answer = self.rcpt.get(address, "250 OK")
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:
        self.got.append(envelope)
        if self.hang is not None:
            await asyncio.get_running_loop().run_in_executor(None, self.hang.wait, WAIT_S)
        if self.drop:
            server.transport.abort()
        return self.data

    @contextlib.contextmanager
    def running(self, tls: ssl.SSLContext | None = None, *, at_once: bool = False) -> Iterator[MailServer]:
        starttls = None if at_once else tls
        with serving(lambda: SMTP(self, tls_context=starttls, data_size_limit=None), tls if at_once else None) as port:
            self.port = port
            yield self


# --- HTTP


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class HttpServer:
    """Answers with these bytes; `then` says what happens behind them."""

    answer: bytes = b"HTTP/1.1 204 No Content\r\n\r\n"
    then: str = "close"
    """close, hang, `drip` (a byte now and then), or `early`: it closes without reading the request."""
    answers: list[bytes] = field(default_factory=list)
    """Of the first requests."""
    got: list[Request] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def running(self, tls: ssl.SSLContext | None = None) -> Iterator[HttpServer]:
        def factory() -> asyncio.BaseProtocol:
            reader = asyncio.StreamReader(limit=64 * 1024 * 1024)
            return asyncio.StreamReaderProtocol(reader, self._serve)

        with serving(factory, tls) as port:
            self.port = port
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.then == "early":
                return
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.rstrip().split("\r\n")
            headers = {
                name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
            }
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            method, path, _ = first.split(" ")
            self.got.append(Request(method, path, headers, body))
            writer.write(self.answers.pop(0) if self.answers else self.answer)
            await writer.drain()
            while self.then == "drip":
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.03)
            if self.then == "hang":
                await reader.read()  # until whoever asked goes away
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def says(status: str, body: str = "", **headers: str) -> bytes:
    """An answer."""
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    lines += [f"Content-Length: {len(body.encode())}", "Connection: close", "", body]
    return "\r\n".join(lines).encode()


def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A self-made certificate for this machine: a server's context, and the file that whoever trusts it names."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "cert.pem", folder / "key.pem"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return context, public
