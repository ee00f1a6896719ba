"""Which model a job uses and from where that comes, and what is in the way of using it. Pure.

1. *pin*: `model:` in the job's file. A person wrote it, and only a person changes it.
2. *frozen*: what the default was when the job was made. A default that is changed later counts for new jobs only, so that
   no job is moved to a dearer model unseen; `horae model use NAME JOB` moves it.
3. Nothing: there was no default when the job was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from horae.core.agent import AgentSettings, Model, Provider, default_model
from horae.core.agentfacts import unknown_model
from horae.core.agentform import KINDS
from horae.errors import NotFound

Source = Literal["pin", "frozen"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """The model of a job."""

    name: str
    source: Source
    model: Model
    provider: Provider


@dataclass(frozen=True, slots=True)
class Using:
    """A job that works with an agent, as far as its model goes."""

    id: str
    slug: str
    pin: str | None
    frozen: str | None
    has_own: bool = False
    """Whether its agent is a program that chooses by itself."""

    @property
    def model(self) -> str | None:
        """What it uses, whether that is there or not."""
        return self.pin or self.frozen

    @property
    def source(self) -> Source | None:
        """From where."""
        return "pin" if self.pin else "frozen" if self.frozen else None

    @property
    def needs_one(self) -> bool:
        """Whether it has none, and cannot do without."""
        return self.model is None and not self.has_own


def resolve(job: Using, settings: AgentSettings) -> Resolved | str | None:
    """The model, or a sentence that says why there is none and what to do; None where none is needed."""
    name = job.model
    if name is None:
        if not job.needs_one:
            return None
        if not settings.models:
            return "it has no model, and config.toml has none: write [providers.NAME] and [models.NAME]"
        use = default_model(settings) or next(iter(settings.models))
        return f"it has no model: there was no default when it was made (`horae model use {use} {job.slug} --confirm`)"
    if name not in settings.models:
        change = f"edit {job.slug} --model NAME" if job.pin else f"model use NAME {job.slug} --confirm"
        return f"{unknown_model(name, settings.models)}; `horae {change}`"
    model = settings.models[name]
    return Resolved(name, job.source or "frozen", model, settings.providers[model.provider])


def model_named(name: str, settings: AgentSettings) -> Model:
    """A model that a person names. Raises NotFound, with the nearest names."""
    if name not in settings.models:
        hint = "`horae model` lists them" if settings.models else "write [providers.NAME] and [models.NAME] first"
        raise NotFound(unknown_model(name, settings.models), hint, model=name, models=[*settings.models][:100])
    return settings.models[name]


def provider_problems(
    provider: Provider, missing: Callable[[str], bool], absent: Callable[[str], bool]
) -> tuple[str, ...]:
    """What is in the way of using a provider. `missing`: a secret has no value; `absent`: a library is not installed."""
    found: list[str] = []
    if provider.key is not None and missing(provider.key):
        found.append(f"its key {provider.key} has no value (`horae secrets set {provider.key}`)")
    kind = KINDS[provider.kind]
    if absent(kind.module):
        found.append(f"its kind {provider.kind} needs a library that is not installed (pip install '{kind.package}')")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Moves:
    """What becomes of jobs that shall use another model."""

    moved: tuple[Using, ...]
    pinned: tuple[Using, ...]
    same: tuple[Using, ...]


def moves(jobs: Iterable[Using], to: str) -> Moves:
    """Which of them move, which are pinned, and which use it already."""
    found = tuple(jobs)
    free = tuple(job for job in found if job.pin is None)
    return Moves(
        tuple(job for job in free if job.frozen != to),
        tuple(job for job in found if job.pin is not None),
        tuple(job for job in free if job.frozen == to),
    )
