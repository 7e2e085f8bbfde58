"""What the surfaces say of a state, and what each asks for: commands typed in this process, pages, a Python call."""

from __future__ import annotations

import asyncio
import io
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

import yaml

import paddock
from net.fleet import FLEET
from net.pages import show_page
from net.place import Served, mask_uids
from net.states import STATES
from paddock.cli import main
from paddock.jobs.apis.registry import KINDS

LANGUAGES = {"en": "en_US.UTF-8", "zh": "zh_CN.UTF-8"}


@dataclass(frozen=True, slots=True)
class Said:
    """An answer, as a golden has it."""

    question: str
    text: str
    requests: list[str]


@contextmanager
def variables(served: Served, language: str, *, remote: bool = False) -> Iterator[None]:
    """The environment of a user of this place: no other variable of this process is left."""
    kept = dict(os.environ)
    root = served.home.root
    set_variables({
        "PADDOCK_HOME": str(root.with_name("elsewhere") if remote else root), "HOME": str(root.parent),
        "XDG_CACHE_HOME": str(root.parent / "cache"), "PATH": "/usr/bin:/bin", "COLUMNS": "200", "NO_COLOR": "1",
        "TZ": "UTC", "LANG": LANGUAGES[language],
    })  # fmt: skip
    try:
        yield
    finally:
        set_variables(kept)


def set_variables(wanted: Mapping[str, str]) -> None:
    """No other is left. A process reads TZ once: `tzset` makes it read it again."""
    os.environ.clear()
    os.environ.update(wanted)
    time.tzset()


def type_command(served: Served, language: str, *words: str, remote: bool = False) -> Said:
    """`paddock WORDS`, with its exit code, in this process. `remote`: see `typed_elsewhere`. `~` in a word is the
    user's home."""
    root = served.home.root.parent
    given = [
        *(["--kubeconfig", str(served.home.kubeconfig)] if remote else []),
        *(each.replace("~", str(root)) for each in words),
    ]
    out, err = io.StringIO(), io.StringIO()
    served.take_requests()
    with variables(served, language, remote=remote), redirect_stdout(out), redirect_stderr(err):
        code = main.run(given)
    text = "".join((out.getvalue(), *(f"! {line}" for line in err.getvalue().splitlines(keepends=True))))
    shown = text.rstrip("\n") + (f"\n(exit code {code})" if code else "")
    return Said(mask(served, f"paddock {' '.join(given)}"), mask(served, shown), served.take_requests())


def run_again(
    served: Served, language: str, namespace: str, manifest: Mapping[str, Any], *, remote: bool = False
) -> Said:
    """`paddock run` of a job that is at once as the record has it: what it prints, and its end."""
    file = served.home.root.parent / "job.yaml"
    file.write_text(yaml.safe_dump(dict(manifest)))
    with served.emptied(namespace):
        said = type_command(served, language, "run", "~/job.yaml", "-n", namespace, remote=remote)
    return replace(said, text=sort_ranks(said.text), requests=leave_watches(said.requests))


def call_python(served: Served, language: str, namespace: str, manifest: Mapping[str, Any]) -> Said:
    """The same by `paddock.run`, with its result."""
    file = served.home.root.parent / "job.yaml"
    file.write_text(yaml.safe_dump(dict(manifest)))
    out = io.StringIO()
    served.take_requests()
    with served.emptied(namespace), variables(served, language), redirect_stdout(out), redirect_stderr(out):
        try:
            said = repr(paddock.run(file, namespace=namespace, check=False))
        except paddock.PaddockError as error:
            said = f"PaddockError: {error}"
    return Said("paddock.run(job.yaml)", sort_ranks(mask(served, f"{out.getvalue()}{said}")),
                leave_watches(served.take_requests()))  # fmt: skip


def read_page(served: Served, language: str, address: str) -> Said:
    """A page once it has read what it shows: until then it says that it still reads."""

    async def fetch() -> str:
        reader = await served.enter()
        while True:
            async with reader.get(address, headers=headers, allow_redirects=False) as answer:
                text = show_page(await answer.text())
            if not _READS.search(text):
                return text + (f"\n(status {answer.status})" if answer.status != 200 else "")
            await asyncio.sleep(0.02)

    headers = {"Accept-Language": language, "Accept-Encoding": "identity"}
    served.take_requests()
    text = served.call(fetch())
    job = _JOB.match(address)
    return Said(address, mask(served, text.replace(job[0], "JOB") if job else text), served.take_requests())


_READS = re.compile("being read from the logs|正在从日志中读取")
_JOB = re.compile(r"/jobs/[^/]+/[^/]+/[^/?]+")
"""The address of a job, which stands in each link of its pages."""
_MASKS: Mapping[str, str] = {
    r"(paddock \d+\.\d+\.\d+)\+g[0-9a-f]{8}": r"\1",
    r"127\.0\.0\.1:\d+": "127.0.0.1:PORT", r"csrf=[^&\s]+": "csrf=TOKEN",
    r"(\.tar\.gz(?:: |：))[\d.]+ KiB": r"\1N KiB",
    r"(process |进程 )\d+(, |，)[\d.]+ [MG]iB": r"\1N\2N MiB", r"\d+\.\d+( s at most, in the last| 秒（近 )": r"N\1",
}  # fmt: skip


_RACING = re.compile(r"watch=true|/log\?|/pods\?limit|GET \S+jobs\?fieldSelector")
"""What `run` asks for beside each other: whichever tells of the end first ends the others, sent or not."""


def leave_watches(requests: list[str]) -> list[str]:
    return [each for each in requests if not _RACING.search(each)]


_RANK = re.compile(r"\S+ +│ ")


def sort_ranks(text: str) -> str:
    """Lines of several ranks, which come in any order, by rank."""
    lines = text.splitlines()
    for begin, line in enumerate(lines):
        if _RANK.match(line):
            end = next((each for each in range(begin, len(lines)) if not _RANK.match(lines[each])), len(lines))
            lines[begin:end] = sorted(lines[begin:end], key=lambda line: line.partition("│")[0])
    return "\n".join(lines)


def mask(served: Served, text: str) -> str:
    """Without what each run of the tests has of its own: paths, ports."""
    text = text.replace(str(served.home.root), "~/.local/state/paddock").replace(str(served.home.root.parent), "~")
    for pattern, word in _MASKS.items():
        text = re.sub(pattern, word, text)
    return mask_uids(text)


Ask = Callable[[Served, str], Said]
"""A question, to be asked of a place in a language."""


def typed(*words: str) -> Ask:
    return lambda served, language: type_command(served, language, *words)


def typed_elsewhere(*words: str) -> Ask:
    """From another machine: the same API is a Kubernetes that a kubeconfig names, and no file of the home is there."""
    return lambda served, language: type_command(served, language, *words, remote=True)


def looked_at(address: str) -> Ask:
    return lambda served, language: read_page(served, language, address)


def list_questions(state: str) -> Iterator[Ask]:
    """All that can be asked of one state, on the laptop."""
    jobs = {str(each["metadata"]["name"]): each for each in STATES[state].jobs}
    where = ("-n", state)
    for name in jobs:
        for verb in ("explain", "describe", "doctor", "logs", "history", "compare", "outputs"):
            yield typed(verb, name, *where)
    for name in jobs if state in BUNDLED else ():
        yield lambda served, language, name=name: type_command(
            served, language, "bundle", name, *where, "-o", bundle_of(name, language)
        )
        for verb in ("explain", "doctor"):
            yield lambda served, language, name=name, verb=verb: type_command(
                served, language, verb, "--bundle", bundle_of(name, language)
            )
    last = STATES[state].jobs[-1]
    if STATES[state].ends:
        yield lambda served, language: run_again(served, language, state, last)
        yield lambda served, language: call_python(served, language, state, last)
    kinds = {str(each["metadata"]["name"]): address_of(each) for each in STATES[state].jobs}
    for name, kind in kinds.items():
        for page in (*PAGES, *(MORE_PAGES if state in BUNDLED else ())):
            yield looked_at(f"/jobs/{state}/{kind}/{name}{page}")


def bundle_of(name: str, language: str) -> str:
    return f"~/{name}-{language}.bundle.tar.gz"


def list_questions_elsewhere(state: str) -> Iterator[Ask]:
    """The same of a command line that reaches the place as a Kubernetes."""
    where = ("-n", state)
    for each in STATES[state].jobs:
        for verb in ("explain", "describe", "doctor"):
            yield typed_elsewhere(verb, str(each["metadata"]["name"]), *where)
    if STATES[state].ends:
        yield lambda served, language: run_again(served, language, state, STATES[state].jobs[-1], remote=True)


def list_questions_of_fleet(name: str) -> Iterator[Ask]:
    for verb in ("explain", "describe", "doctor"):
        yield typed_elsewhere(verb, name)
    torch = any(each.name == name and each.torch for each in FLEET)
    kind = "pytorchjobs.kubeflow.org" if torch else "paddlejobs.batch.paddlepaddle.org"
    for page in ("", "/doctor"):
        yield looked_at(f"/jobs/default/{kind}/{name}{page}")


def list_questions_of_all() -> Iterator[Ask]:
    for words in (
        "get -A", "get -A -o wide", "get pods -n running-many", "get datasets -A", "get environments", "queue -A",
        "history", "history -A", "usage -A", "status", "env list", "dataset list -A",
    ):  # fmt: skip
        yield typed(*words.split())
    for words in ("get -A", "queue -A", "history -A", "usage -A", "logs failed -n failed", "history failed -n failed"):
        yield typed_elsewhere(*words.split())
    for address in (
        "/", "/new", "/runs", "/datasets", "/environments", "/queue", "/usage", "/nodes", "/guide",
        "/compare?job=failed/paddlejobs.batch.paddlepaddle.org/failed&job=running/paddlejobs.batch.paddlepaddle.org/going",
    ):  # fmt: skip
        yield looked_at(address)


PAGES = ("", "/charts", "/logs", "/runs", "/outputs", "/doctor", "/pods")
"""Of one job."""
MORE_PAGES = ("/plan", "/events", "/manifest", "/edit")
"""Which say little of a state."""
BUNDLED = frozenset({
    "failed-by-an-exception", "completed-after-a-restart", "running", "waiting-for-gpus", "not-ready", "suspended",
})  # fmt: skip
"""States of which a bundle is read too, and more pages."""


def address_of(manifest: Mapping[str, Any]) -> str:
    resource = next(
        each for each in KINDS if (each.api_version, each.kind) == (manifest["apiVersion"], manifest["kind"])
    )
    return f"{resource.plural}.{resource.group}"


def show(served: Served, questions: Iterator[Ask], *, chinese: bool = True) -> str:
    """The answers, with what each asks the API for. Of the Chinese one the lines that the English one has not."""
    served.call(served.leave())
    with variables(served, "en"):  # once for all: the many variables of a session are long in being put away
        return "\n".join(line for ask in questions for line in show_answers(served, ask, chinese=chinese))


def show_answers(served: Served, ask: Ask, *, chinese: bool) -> Iterator[str]:
    english = ask(served, "en")
    yield f"$ {english.question}\n{english.text}"
    yield "--- asks\n" + "\n".join(english.requests) if english.requests else "--- asks nothing"
    if chinese:
        said = set(english.text.splitlines())
        other = [line for line in ask(served, "zh").text.splitlines() if line not in said]
        yield "--- zh\n" + "\n".join(other) if other else "--- zh: the same"
    yield ""
