"""The process that evaluates CEL rules: `python -m paddock.apiserver.objects.cel_child`, a line of JSON for a request.

A rule is a program that somebody wrote, in a library of C++: it runs here, beside the API, within so much memory and so
much CPU time for each request; past them the kernel ends the process, and `objects.cel_runner` starts another. It says
which rule it begins, so that the one that does not end has a name. What it answers of a rule is one of: failed, error
(Kubernetes refuses that too), kept (failed, of a value that has not changed), unknown. Rule: whatever is not surely as
in Kubernetes is unknown.
"""

from __future__ import annotations

import re
import resource
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from paddock.apiserver.objects.cel_functions import FUNCTIONS, NOT_EVALUATED, Function
from paddock.apiserver.schema.cel_rules import (
    MOST_CHARACTERS,
    MOST_CHECKS,
    MOST_RULES,
    Check,
    Rule,
    Ruled,
    compares,
    compares_plainly,
    find_rules,
    joins_lists,
    plan_checks,
    read_rules,
)
from paddock.apiserver.schema.cel_values import Order, Unreadable, ValueReading
from paddock.kube.validation.field_errors import Key

MEMORY_BYTES = 2**30
MOST_TOLD = 200
"""Verdicts of one object that are told."""
_MESSAGE_BYTES = 5 * 1024
_DETAIL = 1_000
_SURE_ERRORS = (
    (re.compile(r'Key not found in map : "?(.*?)"?$', re.S), r"no such key: \1"),
    (re.compile(r"divide by zero"), "division by zero"),
    (re.compile(r"modulus by zero"), "modulus by zero"),
    (re.compile(r"(?:unsigned )?integer overflow"), "integer overflow"),
    (re.compile(r"Index error: index=(-?\d+) size=\d+"), r"index out of bounds: \1"),
    (re.compile(r"^INVALID_ARGUMENT: (cannot convert .*)", re.S), r"type conversion error: \1"),
    (re.compile(r"^OUT_OF_RANGE: (.*)", re.S), r"\1"),
)
"""What the library says of an error that the same rule has in Kubernetes, and Kubernetes' words for it."""
_OTHERWISE = re.compile(
    r"\.getMilliseconds\(|%(?:\.\d+)?e(?=.*\.format\()|\bofNonZeroValue\((?=.*timestamp)|\.sum\((?=.*\bduration\()",
    re.S,
)
"""What the library computes otherwise than Kubernetes' does: of durations, `%e`, the zero of a time, an empty sum."""
_WRITES = re.compile(r"\bstring\(|\.format\(")
_GO_DURATION = re.compile(r"([+-]?)((?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+)")
_GO_PART = re.compile(r"(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)")
_NANOSECONDS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}

Outcome = Literal["true", "failed", "error", "unknown"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a rule was not compiled. `surely`: Kubernetes does not take it either."""

    text: str
    surely: bool


class Rules:
    """Compiles rules, each once, and asks them."""

    def __init__(self) -> None:
        self._env = cel.NewEnv(
            variables=dict.fromkeys(("self", "oldSelf", "previous"), cel.Type.DYN),
            extensions=[
                ext_strings.ExtStrings(), ext_optional.ExtOptional(), ext_bindings.ExtBindings(), ext_math.ExtMath(),
            ],
            functions=list(_declare(FUNCTIONS)),
        )  # fmt: skip
        self._compiled: dict[tuple[str, str], Any] = {}

    def compile(self, text: str, wanted: str = "BOOL") -> Any:
        """The expression, or the `Problem` with it."""
        if (text, wanted) not in self._compiled:
            if len(self._compiled) > 10 * MOST_RULES:
                self._compiled.clear()
            self._compiled[text, wanted] = self._compile(text, wanted)
        return self._compiled[text, wanted]

    def _compile(self, text: str, wanted: str) -> Any:
        if len(text) > MOST_CHARACTERS:
            return Problem(f"it has more than {MOST_CHARACTERS} characters", surely=False)
        try:
            expression = self._env.compile(text)
        except (RuntimeError, ValueError, MemoryError) as error:
            said = str(error).removesuffix(" [INVALID_ARGUMENT]").removeprefix("INVALID_ARGUMENT: ")
            return Problem(said[:_DETAIL], surely="Syntax error" in said)
        found = str(expression.return_type())
        if found not in (wanted, "DYN") and not found.startswith(("ERROR", "optional")):
            return Problem(f"must evaluate to a {wanted.lower()}, and evaluates to {found.lower()}", surely=True)
        return expression

    def ask(self, text: str, values: Mapping[str, Any]) -> tuple[Outcome, str]:
        if found := _OTHERWISE.search(text):
            return "unknown", f"{found[0]} gives another value in Kubernetes"
        expression = self.compile(text)
        if isinstance(expression, Problem):
            return "unknown", expression.text.partition("\n")[0]
        try:
            result = expression.eval(data=values)
            if result.type() == cel.Type.BOOL:
                return "true" if result.value() else "failed", ""
            said = str(result.value())
        except (RuntimeError, ValueError, TypeError, MemoryError) as error:
            said = str(error) or type(error).__name__
        return judge_error(said)

    def say(self, text: str, values: Mapping[str, Any]) -> str:
        """What a `messageExpression` gives; empty where Kubernetes takes the message instead."""
        expression = self.compile(text, "STRING")
        if isinstance(expression, Problem):
            return ""
        try:
            result = expression.eval(data=values)
            said = str(result.value()).strip() if result.type() == cel.Type.STRING else ""
        except (RuntimeError, ValueError, TypeError, MemoryError):
            return ""
        return "" if "\n" in said or len(said.encode()) > _MESSAGE_BYTES else said


def judge_error(said: str) -> tuple[Outcome, str]:
    """What an error of the library is: one of the rule with this value, or one that says nothing of Kubernetes."""
    if NOT_EVALUATED in said:
        return "unknown", said.partition(NOT_EVALUATED)[2][:_DETAIL]
    for pattern, words in _SURE_ERRORS:
        if found := pattern.search(said):
            return "error", found.expand(words)[:_DETAIL]
    return "unknown", said[:_DETAIL]


def _declare(functions: Iterable[Function]) -> Iterator[Any]:
    by_name: dict[str, list[Function]] = {}
    for one in functions:
        by_name.setdefault(one.name, []).append(one)
    for name, overloads in by_name.items():
        yield cel.FunctionDecl(
            name,
            [
                cel.Overload(
                    f"kubernetes_{name}_{'_'.join(one.parameters)}", _TYPES[one.result],
                    [_TYPES[parameter] for parameter in one.parameters], is_member=one.member, impl=one.call,
                )
                for one in overloads
            ],
        )  # fmt: skip


_TYPES = {
    "bool": cel.Type.BOOL, "int": cel.Type.INT, "double": cel.Type.DOUBLE, "string": cel.Type.STRING,
    "list": cel.Type.LIST, "map": cel.Type.MAP, "dyn": cel.Type.DYN,
}  # fmt: skip


def read_time(format: str, text: str) -> Any:
    """The value of a text of this format, as the library takes it. Raises `Unreadable`."""
    try:
        if format == "duration":
            return _read_duration(text)
        time = Timestamp()
        time.FromJsonString(f"{text}T00:00:00Z" if format == "date" else text.replace(" ", "T").upper())
    except ValueError as error:
        raise Unreadable(f"{text[:100]!r} is not read as a {format}") from error
    return time


def _read_duration(text: str) -> Any:
    found = _GO_DURATION.fullmatch(text)
    if found is None:
        raise ValueError(text)
    count = sum(int(float(number) * _NANOSECONDS[unit]) for number, unit in _GO_PART.findall(found[2]))
    duration = Duration()
    duration.FromNanoseconds(-count if found[1] == "-" else count)
    return duration


def judge_check(rules: Rules, check: Check) -> tuple[Outcome, str]:
    """The verdict on one value. Where the order of sets can matter, it must be the same in each order."""
    outcome, detail, unordered = _ask_in(rules, check, "given")
    text = check.rule.text
    if not unordered or outcome == "unknown" or not compares(text):
        return outcome, detail
    if joins_lists(text):
        return "unknown", "it compares or joins lists without order (sets or maps)"
    in_order = _ask_in(rules, check, "sorted")
    if compares_plainly(text):
        return in_order[:2]
    if in_order[0] != outcome or _ask_in(rules, check, "reversed")[0] != outcome:
        return "unknown", "it compares lists without order (sets or maps)"
    return outcome, detail


def _ask_in(rules: Rules, check: Check, order: Order) -> tuple[Outcome, str, bool]:
    reading = ValueReading(read_time, order)
    try:
        values = _read_values(check, reading)
    except (Unreadable, RecursionError) as error:
        return "unknown", str(error), False
    # The library's times are in UTC, and Kubernetes writes one with the offset that it came with.
    if reading.met_offset and _WRITES.search(check.rule.text):
        return "unknown", "it may write a time with its offset", False
    outcome, detail = rules.ask(wrap(check.rule, has_old=check.old is not None), values)
    return outcome, detail, reading.met_unordered


def _read_values(check: Check, reading: ValueReading) -> dict[str, Any]:
    values = {"self": reading.read(check.value, check.schema, root=check.is_root)}
    if check.rule.of_change and check.old is not None:
        old = reading.read(check.old, check.schema, root=check.is_root)
        values["previous" if check.rule.optional_old else "oldSelf"] = old
    return values


def wrap(rule: Rule, *, has_old: bool) -> str:
    """The rule as it is compiled: with `optionalOldSelf` its `oldSelf` is an optional value."""
    if not rule.optional_old:
        return rule.text
    # The line break ends a comment.
    return f"cel.bind(oldSelf, optional.{'of(previous)' if has_old else 'none()'}, ({rule.text}\n))"


@dataclass(frozen=True, slots=True)
class Known:
    """A schema that was sent: its parts with rules, and the number of each rule."""

    parts: tuple[Ruled, ...]
    numbers: Mapping[Rule, int]


def read_schema(schema: Any) -> Known:
    numbers: dict[Rule, int] = {}
    for number, rule in enumerate(find_rules(schema)):
        numbers.setdefault(rule, number)
    return Known(read_rules(schema), numbers)


def judge_object(rules: Rules, known: Known, request: Mapping[str, Any]) -> Iterator[Any]:
    """The lines that answer a request: `at` for each rule that is begun, a verdict for each value that is not right."""
    skipped = set(request.get("skip") or ())
    by_rule: dict[int, list[Check]] = {}
    for number, check in enumerate(plan_checks(known.parts, request["new"], request.get("old"))):
        if number >= MOST_CHECKS:
            yield {
                "verdict": "unknown",
                "rule": known.numbers.get(check.rule, 0),
                "path": [],
                "detail": "too many values",
            }
            break
        by_rule.setdefault(known.numbers.get(check.rule, MOST_RULES), []).append(check)
    told = 0
    for index, checks in sorted(by_rule.items()):
        if index in skipped or index >= MOST_RULES or told >= MOST_TOLD:
            continue
        yield {"at": index}
        for check in checks:
            outcome, detail = judge_check(rules, check)
            if outcome == "true":
                continue
            yield _build_verdict(rules, index, check, outcome, detail)
            told += 1
            # Once is enough of what is not known; of wrong values as many as an answer names.
            if outcome == "unknown" or told >= MOST_TOLD:
                break


def _build_verdict(rules: Rules, index: int, check: Check, outcome: str, detail: str) -> dict[str, Any]:
    if outcome == "failed":
        if check.rule.message_text:
            detail = rules.say(check.rule.message_text, _read_values(check, ValueReading(read_time)))
        if check.unchanged and not check.rule.of_change:
            outcome = "kept"
    path = [{"key": step} if isinstance(step, Key) else step for step in check.path]
    value = check.value[:_DETAIL] if isinstance(check.value, str) else check.value
    shown = None if isinstance(value, dict | list) else value
    return {"verdict": outcome, "rule": index, "path": path, "detail": detail, "value": shown}


def compile_all(rules: Rules, wanted: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """A line for each expression that has a problem."""
    for index, one in enumerate(wanted):
        text = one["text"]
        yield {"at": index}
        found = rules.compile(text, one["type"])
        # An `oldSelf` that is an optional value has methods that another has not: only its grammar is sure then.
        if isinstance(found, Problem) and not (one.get("optional") and not found.surely):
            yield {"problem": index, "detail": found.text, "surely": found.surely}


def main(limit_seconds: float) -> None:
    """Answers requests until its input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    rules = Rules()
    schemas: dict[int, Known] = {}
    _say({"ready": True})
    for line in sys.stdin.buffer:
        # Seconds of CPU, not of a clock: a busy machine makes no rule wrong.
        signal.setitimer(signal.ITIMER_PROF, limit_seconds)
        request = msgspec.json.decode(line)
        if "compile" in request:
            lines = compile_all(rules, request["compile"])
        else:
            if "schema" in request:
                if request.get("forget"):
                    schemas.clear()
                schemas[request["id"]] = read_schema(request["schema"])
            lines = judge_object(rules, schemas[request["id"]], request)
        for answer in lines:
            _say(answer)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _say({"done": True})


def _say(answer: Mapping[str, Any]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(float(sys.argv[1]))
