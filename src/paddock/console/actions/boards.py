"""What the buttons of boards do: begin one over the outputs of a run, end it."""

from __future__ import annotations

from collections.abc import Mapping

from paddock.console.addresses import JOB, address_of_job, find_kind
from paddock.console.backend import Unshown
from paddock.console.heads import tell_missing
from paddock.console.page_context import Action, PageContext, Redirect
from paddock.kube.meta import Resource
from paddock.words.phrases import Phrase, phrase


async def begin(page: PageContext, posted: Mapping[str, str]) -> Redirect | Phrase:
    resource, namespace, name = _find_kind(page), page.path["namespace"], page.path["name"]
    outputs, boards = page.backend.outputs, page.backend.boards
    if outputs is None or boards is None:
        return phrase("this console opens no boards")
    runs = await outputs.find(resource, namespace, name, "")
    run = next((each for each in runs if each.mark == posted.get("run")), None)
    if run is None:
        return phrase("the outputs of this run are not kept any more")
    try:
        board = await boards.begin(run, resource, namespace, name, posted.get("tool", ""), page.language)
    except Unshown as unshown:
        return unshown.said
    return Redirect(f"{address_of_job(resource, namespace, name)}/boards/{board.id}?go=1")


def _find_kind(page: PageContext) -> Resource:
    """Raises `Missing`."""
    if (found := find_kind(page.path["kind"])) is None:
        raise tell_missing(page)
    return found


async def end(page: PageContext, _posted: Mapping[str, str]) -> Redirect | Phrase:
    resource, namespace, name = _find_kind(page), page.path["namespace"], page.path["name"]
    boards = page.backend.boards
    key = (resource, namespace, name)
    board = boards.look(page.path["board"]) if boards is not None else None
    if boards is not None and board is not None and (board.resource, board.namespace, board.job) == key:
        await boards.end(board.id)
    return Redirect(f"{address_of_job(resource, namespace, name)}/outputs")


ACTIONS = (Action("begin", f"{JOB}/boards", begin), Action("end", f"{JOB}/boards/{{board}}/end", end))
