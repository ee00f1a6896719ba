"""What no agent should be told to do to a machine: delete it, open it to others, read its secrets and send them out. Pure.

Each function looks at one piece of text (a line of code, or a sentence) and says what it holds. What is definite has one
meaning only: `rm -rf ~`, `curl -d @~/.ssh/id_rsa …`. What also has an honest one is not: `rm -rf ~/x`, a key in an address.
`rm -rf /tmp/build` and a key that is sent to the service that it is named for are nothing at all.

Searches begin at words that are rare, and look at a bounded stretch behind them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from horae.core.guardcommands import Hit, program_of

STRETCH = 400  # characters of a command that are looked at
WORDS_MAX = 40
CALLS_MAX = 50  # of one program on one line
BEFORE_CHARS = 120  # of what is piped into a call

_ARG = re.compile(r"[^\s\"'`,|&()\[\]<>;]+")
_ENDS = re.compile(r"[;\n|]|&&")
_CALL_ENDS = re.compile(r"[;\n]|&&")
_SLASHES = re.compile(r"/(?:\.?/)+")

# --- deleting

_TOP = r"(?:bin|boot|dev|etc|home|lib(?:32|64)?|opt|proc|root|run|sbin|srv|sys|usr|var)"
_BELOW = r"(?:usr/(?:bin|lib|local|sbin|share)|var/(?:lib|log|spool|mail)|(?:home|Users)/[^/*]{1,64})"
_HOME = r"(?:~|\$\{?HOME\}?|%USERPROFILE%)"
_DOOMED = re.compile(
    rf"(?:/|/(?:{_TOP}|{_BELOW})|{_HOME}(?:/\.(?:ssh|gnupg|horae|hermes|openclaw))?|\$\{{?(?:HORAE|HERMES)_HOME\}}?)/?(?:\.?\*)?"
)
_PRECIOUS = re.compile(rf"(?:{_HOME}/\S+|/(?!tmp/|var/tmp/|dev/shm/)(?:{_TOP}|Users)/\S+)")
_DISK = re.compile(r"(?:of=)?/dev/(?:sd|hd|vd|nvme|mmcblk|disk|xvd)\w*")
_RECURSIVE = re.compile(r"-[A-Za-z]*[rR][A-Za-z]*|--recursive")
_FIND_FILTERS = frozenset(
    ("-name", "-iname", "-path", "-regex", "-mtime", "-mmin", "-size", "-newer", "-user", "-empty")
)
_DELETE_SAID = re.compile(
    rf"(?<!\w)(?:delete|remove|wipe|erase|destroy|purge)\s(?:[\w'’-]{{1,20}}\s){{0,6}}[\"'`]?({_HOME}(?:/\S{{0,80}})?|/(?:{_TOP})(?:/\S{{0,80}})?|/)"
    r"(?=[\s\"'`.,;!?)]|\Z)",
    re.IGNORECASE,
)


def destroys(text: str, *, tight: bool) -> Hit | None:
    """Deleting the root, a home, or a folder of the system; overwriting a disk."""
    milder: Hit | None = None
    for start, words in _calls(text, ("rm", "find", "dd", "shred", "wipefs", "mkfs")):
        hit = _destroying(text, start, words)
        if hit is not None and hit.definite:
            return hit
        milder = milder or hit
    if milder is None and tight:
        said = _DELETE_SAID.search(text)
        if said is not None and not said[1].startswith(("/tmp", "/var/tmp")):  # noqa: S108  named, not used
            return Hit(*said.span(), said[0], definite=False, said=True)
    return milder


def _destroying(text: str, start: int, words: list[str]) -> Hit | None:
    program, args = program_of(words[0]), words[1:]
    end = min(len(text), start + STRETCH)
    shown = " ".join(words)
    if program == "rm":
        if not any(_RECURSIVE.fullmatch(word) for word in args):
            return None
        for word in args:
            if _DOOMED.fullmatch(_SLASHES.sub("/", word)):
                return Hit(start, _behind(text, start, word, end), shown)
        precious = next((word for word in args if _PRECIOUS.fullmatch(_SLASHES.sub("/", word))), None)
        return None if precious is None else Hit(start, _behind(text, start, precious, end), shown, definite=False)
    if program == "find":
        doomed = bool(args) and _DOOMED.fullmatch(args[0]) is not None and "-delete" in args
        return (
            Hit(start, _behind(text, start, "-delete", end), shown)
            if doomed and _FIND_FILTERS.isdisjoint(args)
            else None
        )
    disk = next((word for word in args if _DISK.fullmatch(word) and (program != "dd" or word.startswith("of="))), None)
    return None if disk is None else Hit(start, _behind(text, start, disk, end), shown)


def _behind(text: str, start: int, word: str, most: int) -> int:
    """Where a word ends that stands behind there."""
    at = text.find(word, start + 1, most)
    return most if at < 0 else at + len(word)


def _calls(text: str, programs: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Each call of one of these programs, with its words."""
    for program in programs:
        at, calls = text.find(program), 0
        while at >= 0 and calls < CALLS_MAX:
            before, behind = text[at - 1 : at], text[at + len(program) : at + len(program) + 1]
            if not (before.isalnum() or before in ("-", "_", ".")) and (not behind.isalnum() or program == "mkfs"):
                stretch = text[at : at + STRETCH]
                ends = _ENDS.search(stretch)
                words = _ARG.findall(stretch if ends is None else stretch[: ends.start()])[:WORDS_MAX]
                if words and words[0].split(".")[0] == program:
                    calls += 1
                    yield at, words
            at = text.find(program, at + len(program))


# --- letting others in

_KEYS_WRITTEN = re.compile(
    r"(?:>>?|\btee\b(?:\s-\w{1,8})?|\bssh-copy-id\b.{0,200}?|\b(?:cp|mv|install|sed\s-i)\b.{1,200}?)\s{0,8}[\"']?[^\s\"'|;]{0,100}authorized_keys2?\b"
    r"|\bopen\(\s{0,4}[^)\s]{0,100}authorized_keys2?[\"'],\s{0,4}[\"'](?:a|w|r\+)"
)
_KEYS_SAID = re.compile(
    r"(?<!\w)(?:add|append|write|insert|put|install|copy)\s[^\n]{0,120}?authorized_keys", re.IGNORECASE
)
_SUDO_WRITTEN = re.compile(
    r"(?:>>?|\btee\b(?:\s-\w{1,8})?|\b(?:cp|mv|install|sed\s-i)\b.{1,200}?)\s{0,8}[\"']?/etc/sudoers(?:\.d/[^\s\"']{0,100})?"
    r"|\bopen\(\s{0,4}[\"']/etc/sudoers[^\"']{0,100}[\"'],\s{0,4}[\"'](?:a|w|r\+)|\bvisudo\b(?!\s{1,4}-c)"
    r"|\bNOPASSWD:\s{0,4}ALL\b"
)
_SUDO_SAID = re.compile(
    r"(?<!\w)(?:add|append|write|insert|put|edit|change|modify)\s[^\n]{0,120}?/etc/sudoers", re.IGNORECASE
)


def lets_in(text: str, *, tight: bool) -> Hit | None:
    """Writing to the keys that may log in."""
    return _either(text, "authorized_keys", _KEYS_WRITTEN, _KEYS_SAID if tight else None)


def lets_rule(text: str, *, tight: bool) -> Hit | None:
    """Writing to who may become root."""
    for mark in ("/etc/sudoers", "visudo", "NOPASSWD"):
        hit = _either(text, mark, _SUDO_WRITTEN, _SUDO_SAID if tight else None)
        if hit is not None:
            return hit
    return None


def _either(text: str, mark: str, code: re.Pattern[str], said: re.Pattern[str] | None) -> Hit | None:
    """What is written around a word: as code that says so wherever it stands, or as a sentence."""
    at, looks = text.find(mark), 0
    while at >= 0 and looks < WORDS_MAX:
        begin = max(0, at - STRETCH // 2)
        stretch = text[begin : at + len(mark) + STRETCH // 4]
        found = code.search(stretch)
        if found is not None:
            return Hit(begin + found.start(), begin + found.end(), found[0].strip(), said=True)
        found = said.search(stretch) if said is not None else None
        if found is not None:
            return Hit(begin + found.start(), begin + found.end(), found[0], said=True)
        at, looks = text.find(mark, at + len(mark)), looks + 1
    return None


# --- reading secrets

_KEY_FILE = (
    r"(?:(?:~|\$\{?HOME\}?|/root|/home/[\w.-]{1,40}|/Users/[\w.-]{1,40})?/?(?:"
    r"\.ssh/(?:id_\w{1,20}(?!\.pub)|[\w.-]{0,40}\.pem)|\.aws/credentials|\.netrc|\.pgpass|\.pypirc|\.git-credentials|"
    r"\.docker/config\.json|\.kube/config|\.gnupg/\S{0,60}|\.config/gcloud/\S{0,60}|"
    r"\.(?:hermes|openclaw)/(?:\.env|auth\.json)|\.horae/secrets\.toml)|/etc/g?shadow-?)"
)
_ENV_FILE = r"(?:[\w~./$-]{0,80}/)?(?:\.env(?:\.(?:local|production|prod))?|\.npmrc|secrets\.toml)"
_READERS = r"cat|less|more|head|tail|bat|xxd|od|strings|base64|cp|scp|grep|awk|sed|source"
_ANY_SECRET = rf"(?:{_KEY_FILE}|(?P<mild>{_ENV_FILE}))(?![\w/-]|\.\w)"
_READ = re.compile(rf"(?<![\w-])(?:{_READERS})\s(?:[^\n;|]{{0,120}}?[\s\"'])??[\"']?(?P<file>{_ANY_SECRET})")
_READ_SAID = re.compile(
    r"(?<!\w)(?:read|show|print|display|open|dump|send|upload|post|e-?mail|forward|copy|output|reveal|include|give\s+me)\s"
    rf"[^\n]{{0,100}}?(?<![\w.])(?P<file>{_ANY_SECRET})",
    re.IGNORECASE,
)
_KEYS_ASKED = re.compile(
    r"(?<!\w)(?:print|show|send|upload|post|dump|reveal|e-?mail|output|list)\s(?:me\s)?(?:all\s)?(?:of\s)?(?:the|your|my|its|their)?\s?"
    r"(?:environment variables|env vars|api keys?|secrets|credentials|passwords|private keys?)(?!\w)",
    re.IGNORECASE,
)
SECRET_MARKS = (
    ".ssh/", ".aws/", ".netrc", ".pgpass", ".pypirc", ".npmrc", ".git-credentials", ".docker/", ".kube/", ".gnupg/", "gcloud",
    ".hermes/", ".openclaw/", ".env", "secrets", "shadow", "environment variables", "env vars", "api key", "credentials",
    "passwords", "private key",
)  # fmt: skip


def reads_secrets(text: str, *, tight: bool) -> Hit | None:
    """Reading a file that holds secrets; or asking for them."""
    short = text[: 16 * STRETCH]
    for pattern in (_READ, *((_READ_SAID,) if tight else ())):
        found = pattern.search(short)
        if found is not None:
            said = pattern is _READ_SAID
            return Hit(*found.span(), found[0], definite=found["mild"] is None, said=said)
    asked = _KEYS_ASKED.search(short) if tight else None
    return None if asked is None else Hit(*asked.span(), asked[0], definite=False, said=True)


# --- sending them out

_SENSITIVE = re.compile(r"\$\{?(\w{0,60}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)\w{0,20})\}?")
_WHOLE_ENV = re.compile(r"\$\(\s{0,4}(?:env|printenv|export|set)\s{0,4}[|)]|\b(?:env|printenv)\s{0,4}\|[^\n;]{0,80}\Z")
_FILE_SENT = re.compile(
    r"(?:@|<\s{0,2}|\$\((?:cat|base64)[^)]{0,20}\s|(?:-T|--upload-file|--post-file|--body-file)[\s=])[\"']?"
    rf"(?:{_KEY_FILE}|{_ENV_FILE})(?![\w-])"
)
_PIPED = re.compile(
    rf"(?:\b(?:env|printenv)|(?:{_KEY_FILE}|{_ENV_FILE})[\"']?)\s{{0,4}}\|\s{{0,4}}(?:base64[^|]{{0,20}}\|\s{{0,4}})?\Z"
)
_CARRIES = re.compile(r"[$@<]|-T|-file")  # without any of these a call carries only what stands there
_STANDARD_INPUT = re.compile(r"@-|@/dev/stdin|-T\s?-(?=\s)")
_URL = re.compile(r"(?:https?|ftp)://(?:[^\s/@\"']{0,80}@)?([\w.-]{1,120})")
_BARE_URL = re.compile(r"(?<=\s)[\"']?([\w.-]{1,120}\.[a-z]{2,12}|localhost|\d{1,3}(?:\.\d{1,3}){3})(?=[:/?])")
_HEADER = re.compile(
    r"(?:-H|--header)[\s=]{0,4}(?:\"[^\"]{0,200}\"|'[^']{0,200}')|--(?:oauth2-bearer|user)[\s=]\S{0,120}|-u\s\S{0,120}"
)
_DATA_OPTION = re.compile(
    r"(?:-d|--data(?:-\w{1,12})?|-F|--form|--json|-T|--upload-file|--post-(?:data|file)|--body-\w{4})[\s=@\"'{]"
)
_HERE = re.compile(r"localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|[\w.-]+\.(?:local|internal|localhost)")
_VENDORS = {
    "openai": ("openai", "azure", "openrouter"), "anthropic": ("anthropic",), "github": ("github",), "gitlab": ("gitlab",),
    "aws": ("aws", "amazon"), "google": ("google",), "gemini": ("google",), "azure": ("azure", "microsoft"),
    "slack": ("slack",), "telegram": ("telegram",), "discord": ("discord",), "stripe": ("stripe",), "twilio": ("twilio",),
    "openrouter": ("openrouter",), "mistral": ("mistral",), "groq": ("groq",), "huggingface": ("huggingface", "hf.co"),
    "npm": ("npm",), "pypi": ("pypi",), "cloudflare": ("cloudflare",), "horae": ("horae",), "hermes": ("hermes",),
}  # fmt: skip
_COMMON = frozenset((
    "api", "key", "token", "secret", "password", "passwd", "credential", "credentials", "access", "auth", "private", "my",
    "bot",
))  # fmt: skip
EXFIL = {
    "exfil_curl_url": ("curl", "url"),
    "exfil_wget_url": ("wget", "url"),
    "exfil_curl_data": ("curl", "data"),
    "exfil_wget_post": ("wget", "data"),
    "exfil_curl_auth_header": ("curl", "header"),
}
"""By family: the program, and the part of it that carries the secret."""


def sends_out(text: str, family: str) -> Hit | None:
    """A call of that program that carries a secret in that part."""
    program, part = EXFIL[family]
    milder: Hit | None = None
    at, calls = text.find(program), 0
    while at >= 0 and calls < CALLS_MAX:
        if not text[at - 1 : at].isalnum() and text[at + len(program) : at + len(program) + 1].isspace():
            calls += 1
            stretch = text[at : at + STRETCH]
            ends = _CALL_ENDS.search(stretch)
            call = stretch if ends is None else stretch[: ends.start()]
            sure = _carried(call, part, text[max(0, at - BEFORE_CHARS) : at]) if _CARRIES.search(call) else None
            hit = None if sure is None else Hit(at, at + len(call.rstrip()), call.strip(), definite=sure)
            if sure:
                return hit
            milder = milder or hit
        at = text.find(program, at + len(program))
    return milder


def _carried(call: str, part: str, before: str) -> bool | None:
    """Whether such a part of a call carries a secret: surely, perhaps, or not at all."""
    headers = [found[0] for found in _HEADER.finditer(call)]
    rest = _HEADER.sub(" ", call)
    found = _URL.search(rest) or _BARE_URL.search(rest)
    host = found[1].lower() if found is not None else ""
    if _HERE.fullmatch(host):
        return None
    has_data = _DATA_OPTION.search(rest) is not None
    if part == "header":
        looked = " ".join(headers)
    elif (part == "data") == has_data:
        looked = rest
    else:
        return None
    if part != "header" and (_FILE_SENT.search(looked) or _WHOLE_ENV.search(looked)):
        return True
    if part == "data" and _STANDARD_INPUT.search(looked) and _PIPED.search(before):
        return True
    judged = [_for_whom(name, host) for name in _SENSITIVE.findall(looked)]
    if True in judged and part != "header":
        return True
    return False if any(verdict is not None for verdict in judged) else None


def _for_whom(name: str, host: str) -> bool | None:
    """Whether a key goes to somebody else than whom it is named for: surely, perhaps, or not."""
    words = [word for word in name.lower().split("_") if word]
    for word in words:
        if word in _VENDORS:
            return None if any(alias in host for alias in _VENDORS[word]) else True
    own = [word for word in words if word not in _COMMON and len(word) > 2]
    return None if any(word in host for word in own) else False
