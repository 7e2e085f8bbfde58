"""Asks the child process that evaluates CEL rules (`cel_child`), and is never stalled or ended by one.

One child for an API, started at the first rule and again when it has ended; one object at a time. A rule at which the
child ends, by its limit of CPU or of memory, is not known; one that did it twice is not asked again. The decisions are
in `cel_judge`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any

import msgspec

from paddock.apiserver.objects import cel_judge
from paddock.apiserver.objects.cel_judge import NOTHING, Judgement, Problem, Verdict
from paddock.apiserver.schema.cel_definitions import explain_definition
from paddock.apiserver.schema.cel_rules import Rule, find_rules
from paddock.apiserver.schema.field_errors import MOST_CAUSES
from paddock.apiserver.schema.resource import ServedResource
from paddock.kube.errors import TooManyRequests
from paddock.kube.meta import Manifest

CPU_SECONDS = 2.0
"""Of one object. A thousand rules on an object of some kilobytes take a tenth of it."""
MOST_STALLS = 2
MOST_WAITING = 64
_WALL_SECONDS = 60.0
"""For a machine that gives the child no CPU, and one that does not end by itself."""
_MOST_SCHEMAS = 64
_MOST_STALLED = 1_000
_LINE_BYTES = 1024 * 1024
_LIBRARIES = ("cel_expr_python", "google.protobuf")


def is_installed() -> bool:
    """Whether there is a CEL: the extra `cel` of this package."""
    try:
        return all(importlib.util.find_spec(name) is not None for name in _LIBRARIES)
    except ModuleNotFoundError:  # no `google` at all
        return False


_Line = dict[str, Any]


class CelRunner:
    """`cpu_seconds` for one object; `installed` says whether there is a CEL."""

    def __init__(self, *, cpu_seconds: float = CPU_SECONDS, installed: Callable[[], bool] = is_installed) -> None:
        self._cpu_seconds, self._installed = cpu_seconds, installed
        self._found = False
        self._child: asyncio.subprocess.Process | None = None
        self._endings: set[asyncio.Future[int]] = set()
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._sent: dict[int, ServedResource] = {}
        self._next = 0
        self._stalls: Counter[str] = Counter()

    @property
    def pid(self) -> int | None:
        """Of the child, if one runs."""
        return self._child.pid if self._child is not None and self._child.returncode is None else None

    def _has_cel(self) -> bool:
        # Looked for again while it is missing: who installs it needs not start the cluster again.
        self._found = self._found or self._installed()
        return self._found

    async def check(self, served: ServedResource, new: Manifest, old: Manifest | None) -> Judgement:
        """What the rules of its kind say of an object, which was `old` before."""
        if not served.rules:
            return NOTHING
        if not self._has_cel():
            return cel_judge.explain_absence(served.resource.kind, served.rules)
        skipped = [index for index, rule in enumerate(served.rules) if self._stalls[rule.text] >= MOST_STALLS]
        verdicts = [Verdict("unknown", index, (), self._explain_stall()) for index in skipped]
        lines, whole = await self._ask(served, {"new": new, "old": old, "skip": skipped})
        verdicts += [
            Verdict(line["verdict"], line["rule"], cel_judge.read_path(line["path"]), line["detail"], line.get("value"))
            for line in lines
            if "verdict" in line
        ]
        if not whole:
            verdicts += self._blame(served.rules, _last_begun(lines))
        return cel_judge.judge(served.rules, verdicts)

    def _blame(self, rules: Sequence[Rule], at: int) -> list[Verdict]:
        """What was not evaluated, as the child ended at rule `at`; -1: before it began."""
        if at >= 0:
            if len(self._stalls) > _MOST_STALLED:
                self._stalls.clear()
            self._stalls[rules[at].text] += 1
        later = [
            Verdict("unknown", index, (), "the process that evaluates rules ended before it came to it")
            for index in range(at + 1, len(rules))
        ]
        return [Verdict("unknown", at, (), self._explain_stall()), *later] if at >= 0 else later

    def _explain_stall(self) -> str:
        return f"it took more than {self._cpu_seconds:g} s of CPU or too much memory"

    async def check_definition(self, crd: Mapping[str, Any]) -> Judgement:
        """What is wrong with the rules of a definition that has no other errors."""
        versions = crd["spec"]["versions"]
        schemas = [version["schema"]["openAPIV3Schema"] for version in versions]
        paths = [f"spec.versions[{index}].schema.openAPIV3Schema" for index in range(len(schemas))]
        wrong = chain.from_iterable(map(explain_definition, schemas, paths))
        if causes := tuple(islice(wrong, MOST_CAUSES)):
            return Judgement(causes)
        rules = [find_rules(schema) for schema in schemas]
        if not any(rules):
            return NOTHING
        if not self._has_cel():
            return cel_judge.explain_absence(crd["spec"]["names"]["kind"], [rule for some in rules for rule in some])
        return await self._compile(cel_judge.find_expressions(versions, rules))

    async def _compile(self, expressions: Sequence[cel_judge.Expression]) -> Judgement:
        wanted = [{"text": one.text, "type": one.type, "optional": one.optional} for one in expressions]
        lines, whole = await self._ask(None, {"compile": wanted})
        problems = [Problem(line["problem"], line["detail"], line["surely"]) for line in lines if "problem" in line]
        if not whole:
            problems.append(Problem(max(_last_begun(lines), 0), self._explain_stall(), surely=False))
        return cel_judge.judge_definition(expressions, problems)

    async def _ask(self, served: ServedResource | None, request: dict[str, Any]) -> tuple[list[_Line], bool]:
        """The child's lines, and whether that is all of them. `TooManyRequests` where many wait."""
        if self._waiting >= MOST_WAITING:
            raise TooManyRequests(f"{MOST_WAITING} objects wait for their rules; try again later", retry_after=1)
        self._waiting += 1
        try:
            async with self._turn:
                return await self._exchange(served, request)
        finally:
            self._waiting -= 1

    async def _exchange(self, served: ServedResource | None, request: dict[str, Any]) -> tuple[list[_Line], bool]:
        """As `_ask`. Where lines are missing, the child is gone afterwards."""
        lines: list[_Line] = []
        whole = False
        try:
            async with asyncio.timeout(_WALL_SECONDS):
                child = await self._start()
                assert child.stdin is not None and child.stdout is not None
                child.stdin.write(msgspec.json.encode(self._with_schema(served, request)) + b"\n")
                await child.stdin.drain()
                while line := await child.stdout.readline():
                    answer = msgspec.json.decode(line)
                    if "done" in answer:
                        whole = True
                        break
                    lines.append(answer)
        except (TimeoutError, OSError, ValueError):
            pass
        finally:
            # Also where the client has gone meanwhile: the answer would be taken for the next one's.
            if not whole:
                self._end()
        return lines, whole

    def _with_schema(self, served: ServedResource | None, request: dict[str, Any]) -> dict[str, Any]:
        if served is None:
            return request
        number = next((number for number, one in self._sent.items() if one is served), None)
        if number is not None:
            return {**request, "id": number}
        forget = len(self._sent) >= _MOST_SCHEMAS
        if forget:
            self._sent.clear()
        self._next += 1
        self._sent[self._next] = served
        return {**request, "id": self._next, "schema": served.schema, "forget": forget}

    async def _start(self) -> asyncio.subprocess.Process:
        if self._child is None or self._child.returncode is not None:
            self._end()
            self._sent.clear()
            self._child = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "paddock.apiserver.objects.cel_child", str(self._cpu_seconds),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
                limit=_LINE_BYTES, start_new_session=True,
            )  # fmt: skip
            assert self._child.stdout is not None
            if not await self._child.stdout.readline():
                raise OSError("the process that evaluates rules did not start")
        return self._child

    def _end(self) -> None:
        if self._child is not None:
            with suppress(ProcessLookupError):
                self._child.kill()
            ending = asyncio.ensure_future(self._child.wait())
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)
            self._child = None

    async def close(self) -> None:
        """Ends the child, and waits until it is gone."""
        self._end()
        await asyncio.gather(*self._endings)


def _last_begun(lines: Sequence[_Line]) -> int:
    """The rule at which the lines end; -1 if none was begun."""
    return next((line["at"] for line in reversed(lines) if "at" in line), -1)
