"""A toolset whose calls are told, and are not carried out before a person has agreed where the job asks for that."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import ApprovalRequired, ModelRetry, RunContext, ToolFailed
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset

from horae.agents.tell import TEXT_CHARS_MAX
from horae.agents.tools.place import Place, as_text, digest_of
from horae.clock import SystemClock

TOO_LONG = f"a person is asked before it, and is shown at most {TEXT_CHARS_MAX} characters: make it shorter"


@dataclass(slots=True)
class Agreed:
    """What a person has said yes to: each holds for one call, which must be the very same when it is carried out."""

    digests: set[str] = field(default_factory=set[str])

    def take(self, digest: str) -> bool:
        """Whether this call was meant; it is used up then."""
        found = digest in self.digests
        self.digests.discard(digest)
        return found


@dataclass
class Told(WrapperToolset[Place]):
    """`name` is the toolset's, by which it is granted."""

    name: str = ""
    asks: bool = False
    agreed: Agreed = field(default_factory=Agreed)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Place], tool: ToolsetTool[Place]
    ) -> Any:
        """One call, and what came of it."""
        digest = digest_of(name, tool_args)
        if self.asks and not self.agreed.take(digest):
            if len(as_text(tool_args)) > TEXT_CHARS_MAX:
                raise ctx.deps.refuse(name, tool_args, TOO_LONG)
            raise ApprovalRequired(metadata={"digest": digest})
        tell, clock = ctx.deps.tell, SystemClock()
        began = clock.reading().steady_s
        tell.event("tool", id=ctx.tool_call_id, tool=name, toolset=self.name, args=as_text(tool_args))

        def ended(text: str, *, ok: bool) -> None:
            ms = round((clock.reading().steady_s - began) * 1000)
            tell.event("result", id=ctx.tool_call_id, ok=ok, text=text, ms=ms)

        try:
            found = await super().call_tool(name, tool_args, ctx, tool)
        except (ToolFailed, ModelRetry) as error:
            ended(error.message, ok=False)
            raise
        except BaseException as error:
            ended(f"{type(error).__name__}: {error}", ok=False)
            raise
        ended(as_text(found), ok=True)
        return found


def toolset_of(tool: str, names: Collection[str], owners: dict[str, str]) -> str:
    """The granted toolset that a tool belongs to: a built-in one, else the server whose name it begins with."""
    if tool in owners:
        return owners[tool]
    return next((name for name in names if name.startswith("mcp:") and tool.startswith(prefix(name[4:]))), "")


def prefix(server: str) -> str:
    """Before the names of a server's tools."""
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in server) + "_"
