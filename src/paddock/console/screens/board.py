"""A board of a job's outputs, while it is installed and starts, and how it ended. Its own pages are at a host of their
own, to which `open` leads.

?go=1     the tab goes on to the board as soon as it is there
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.console.addresses import JOB, address_of_job
from paddock.console.backend import Board, BoardPhase
from paddock.console.heads import build_head, find_job, list_job_topics
from paddock.console.page_context import Missing, PageContext, Redirect, Screen
from paddock.words.phrases import phrase

SOON, LATER = 1.0, 10.0
"""Seconds."""


async def build(page: PageContext) -> Mapping[str, Any]:
    board = find_board(page)
    resource, job = find_job(page)
    is_open, is_over = board.phase is BoardPhase.OPEN, board.phase is BoardPhase.ENDED
    return {
        "head": await build_head(page, resource, job),
        "board": board,
        "phase": str(board.phase),
        "said": page.say(board.said),
        "is_open": is_open,
        "is_over": is_over,
        "address": address_of_board(page, board),
        "goes": is_open and page.query.get("go") == "1",
        "again": 0.0 if is_over else LATER if is_open else SOON,
    }


def find_board(page: PageContext) -> Board:
    """Of the job that the address names. Raises `Missing`."""
    resource, _ = find_job(page)
    board = page.backend.boards.look(page.path["board"]) if page.backend.boards else None
    key = (resource, page.path["namespace"], page.path["name"])
    if board is None or (board.resource, board.namespace, board.job) != key:
        raise Missing(phrase("this board is not there any more: open it from the outputs of {job}", job=key[2]))
    return board


def address_of_board(page: PageContext, board: Board) -> str:
    return f"{address_of_job(board.resource, board.namespace, board.job)}/boards/{board.id}"


async def answer_open(page: PageContext) -> Redirect:
    """To the board, by a link that is made for this click."""
    board = find_board(page)
    assert page.backend.boards is not None
    return Redirect(page.backend.boards.make_link(board.id) or address_of_board(page, board))


SCREEN = Screen(
    "board", f"{JOB}/boards/{{board}}", phrase("Board"), list_job_topics, build, every=SOON,
    answers={"open": answer_open},
)  # fmt: skip
