"""What ranks use, as a table that fits and as JSON."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace

import pytest

from paddock.cli.output.screen import Redrawn, cut_lines
from paddock.cli.output.tables import build_lines
from paddock.cli.output.terminal import PlainConsole
from paddock.cli.output.terminal import build_table as build_styled
from paddock.cli.output.top_rows import build_document, build_table, draw, fit_table, format_cores
from paddock.cli.verbs.top import are_over, explain_none, explain_resting, explain_unmeasured
from paddock.jobs.model import Phase, Rank
from paddock.kube.printable import show_line
from paddock.node.usage.samples import Sample
from paddock.views.used import SHOWN, RankUse
from support.foreign import EVIL

MIB = 2**20
ROW = RankUse(
    namespace="team", job="mnist", kind="PaddleJob", rank=Rank("worker", 0), pod="mnist-worker-0", uid="u", node="n",
    attempt=1, cpu_limit=2.0, memory_limit=200.0 * MIB, gpus=0, at=1_700_000_000.0,
    containers={"paddle": (1.5, 50.0 * MIB)},
    samples=tuple(Sample(float(at), at / 10, at * MIB) for at in range(SHOWN)),
)  # fmt: skip
GPU = replace(ROW, gpus=1, samples=(Sample(1.0, 1.0, 1.0, 40.0, MIB), Sample(2.0, 1.0, 1.0, 97.4, 3 * 2**30)))
NEW = replace(ROW, rank=Rank("worker", 1), at=None, containers=None, samples=(), memory_limit=math.nan)


def test_a_row_has_what_is_used_and_the_limit_of_the_memory() -> None:
    header, cells = build_table([ROW, NEW])
    assert header == ["JOB", "RANK", "CPU", "MEMORY"]
    assert cells == [["mnist", "worker-0", "1.5", "50 MiB of 200 MiB"], ["mnist", "worker-1", "-", "-"]]


def test_gpus_have_columns_where_a_rank_has_one() -> None:
    header, cells = build_table([ROW, GPU], everywhere=True)
    assert header == ["NAMESPACE", "JOB", "RANK", "CPU", "MEMORY", "GPU", "GPU MEMORY"]
    assert [row[-2:] for row in cells] == [["-", "-"], ["97 %", "3.0 GiB"]]
    assert cells[0][0] == "team"


@pytest.mark.parametrize(
    ("phases", "over"),
    [
        ([], False),
        ([Phase.FAILED], True),
        ([Phase.FAILED, Phase.COMPLETED], True),
        ([Phase.COMPLETED, Phase.PENDING], False),
        ([Phase.RESTARTING], False),
        ([Phase.SUSPENDED], False),
        ([Phase.NONE], False),
    ],
)
def test_the_screen_of_jobs_that_were_named_ends_with_the_last_of_them(phases: list[Phase], over: bool) -> None:
    assert are_over(phases) is over


@pytest.mark.parametrize(("width", "trend"), [(96, 24), (95, 12), (72, 12), (71, 8), (69, 8), (68, 0), (1, 0)])
def test_curves_are_as_wide_as_there_is_room(width: int, trend: int) -> None:
    header, cells = fit_table([ROW], width)
    assert (header[-1] == "MEMORY TREND") is bool(trend)
    if trend:
        assert len(cells[0][-1]) == trend
        assert max(map(len, build_lines(header, cells))) <= width


@pytest.mark.parametrize(
    ("values", "limit", "drawn"),
    [
        ([], math.nan, ""),
        ([1.0], 2.0, ""),
        ([0.0, 1.0, 2.0], 2.0, "▁▅█"),
        ([0.0, 4.0], 2.0, "▁█"),
        ([0.0, 1.0], math.nan, "▁█"),
        ([0.0, 0.0], math.nan, "▁▁"),
        ([0.0, 0.0], 0.0, "▁▁"),
        ([0.0, math.nan, 2.0], 2.0, "▁ █"),
        ([math.nan, math.nan], 2.0, ""),
    ],
)
def test_a_curve_goes_from_0_to_the_limit(values: list[float], limit: float, drawn: str) -> None:
    assert draw(values, limit) == drawn


@pytest.mark.parametrize(
    ("cores", "text"), [(0.0, "0.00"), (0.034, "0.03"), (1.94, "1.9"), (12.3, "12"), (math.nan, "-")]
)
def test_cores(cores: float, text: str) -> None:
    assert format_cores(cores) == text


@pytest.mark.parametrize(
    ("count", "height", "shown", "left"), [(3, 24, 3, 0), (23, 24, 23, 0), (24, 24, 22, 2), (9, 3, 1, 8), (9, 1, 1, 8)]
)
def test_a_screen_shows_what_it_has_room_for(count: int, height: int, shown: int, left: int) -> None:
    assert cut_lines(count, height) == (shown, left)


def test_what_is_drawn_again_fits_the_terminal_and_does_not_act() -> None:
    written = io.StringIO()
    console = PlainConsole(file=written, force_terminal=True, width=30, height=4, color_system=None)
    header, cells = build_table([replace(ROW, job=f"{EVIL}{number}") for number in range(9)])
    with Redrawn(console) as screen:
        for _ in range(2):
            lines = build_styled(header, [[show_line(cell) for cell in row] for row in cells])
            screen.show(lines, lambda left: f"{left} more")
    drawn = re.sub(r"\x1b\[\?25[lh]|\x1b\[1A|\r?\x1b\[2K", "", written.getvalue())
    assert drawn.count("8 more") >= 2 and max(map(len, drawn.replace("8 more", "\n").split("\n"))) <= 30
    assert "\x1b" not in drawn and "\x9b" not in drawn


def test_the_document_has_all_and_no_number_that_json_lacks() -> None:
    first, second = json.loads(json.dumps(build_document([GPU, NEW]), allow_nan=False))["ranks"]
    assert first["cpu"] == 1.5 and first["limits"] == {"cpu": 2.0, "memory": 200 * MIB} and first["gpu"] == 97.4
    assert first["containers"] == [{"name": "paddle", "cpu": 1.5, "memory": 50 * MIB}]
    assert first["measured"] == "2023-11-14T22:13:20Z" and len(first["samples"]) == 2
    assert second["cpu"] is None and second["measured"] is None and second["limits"]["memory"] is None


def test_what_is_said() -> None:
    assert str(explain_none("")) == "no rank runs in any namespace"
    assert str(explain_none("team")) == "no rank runs in namespace team"
    said = explain_resting("mnist", "mnist", " -n team")
    assert str(said) == "no rank of mnist runs: `paddock explain mnist -n team` says why"
    assert "metrics-server" in str(explain_unmeasured(is_local=False))
    assert "`paddock down`" in str(explain_unmeasured(is_local=True))
