"""What the settings say about models and agents: every form, every slip, and nothing that shows a secret."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.agent import (
    AgentSettings,
    DayLimits,
    McpServer,
    Model,
    NamedAgent,
    Price,
    Provider,
    default_model,
)
from horae.core.agentform import KINDS, OF_AGENTS, TABLES, agents_of, secret_names_of
from horae.core.secretname import holds_secret, name_problem
from horae.core.serviceurl import is_own, service_url
from horae.errors import Invalid

WHOLE = """
model = "large"
[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:8080/v1/"
[providers.cloud]
kind = "anthropic"
key = "ANTHROPIC_API_KEY"
[models.small]
provider = "local"
id = "acme/small-1"
input = 0.15
output = 1
cached = 0.05
max_output = 4096
context = "128k"
[models.large]
provider = "cloud"
id = "claude-x"
[agents]
model = "small"
default = "hermes"
tools = ["files", "mcp", "mcp:notes"]
disabled_toolsets = ["shell", "mcp:web"]
turns = 50
tokens = "500k"
usd = 1
[agents.hermes]
kind = "acp"
command = ["hermes", "acp"]
env = {OPENAI_BASE_URL = "{base_url}", OPENAI_API_KEY = "{key}", NOTE = "{\\"a\\": 1}"}
pass_env = ["LANG"]
secrets = ["GITHUB_TOKEN", "GITHUB_TOKEN"]
[agents.claude]
kind = "command"
command = ["claude", "-p", "{prompt}"]
api = "anthropic"
[mcp.notes]
command = ["mcp-notes"]
env = {A = "1"}
secrets = ["NOTES_KEY"]
tools = ["search"]
[mcp.web]
url = "https://mcp.example.org/sse?project=7"
secrets = ["WEB_TOKEN"]
[budget]
tokens_day = "2M"
usd_day = 5.5
"""


def read(text: str) -> AgentSettings:
    return agents_of(tomllib.loads(text))


def test_every_key_is_read() -> None:
    assert all(key in tomllib.loads(WHOLE) for key in TABLES)
    assert all(key in tomllib.loads(WHOLE)["agents"] for key in OF_AGENTS)
    found = read(WHOLE)
    assert found == AgentSettings(
        providers={
            "local": Provider("local", "openai", "http://127.0.0.1:8080/v1", None),
            "cloud": Provider("cloud", "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        },
        models={
            "small": Model("small", "local", "acme/small-1", Price(0.15, 1.0, 0.05), 4096, 128_000),
            "large": Model("large", "cloud", "claude-x"),
        },
        model="large",
        fleet="small",
        agent="hermes",
        tools=("files", "mcp:notes", "mcp:web"),
        disabled=("shell", "mcp:web"),
        named={
            "hermes": NamedAgent(
                "hermes",
                "acp",
                ("hermes", "acp"),
                {"OPENAI_BASE_URL": "{base_url}", "OPENAI_API_KEY": "{key}", "NOTE": '{"a": 1}'},
                ("LANG",),
                ("GITHUB_TOKEN",),
            ),
            "claude": NamedAgent("claude", "command", ("claude", "-p", "{prompt}"), api="anthropic"),
        },
        mcp={
            "notes": McpServer("notes", ("mcp-notes",), None, {"A": "1"}, ("NOTES_KEY",), ("search",)),
            "web": McpServer("web", (), "https://mcp.example.org/sse?project=7", {}, ("WEB_TOKEN",)),
        },
        day=DayLimits(2_000_000, 5.5),
        turns=50,
        tokens=500_000,
        usd=1.0,
    )
    assert default_model(found) == "small"
    assert secret_names_of(found) == ("ANTHROPIC_API_KEY", "GITHUB_TOKEN", "NOTES_KEY", "WEB_TOKEN")


def test_nothing_said_is_what_the_values_have_by_default() -> None:
    assert read("") == AgentSettings()
    assert secret_names_of(read("")) == ()


LOCAL = '[providers.p]\nkind = "openai"\nbase_url = "http://localhost/v1"\n'
SMALL = f'{LOCAL}[models.small]\nprovider = "p"\nid = "x"\n'
MISTAKES = [  # the text, the key in full, what is said, what the hint says
    ("providers = 1", "providers", "must be a table", "[providers.NAME]"),
    ('[providers."Open AI"]\nkind = "openai"', 'providers."Open AI"', "is not a name", "lower-case"),
    ("[providers]\np = 1", "providers.p", "must be a table", "[providers.p]"),
    ("[providers.p]", "providers.p.kind", "is missing", "openai"),
    ('[providers.p]\nkind = "opnai"', "providers.p.kind", "there is no 'opnai'", "did you mean openai"),
    ("[providers.p]\nkind = [1]", "providers.p.kind", "must be the name", "quotes"),
    ('[providers.p]\nkind = "openai"', "providers.p.key", "asks for a key", "horae secrets set"),
    (f'{LOCAL}base_ur = "x"', "providers.p.base_ur", "not a key", "did you mean base_url"),
    (f"{LOCAL}key = 1", "providers.p.key", "must be the name of a secret", "horae secrets set"),
    (f'{LOCAL}key = ""', "providers.p.key", "is no name of a secret", "horae secrets set"),
    (f'{SMALL}[models."gpt-4.1"]', 'models."gpt-4.1"', "is not a name", "goes to `id`"),
    ('[models.m]\nid = "x"', "models.m.provider", "is missing", "provider ="),
    ('[models.m]\nprovider = "p"\nid = "x"', "models.m.provider", "there is no 'p'", "[providers.NAME]"),
    (f'{LOCAL}[models.m]\nprovider = "p"', "models.m.id", "is missing", "calls it"),
    (f'{SMALL}[models.n]\nprovider = "q"\nid = "x"', "models.n.provider", "there is no 'q'", "p"),
    (f'{LOCAL}[models.m]\nprovider = "p"\nid = "a\\u0000"', "models.m.id", "cannot be seen", ""),
    (f"{SMALL}input = 1", "models.small.output", "is missing", "neither"),
    (f"{SMALL}cached = 1", "models.small.input", "is missing", "neither"),
    (f"{SMALL}input = -1\noutput = 1", "models.small.input", "from 0 on", "quotes"),
    (f"{SMALL}input = nan\noutput = 1", "models.small.input", "from 0 on", "quotes"),
    (f"{SMALL}input = 1\noutput = inf", "models.small.output", "from 0 on", "quotes"),
    (f"{SMALL}input = true\noutput = 1", "models.small.input", "from 0 on", "quotes"),
    (f'{SMALL}max_output = "many"', "models.small.max_output", "a number of tokens", "500k"),
    (f'{SMALL}context = "0.0001k"', "models.small.context", "a number of tokens", "500k"),
    (f"{SMALL}context = 1.5", "models.small.context", "a number of tokens", "500k"),
    (f"{SMALL}context = true", "models.small.context", "a number of tokens", "500k"),
    ('model = "small"', "model", "there is no 'small'", "[models.NAME]"),
    (f'model = "smal"\n{SMALL}', "model", "there is no 'smal'", "did you mean small"),
    (f'{SMALL}[agents]\nmodel = "big"', "agents.model", "there is no 'big'", "a model is one of small"),
    ("agents = 1", "agents", "must be a table", "[agents]"),
    ('[agents]\ndefault = "hermes"', "agents.default", "there is no 'hermes'", "builtin"),
    ('[agents]\ntool = ["files"]', "agents.tool", "not a key", "did you mean tools"),
    ('[agents]\ntools = "files"', "agents.tools", "a list of toolsets", 'tools = ["files"'),
    ('[agents]\ntools = ["file"]', "agents.tools", "no toolset 'file'", "did you mean files"),
    ('[agents]\ntools = ["mcp:x"]', "agents.tools", "no toolset 'mcp:x'", "did you mean mcp"),
    ('[agents]\ndisabled_toolsets = ["shel"]', "agents.disabled_toolsets", "no toolset 'shel'", "did you mean shell"),
    ("[agents]\nturns = 0", "agents.turns", "from 1 to", ""),
    ("[agents]\ntokens = 0", "agents.tokens", "from 1 on", "2M"),
    ("[agents]\nusd = 0", "agents.usd", "more than 0", "without quotes"),
    ('[agents]\nusd = "1"', "agents.usd", "more than 0", "without quotes"),
    ('[agents.model]\nkind = "acp"', "agents.model", "no agent can be called model", "another name"),
    ('[agents.builtin]\nkind = "acp"', "agents.builtin", "no agent can be called builtin", "another name"),
    ('[agents.true]\nkind = "acp"', "agents.true", "no agent can be called true", "another name"),
    ('[agents."A B"]\nkind = "acp"', 'agents."A B"', "is not a name", "lower-case"),
    ('[agents.a]\ncommand = ["x"]', "agents.a.kind", "is missing", "acp"),
    ('[agents.a]\nkind = "acp"', "agents.a.command", "is missing", "hermes"),
    ('[agents.a]\nkind = "builtin"\ncommand = ["x"]', "agents.a.kind", "always there", "acp"),
    ('[agents.a]\nkind = "apc"\ncommand = ["x"]', "agents.a.kind", "there is no 'apc'", "did you mean acp"),
    ('[agents.a]\nkind = "acp"\ncommand = "hermes acp"', "agents.a.command", "a list of words", "hermes"),
    ('[agents.a]\nkind = "acp"\ncommand = []', "agents.a.command", "names no program", "hermes"),
    ('[agents.a]\nkind = "acp"\ncommand = [" "]', "agents.a.command", "names no program", "hermes"),
    ('[agents.a]\nkind = "acp"\ncommand = ["x\\u0000"]', "agents.a.command", "NUL", ""),
    ('[agents.a]\nkind = "acp"\ncommand = ["x", "{prompt}"]', "agents.a.command", "{prompt}", "ACP"),
    ('[agents.a]\nkind = "command"\ncommand = ["x"]\nenv = {A = "{prompt}"}', "agents.a.env", "{prompt}", "leave"),
    ('[agents.a]\nkind = "acp"\ncommand = ["x", "{baseurl}"]', "agents.a.command", "{baseurl}", "mean {base_url}"),
    ('[agents.a]\nkind = "acp"\ncommand = ["x"]\nenv = {A = "{Key}"}', "agents.a.env", "{Key}", "mean {key}"),
    ('[agents.a]\nkind = "acp"\ncommand = ["x"]\nenv = {A = 1}', "agents.a.env.A", "must be text", "quotes"),
    ('[agents.a]\nkind = "acp"\ncommand = ["x"]\nenv = {"a b" = "1"}', 'agents.a.env."a b"', "no name", "letters"),
    ('[agents.a]\nkind = "acp"\ncommand = ["x"]\npass_env = ["A=1"]', "agents.a.pass_env", "no name", "letters"),
    ('[agents.a]\nkind = "acp"\ncommand = ["x"]\nenv = {HORAE_X = "1"}', "agents.a.env.HORAE_X", "HORAE_", "another"),
    ('[agents.a]\nkind = "acp"\ncommand = ["x"]\nsecrets = ["A"]\nenv = {A = "1"}', "agents.a.env.A", "secrets", "one"),
    ('[agents.a]\nkind = "acp"\ncommand = ["x"]\napi = "openapi"', "agents.a.api", "no 'openapi'", "openai"),
    ("[mcp.x]", "mcp.x", "no command and no url", "command ="),
    ('[mcp.x]\ncommand = ["a"]\nurl = "https://a.example"', "mcp.x", "both a command and a url", "url ="),
    ('[mcp.x]\nurl = "https://a.example"\nenv = {A = "1"}', "mcp.x.env", "is for programs", "leave it out"),
    ('[mcp.x]\nurl = "https://a.example"\nsecrets = ["A", "B"]', "mcp.x.secrets", "more than one", "one"),
    ('[mcp.x]\ncommand = ["a"]\ntools = "t"', "mcp.x.tools", "a list of names of tools", "search"),
    ('[mcp.x]\ncmd = ["a"]', "mcp.x.cmd", "not a key", "did you mean command"),
    ("budget = 5", "budget", "must be a table", "tokens_day"),
    ('[budget]\ntokens = "2M"', "budget.tokens", "not a key", "did you mean tokens_day"),
    ('[budget]\ntokens_day = "2T"', "budget.tokens_day", "a number of tokens", "2M"),
    ("[budget]\nusd_day = -1", "budget.usd_day", "more than 0", "0.50"),
]


@pytest.mark.parametrize(("text", "key", "says", "hint"), MISTAKES)
def test_a_mistake_names_its_key_and_what_to_do(text: str, key: str, says: str, hint: str) -> None:
    with pytest.raises(Invalid) as caught:
        read(text)
    assert caught.value.details["key"] == key
    assert says in caught.value.message
    assert hint in (caught.value.hint or "")


KEYS_PASTED = [
    "sk-proj-a1b2c3d4e5f6a7b8c9d0e1f2",
    "sk-short",
    "gsk_a1b2c3d4e5f6",
    "AIzaSyA1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6e7",
    "hf_abcdefghijklmnop",
    "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
    "Bearer abcdefgh",
    "hunter2hunter2hunter2x",
]


@pytest.mark.parametrize("pasted", KEYS_PASTED)
@pytest.mark.parametrize(
    "text",
    [
        f'{LOCAL}key = "PASTED"',
        '[agents.a]\nkind = "acp"\ncommand = ["x"]\nsecrets = ["PASTED"]',
        '[mcp.x]\ncommand = ["x"]\nsecrets = ["A", "PASTED"]',
    ],
)
def test_a_key_in_the_place_of_its_name_is_refused_and_not_shown(text: str, pasted: str) -> None:
    with pytest.raises(Invalid) as caught:
        read(text.replace("PASTED", pasted))
    error = caught.value
    assert "horae secrets set" in (error.hint or "")
    assert pasted not in f"{error.message} {error.hint} {error.details}"


LONG = KEYS_PASTED[0]


@pytest.mark.parametrize(
    "text",
    [
        f'model = "{LONG}"\n{SMALL}',
        f'[agents]\ntools = ["{LONG}"]',
        f'[agents]\ndefault = "{LONG}"',
        f'[providers.p]\nkind = "{LONG}"',
        f'[providers.p]\nkind = "openai"\nbase_url = "https://{LONG}@api.example.org"',
        f'[providers.p]\nkind = "openai"\nbase_url = "https://api.example.org/?key={LONG}"',
        f'[mcp.x]\nurl = "https://api.example.org/?key={LONG}"',
        f'[agents.a]\nkind = "acp"\ncommand = ["x", "--key={LONG}"]',
        f'[agents.a]\nkind = "acp"\ncommand = ["x"]\nenv = {{A = "{LONG}"}}',
        f'[mcp.x]\ncommand = ["x", "{LONG}"]',
    ],
)
def test_a_key_anywhere_else_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        read(text)
    assert LONG not in f"{caught.value.message} {caught.value.hint} {caught.value.details}"


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "A", "_x", "my_openai_key", "TOKEN2", "X" * 100, "SKY_KEY"])
def test_names_of_secrets_are_taken(name: str) -> None:
    assert name_problem(name) is None


@pytest.mark.parametrize("name", ["", "a-b", "1A", "A B", "Ä", "A\n", "X" * 101])
def test_what_is_no_name_is_not(name: str) -> None:
    assert name_problem(name)


def test_ordinary_text_holds_no_secret() -> None:
    assert not holds_secret("--base-url={base_url} sk-learn task-1 disk-usage")


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://api.example.org/v1/", "https://api.example.org/v1"),
        ("HTTPS://API.example.org", "HTTPS://API.example.org"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("http://192.168.1.7/v1", "http://192.168.1.7/v1"),
        ("http://100.64.3.4", "http://100.64.3.4"),
        ("http://ollama:11434", "http://ollama:11434"),
        ("http://nas.local", "http://nas.local"),
        (" https://a.example ", "https://a.example"),
    ],
)
def test_addresses_of_services(url: str, kept: str) -> None:
    assert service_url("k", url) == kept


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.org", "http://8.8.8.8/v1", "http://2130706433/", "http://localhost.example.org",
        "ftp://a.example", "a.example/v1", "https://", "https://a:b@c.example", "https://a@c.example", "https://a/?x",
        "https://a/#x", "https://a:99999/", "https://a\\@b/", "https://a b/", "https://a/\nb", "https://" + "a" * 3000,
        "http://224.0.0.1/", "", "  ", 5, None, ["https://a"],
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_service(url: object) -> None:
    with pytest.raises(Invalid) as caught:
        service_url("providers.p.base_url", url)
    assert caught.value.details["key"] == "providers.p.base_url"


def test_hosts_that_only_look_like_ours_are_not() -> None:
    assert not any(map(is_own, ("a.b", "127.0.0.1.example", "1.1.1.1", "224.0.0.1", "2130706433", "x.locals")))
    assert all(map(is_own, ("localhost", "a.localhost", "127.1.2.3", "10.0.0.1", "fd00::1", "::ffff:10.0.0.1")))


def test_ten_thousand_models_are_read() -> None:
    models = {f"m{number}": {"provider": "p", "id": f"x/{number}"} for number in range(10_000)}
    values = {"providers": {"p": {"kind": "openai", "base_url": "http://localhost"}}, "models": models}
    assert len(agents_of({**values, "model": "m9999"}).models) == 10_000
    with pytest.raises(Invalid, match="there is no 'mm'") as caught:
        agents_of({**values, "model": "mm"})
    assert len(caught.value.hint or "") < 400


# --- any value in any place

LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.binary(max_size=4),
    st.sampled_from(["openai", "acp", "small", "p", "mcp", "files", "2M", "https://a.example", "A", "builtin"]),
)  # fmt: skip
FIELDS = (
    "kind", "base_url", "key", "provider", "id", "input", "output", "cached", "max_output", "context", "model", "default",
    "tools", "disabled_toolsets", "turns", "tokens", "usd", "command", "env", "pass_env", "secrets", "api", "url",
    "tokens_day", "usd_day", "small", "p", "a",
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(TABLES), VALUES))
def test_any_value_is_read_or_refused_by_its_key(values: dict[str, Any]) -> None:
    judged(values)


@given(st.data())
def test_any_value_in_the_place_of_a_good_one_is_read_or_refused(data: st.DataObject) -> None:
    """A whole config with one thing replaced: what stands around it is sound, so that every place is come to."""
    values: dict[str, Any] = tomllib.loads(WHOLE)
    place: Any = values
    while True:
        key = data.draw(st.sampled_from(sorted(place)))
        if not isinstance(place[key], dict) or not place[key] or data.draw(st.integers(0, 3)) == 0:
            break
        place = place[key]
    place[key] = data.draw(VALUES)
    judged(values)


def judged(values: dict[str, Any]) -> None:
    found: AgentSettings | None
    try:
        found = agents_of(values)
    except Invalid as error:
        key, found = str(error.details["key"]), None
    else:
        key = ""
    if found is None:
        assert key.split(".")[0] in TABLES
    else:
        assert all(provider.kind in KINDS for provider in found.providers.values())
        assert all(model.provider in found.providers for model in found.models.values())
        assert found.model is None or found.model in found.models
        assert found.fleet is None or found.fleet in found.models
