"""The whole REST interface is asked whatever its description allows, and what it does not, and keeps to what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.support.process import new_home
from tests.support.web import Served, served

STREAMS = {"events", "live"}  # they do not end by themselves: test_events.py reads them
UNASKED = [positive_data_acceptance]  # a name of the right form may be nobody's, a schedule may say nothing
TOO_LARGE = 413
EXAMPLES = settings(
    max_examples=6,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Any, dict[str, str]]]:
    home = new_home(tmp_path_factory.mktemp("schema") / "home")
    home.write("tides", script="hi.sh", schedule="every 1h")
    with served(home) as made:
        headers = {"authorization": f"Bearer {made.token('admin')}"}
        described = made.client(made.token("read")).get("/api/v1/openapi.json").json()
        yield made, schemathesis.openapi.from_dict(described), headers


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_the_interface_keeps_to_its_description(
    interface: tuple[Served, Any, dict[str, str]], mode: GenerationMode
) -> None:
    made, schema, headers = interface
    asked: set[str] = set()
    plain: set[str] = set()
    troubles: list[str] = []

    def ask(case: Any) -> None:
        asked.add(case.operation.definition.raw["operationId"])
        try:
            response = case.call(base_url=made.address, headers=headers, timeout=20)
            if response.status_code != TOO_LARGE:  # not among the refusals that the library knows of
                case.validate_response(response, headers=headers, excluded_checks=UNASKED)
        except (FailureGroup, Failure) as error:
            troubles.append(str(error))

    for found in schema.get_all_operations():
        operation = found.ok()
        name = operation.definition.raw["operationId"]
        if name in STREAMS:
            continue
        if mode is GenerationMode.NEGATIVE and not [*operation.iter_parameters(), *operation.body]:
            plain.add(name)  # there is nothing that could be wrong in it
            continue
        EXAMPLES(given(case=operation.as_strategy(generation_mode=mode))(ask))()
    assert not troubles, "\n\n".join(troubles[:10])
    assert len(asked | plain) >= 40, asked
    assert len(plain) < 12, plain
    assert made.gateway.process.poll() is None
    assert "fault of Horae" not in (made.home.path / "state" / "web.log").read_text(encoding="utf-8")
