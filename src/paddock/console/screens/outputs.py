"""What a job wrote: the directories of its runs, one file of them, and downloads.

?run=0a1b2c3d          of which run, by its mark; without it the newest
&path=checkpoint/step-10   a directory, or a file (`outputs.paths` has its form)
&sort=-size&page=2     of a directory

The page is not live: what a reader looks at stays, and a file that grows is looked at again by loading the page.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlencode

from paddock.console.addresses import JOB, address_of_job, read_whole
from paddock.console.backend import BoardPhase, EntryKind, OutputEntry, OutputList, OutputRun, Outputs, Unshown
from paddock.console.heads import build_head, find_job, list_job_topics, tell_missing
from paddock.console.outputs.paths import join, list_steps, read_path, show_name, write_path
from paddock.console.outputs.previews import TEXT_BYTES, WHOLE_BYTES, Preview, build_preview, find_picture
from paddock.console.page_context import Answer, Missing, OpenFile, PageContext, Screen
from paddock.jobs.model import Phase
from paddock.kube.meta import PODS, Manifest, Resource, uid_of
from paddock.kube.quantities import format_bytes
from paddock.views.claims import list_mounts
from paddock.views.commands import printed_name
from paddock.views.exec_command import exec_command, shell_command
from paddock.views.stored import read_stored
from paddock.words.phrases import Phrase, counted, phrase

ON_A_PAGE = 300
"""Names of a directory."""
SANDBOX = "default-src 'none'; sandbox"
"""Of a picture that is opened alone: whatever else it is, it runs nothing and asks for nothing."""
_AT_ONCE = 2**18
"""Bytes of an archive."""
_ORDERS = ("name", "size", "changed")


@dataclass(frozen=True, slots=True)
class Place:
    """What the address names."""

    address: str
    """Of the page."""
    resource: Resource
    job: Manifest | None
    outputs: Outputs
    runs: Sequence[OutputRun]
    run: OutputRun | None
    """None where no run has a directory."""
    path: str


async def build(page: PageContext) -> Mapping[str, Any]:
    resource, job = find_job(page)
    if page.backend.outputs is None:
        return await _build_for_cluster(page, resource, job)
    place = await _find_place(page, page.backend.outputs)
    listing, file, drawn = None, None, dict[str, Any]()
    if place.run is not None:
        listing = await asyncio.to_thread(_list, place, place.run, page)
        if listing is None:
            file = await _build_file(page, place, place.run)
        else:
            drawn = await _build_boards(page, place, place.run)
    head = await build_head(page, resource, job)
    return {
        "head": head,
        "gone": job is None,
        "local": True,
        "runs": [_show_run(page, place, each) for each in place.runs],
        "run": place.run and _show_run(page, place, place.run),
        "steps": [(each.name, _link(place, each.written)) for each in list_steps(place.path)],
        "top": _link(place, ""),
        "listing": listing and _show_list(page, place, listing),
        "file": file,
        "all": _link(place, write_path(place.path), part="/all"),
        "commands": _list_commands(page, place, is_running=head.phase == Phase.RUNNING),
        "claims": (),
        "drawn": drawn,
    }


async def _build_boards(page: PageContext, place: Place, run: OutputRun) -> dict[str, Any]:
    """The programs that draw what the run has written, and those that do it now."""
    boards = page.backend.boards
    if boards is None:
        return {}
    key = (place.resource, page.path["namespace"], page.path["name"])
    return {
        "drawings": await asyncio.to_thread(boards.find, run, *key),
        "open": [each for each in boards.list(*key) if each.phase != BoardPhase.ENDED],
        "mark": run.mark,
    }


async def _build_for_cluster(page: PageContext, resource: Resource, job: Manifest | None) -> Mapping[str, Any]:
    """Where it lies, and what fetches it: the console of a cluster mounts no claims."""
    if job is None:
        raise tell_missing(page)
    stored, head = read_stored(resource, job), await build_head(page, resource, job)
    mounts = {
        (each.claim, each.path): each for each in (list_mounts(stored.job) if stored.job else ()) if not each.read_only
    }
    claims = [
        {
            "claim": each.claim,
            "path": each.path,
            "command": _fetch_command(page, resource, each.path, each.role),
        }
        for each in mounts.values()
    ]
    nothing: dict[str, Any] = {
        "runs": (),
        "run": None,
        "steps": (),
        "top": "",
        "listing": None,
        "file": None,
        "all": "",
    }
    namespace = page.path["namespace"]
    may_enter = await page.may("create", PODS, namespace, "exec")
    running = may_enter and head.phase == Phase.RUNNING
    commands = [(page.say(_SHELL), _shell_command(page, resource))] if running else []
    # Without a context a board is one of the reader's own cluster.
    if claims and page.backend.options:
        commands.append((page.say(phrase("TensorBoard or VisualDL over it")), _board_command(page, resource)))
    return {
        "head": head, "gone": False, "local": False, **nothing, "claims": claims, "drawn": {}, "running": running,
        "commands": commands, "refused": "" if may_enter else page.say(_explain_entering(namespace)),
    }  # fmt: skip


def _explain_entering(namespace: str) -> Phrase:
    return phrase("you may not run commands in the pods of {namespace} (create pods/exec)", namespace=namespace)


def _board_command(page: PageContext, resource: Resource) -> str:
    words = ["paddock", "board", printed_name(resource, page.path["name"]), "--namespace", page.path["namespace"]]
    return shlex.join(words) + page.backend.options


def _fetch_command(page: PageContext, resource: Resource, path: str, role: str) -> str:
    name, namespace = page.path["name"], page.path["namespace"]
    words, options = ["tar", "c", "-C", path, "."], page.backend.options
    return exec_command(resource, namespace, name, words, role=role, index=0, options=options) + " | tar x"


def _shell_command(page: PageContext, resource: Resource) -> str:
    return shell_command(resource, page.path["namespace"], page.path["name"], options=page.backend.options)


async def _find_place(page: PageContext, outputs: Outputs) -> Place:
    """Raises `Missing`."""
    resource, job = find_job(page)
    name, namespace = page.path["name"], page.path["namespace"]
    runs = await outputs.find(resource, namespace, name, uid_of(job) if job else "")
    if job is None and not runs:
        raise Missing(phrase("there is no job {name} in {namespace}, and no outputs of one",
                             name=name, namespace=namespace))  # fmt: skip
    path, mark = read_path(page.query.get("path", "")), page.query.get("run", "")
    if path is None:
        raise Missing(phrase("the address names no file of the outputs"))
    run = next((each for each in runs if each.mark == mark), None) if mark else next(iter(runs), None)
    if mark and run is None:
        raise Missing(phrase("{job} has no run {run} whose outputs are kept", job=name, run=mark))
    address = f"{address_of_job(resource, namespace, name)}/outputs"
    return Place(address, resource, job, outputs, runs, run, path)


def _list(place: Place, run: OutputRun, page: PageContext) -> OutputList | None:
    """None where the path is no directory. Raises `Missing`."""
    begin = (_read_page(page) - 1) * ON_A_PAGE
    try:
        return place.outputs.list(run, place.path, _read_order(page), begin, ON_A_PAGE)
    except Unshown as unshown:
        raise Missing(unshown.said) from None


def _read_page(page: PageContext) -> int:
    return max(1, read_whole(page.query.get("page", ""), 6) or 1)


def _read_order(page: PageContext) -> str:
    order = page.query.get("sort", "name")
    return order if order.removeprefix("-") in _ORDERS else "name"


def _show_list(page: PageContext, place: Place, found: OutputList) -> Mapping[str, Any]:
    begin = (_read_page(page) - 1) * ON_A_PAGE
    number = _read_page(page)
    pages = max(1, -(-found.count // ON_A_PAGE))
    notes = []
    if not found.whole:
        notes.append(phrase("this directory has more than {count} names: the others are not looked at",
                            count=f"{found.count:,}"))  # fmt: skip
    if found.order != _read_order(page):
        notes.append(phrase("so many names are sorted by name alone"))

    def link(**changes: object) -> str:
        kept = {"sort": "" if found.order == "name" else found.order, **changes}
        return _link(place, write_path(place.path), more=kept)

    return {
        "entries": [_show_entry(place, each) for each in found.entries],
        "begin": begin, "end": begin + len(found.entries), "page": number, "pages": pages, "count": found.count,
        "link": link, "order": found.order,
        "sorts": [_build_sort(page, name, found.order, link) for name in _ORDERS],
        "notes": [page.say(each) for each in notes],
        "empty": page.say(_explain_empty(place)) if not found.count or _is_bare(place) else "",
    }  # fmt: skip


def _is_bare(place: Place) -> bool:
    return not place.path and place.run is not None and not place.run.has_results


def _explain_empty(place: Place) -> Phrase:
    if _is_bare(place):
        return phrase("No program has written a result yet: it writes to the directory in PADDOCK_OUTPUT_DIR.")
    return phrase("This directory is empty.")


def _build_sort(page: PageContext, name: str, order: str, link: Any) -> Mapping[str, str]:
    """The head of a column: a second click turns the order round, and sizes and times begin with the largest."""
    down = f"-{name}"
    first, second = (name, down) if name == "name" else (down, name)
    state = {name: "ascending", down: "descending"}.get(order, "")
    return {
        "title": page.say(_COLUMNS[name]),
        "address": link(sort=second if order == first else first),
        "state": state,
    }


def _show_entry(place: Place, entry: OutputEntry) -> Mapping[str, Any]:
    path = write_path(join(place.path, entry.name))
    is_file = entry.kind == EntryKind.FILE
    opens = entry.kind in (EntryKind.FILE, EntryKind.DIRECTORY, EntryKind.LINK)
    return {
        "name": show_name(entry.name),
        "kind": str(entry.kind),
        "size": "" if entry.size is None else format_bytes(entry.size),
        "bytes": entry.size,
        "modified": entry.modified,
        "target": show_name(entry.target),
        "address": _link(place, path) if opens else "",
        "download": _link(place, path, part="/file") if is_file else "",
    }


async def _build_file(page: PageContext, place: Place, run: OutputRun) -> Mapping[str, Any]:
    """Raises `Missing`."""
    name = PurePosixPath(place.path).name
    try:
        size, modified, shown = await asyncio.to_thread(_read_preview, place, run, name)
    except Unshown as unshown:
        raise Missing(unshown.said) from None
    path = write_path(place.path)
    return {
        "name": show_name(name),
        "size": format_bytes(size),
        "bytes": size,
        "modified": modified,
        "preview": shown,
        "note": page.say(shown.note) if shown.note else "",
        "left_out": format_bytes(shown.left_out) if shown.left_out else "",
        "download": _link(place, path, part="/file"),
        # An address of a picture is no link, so the root of the session is put before it here.
        "picture": page.root + _link(place, path, part="/picture"),
        "said": page.say(_tell_table(shown)) if shown.rows else "",
    }


def _tell_table(shown: Preview) -> Phrase:
    rows = counted("{count} row", "{count} rows", count=len(shown.rows) - 1)
    return phrase("the first {rows}; the file has more: download it", rows=rows) if shown.cut else rows


def _read_preview(place: Place, run: OutputRun, name: str) -> tuple[int, float, Preview]:
    """Bytes, when it was changed, and what is shown, of the file as it is at this moment. Raises `Unshown`."""
    file = place.outputs.open(run, place.path)
    try:
        status = os.fstat(file)
        start = os.pread(file, WHOLE_BYTES, 0)
        end = os.pread(file, TEXT_BYTES, max(0, status.st_size - TEXT_BYTES))
    except OSError as error:
        raise Unshown(phrase("{path} cannot be read: {why}", path=repr(place.path), why=str(error.strerror))) from None
    finally:
        os.close(file)
    return status.st_size, status.st_mtime, build_preview(name, status.st_size, start, end)


def _show_run(page: PageContext, place: Place, run: OutputRun) -> Mapping[str, Any]:
    number = page.say(phrase("Run {run}", run=run.number)) if run.number else run.mark
    query = {"run": run.mark}
    return {"title": number, "mark": run.mark, "number": run.number, "started": run.started, "path": run.path,
            "address": f"{place.address}?{urlencode(query)}"}  # fmt: skip


def _list_commands(page: PageContext, place: Place, *, is_running: bool) -> list[tuple[str, str]]:
    """(What it does, the command), for a terminal of this machine."""
    name, namespace = page.path["name"], page.path["namespace"]
    where = "" if namespace == "default" else f" --namespace {namespace}"
    run = f" --run {place.run.number}" if place.run and place.run.number else ""
    found = (
        [(page.say(phrase("Go to the directory")), f'cd "$(paddock outputs {name}{run}{where})"')] if place.run else []
    )
    return [*found, *([(page.say(_SHELL), _shell_command(page, place.resource))] if is_running else [])]


_SHELL = phrase("Open a shell in rank 0")


def _link(place: Place, path: str, *, part: str = "", more: Mapping[str, object] | None = None) -> str:
    """An address of these outputs. `path`: as `write_path` has it; `more`: of the query."""
    query = {"run": place.run.mark if place.run else "", "path": path, **(more or {})}
    text = urlencode({name: str(value) for name, value in query.items() if value not in ("", None)})
    return place.address + part + (f"?{text}" if text else "")


# -- what is asked for below


async def answer_file(page: PageContext) -> Answer:
    """The file, to be kept and never to be shown."""
    place, file = await _open_file(page)
    name = show_name(PurePosixPath(place.path).name)
    return Answer(OpenFile(file), "application/octet-stream", name, policy=SANDBOX)


async def answer_picture(page: PageContext) -> Answer:
    """The file as a picture. Raises `Missing` for what is none, by its first bytes."""
    _, file = await _open_file(page)
    media_type = ""
    try:
        media_type = find_picture(await asyncio.to_thread(os.pread, file, 16, 0))
    finally:
        if not media_type:
            os.close(file)
    if not media_type:
        raise Missing(phrase("this file is no picture that can be shown"))
    return Answer(OpenFile(file), media_type, policy=SANDBOX)


async def answer_all(page: PageContext) -> Answer:
    """A directory with all below it, as one archive."""
    place = await _find_kept(page)
    run = place.run
    assert run is not None
    try:
        found = await asyncio.to_thread(place.outputs.list, run, place.path, "name", 0, 0)
    except Unshown as unshown:
        raise Missing(unshown.said) from None
    if found is None:
        raise Missing(phrase("this is no directory"))
    names = (page.path["name"], f"run-{run.number}" if run.number else run.mark, PurePosixPath(place.path).name)
    return Answer(_pack(place, run), "application/x-tar", f"{'-'.join(filter(None, map(show_name, names)))}.tar",
                  policy=SANDBOX)  # fmt: skip


async def _pack(place: Place, run: OutputRun) -> AsyncIterator[bytes]:
    pieces = place.outputs.pack(run, place.path)
    try:
        while part := await asyncio.to_thread(_take, pieces):
            yield part
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:
            await asyncio.to_thread(close)


def _take(pieces: Iterator[bytes]) -> bytes:
    """Some pieces at once, as a small file is three of them; empty at the end."""
    found = bytearray()
    for piece in pieces:
        found += piece
        if len(found) >= _AT_ONCE:
            break
    return bytes(found)


async def _open_file(page: PageContext) -> tuple[Place, int]:
    """A descriptor, which the caller closes. Raises `Missing`."""
    place = await _find_kept(page)
    assert place.run is not None
    try:
        return place, await asyncio.to_thread(place.outputs.open, place.run, place.path)
    except Unshown as unshown:
        raise Missing(unshown.said) from None


async def _find_kept(page: PageContext) -> Place:
    """A place with a run. Raises `Missing`."""
    if page.backend.outputs is not None:
        place = await _find_place(page, page.backend.outputs)
        if place.run is not None:
            return place
    raise Missing(phrase("no outputs of this job are kept here"))


_COLUMNS: Mapping[str, Phrase] = {
    "name": phrase("Name"),
    "size": phrase("Size"),
    "changed": phrase("Last change"),
}

SCREEN = Screen(
    "outputs", f"{JOB}/outputs", phrase("Outputs"), list_job_topics, build, live=False,
    answers={"file": answer_file, "picture": answer_picture, "all": answer_all},
)  # fmt: skip
