"""The page of logs and what its script asks for, over HTTP, on the logs that a node left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from paddock.console.addresses import address_of_job
from paddock.console.logs.lines import show_line
from paddock.history.log_index import Line
from paddock.history.records import Attempt, Cause
from paddock.kube.log_marks import write_mark
from support.consoles import PADDLE, Served, keep_log, keep_run, serve_console
from support.steps import count_steps

LOGS = address_of_job(PADDLE, "default", "demo") + "/logs"
FAILED = Cause("RankFailed", {"ranks": ["worker-1"], "code": 1})
TRACE = "Traceback (most recent call last):\n  File a\n    x\nValueError: broken\n"
ECHO = "RuntimeError: Connection closed by peer [127.0.0.1]\n"


async def read(served: Served, address: str, status: int = 200) -> str:
    async with served.session.get(address) as answer:
        assert answer.status == status
        return await answer.text()


async def ask(served: Served, what: str) -> Any:
    async with served.session.get(f"{LOGS}/{what}") as answer:
        assert answer.status == 200
        return await answer.json()


async def test_the_rank_that_failed_first_is_opened_at_its_error_after_its_pod_is_gone(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True, deleted=200.0, phase="Failed", cause=FAILED, attempts=(Attempt(0, 100.0),))
    keep_log(tmp_path, "worker-0", f"step 1\n{ECHO}")
    keep_log(tmp_path, "worker-1", "".join(f"step {n}\n" for n in range(1_000)) + TRACE)
    keep_log(tmp_path, "worker-2", ECHO)
    async with serve_console(tmp_path) as served:
        page = await read(served, LOGS)
    assert 'aria-label="worker-1" data-rank="worker-1"' in page and "This job is gone" in page
    assert 'data-line="1004"' in page and "ValueError: broken" in page and ">step 990<" in page
    assert "paddock logs paddlejob/demo --namespace default --role worker --rank 1 --attempt 0<" in page
    assert "2 peers that lost their connection" in page


@pytest.mark.parametrize("merged", ["", "&merged=1"], ids=["a rank", "merged"])
async def test_an_open_log_is_told_that_the_api_does_not_answer(tmp_path: Path, merged: str) -> None:
    """Its lines come from copies, which do not grow meanwhile: silence would look like that of the program."""
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", "step 1\n")
    async with serve_console(tmp_path, silent_since=100.0) as served:
        told, page = await ask(served, f"lines?rank=worker-0&n=0{merged}"), await read(served, LOGS)
    assert told["silent"] is True and "newer lines come when it does" in page
    async with serve_console(tmp_path) as served:
        assert "silent" not in await ask(served, f"lines?rank=worker-0&n=0{merged}")


async def test_earlier_lines_are_links_and_each_line_has_its_number(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    keep_log(tmp_path, "worker-0", "".join(f"step {n}\n" for n in range(1, 1_201)))
    async with serve_console(tmp_path) as served:
        last, earlier = await read(served, LOGS), await read(served, f"{LOGS}?rank=worker-0&at=0&from=801")
    assert ">step 1001<" in last and ">step 1200<" in last and ">step 1000<" not in last
    assert f'href="{LOGS}?rank=worker-0&amp;at=0&amp;from=801"' in last
    assert (
        ">step 801<" in earlier
        and ">step 1000<" in earlier
        and ">step 1001<" not in earlier
        and "Later lines" in earlier
    )


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\x1b[31m<b>red</b>\x1b[0m", "a\r<i>\r<u>bar</u>"])
async def test_what_a_program_prints_is_text(tmp_path: Path, text: str) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", f"{text}\n")
    async with serve_console(tmp_path) as served:
        page = await read(served, LOGS)
    assert not any(tag in page for tag in ("<script>alert", "<b>red", "<u>bar", "\x1b"))
    assert "&lt;" in page


async def test_lines_are_given_by_number_with_colours_levels_and_sizes(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    keep_log(tmp_path, "worker-0", "10%\r100%\n\x1b[1;31mERROR bad\x1b[0m end\n" + "y" * 5_000 + "\nlast")
    async with serve_console(tmp_path) as served:
        told = await ask(served, "lines?rank=worker-0&from=1&n=9")
        end = await ask(served, "lines?rank=worker-0&from=-1&n=9")
        whole = await ask(served, "lines?rank=worker-0&from=3&n=1&whole=1")
    assert told["lines"] == [
        ["", 0, ["100%"]],
        ["error", 0, [["ERROR bad", "ansi-red bold"], " end"]],
        ["", 5_000, ["y" * 2_000]],
        ["", 0, ["last"]],
    ]
    assert (told["from"], told["count"], told["over"]) == (1, 4, True)
    assert (end["from"], end["lines"]) == (4, [["", 0, ["last"]]])
    assert whole["lines"] == [["", 0, ["y" * 5_000]]]


async def test_few_lines_are_given_whole_at_once(tmp_path: Path) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", "line\n" * 50)
    async with serve_console(tmp_path) as served:
        for asked in ("from=1&n=50", "numbers=" + ",".join(map(str, range(1, 51))), "from=1&n=50&merged=1"):
            assert len((await ask(served, f"lines?rank=worker-0&{asked}"))["lines"]) == 50
            assert len((await ask(served, f"lines?rank=worker-0&{asked}&whole=1"))["lines"]) == 10


def test_what_is_not_shown_of_a_long_line_is_not_read_for_its_colours() -> None:
    long = Line(0, b"\x1b[31mx\x1b[0m y" * 1_000, 14_000)
    assert count_steps(lambda: show_line(long, 200)) * 5 < count_steps(lambda: show_line(long, 16_000))


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("q=needle", [3]),
        ("q=needle&from=4", [9]),
        ("q=needle&before=9&last=1", [3]),
        ("q=needle&last=1", [9]),
        ("q=NEEDLE", []),
        ("q=^need.e$&regex=1", [3]),
        ("level=error", [5]),
        ("level=error&q=disk", [5]),
        ("level=warning&q=disk&from=6", [7]),
        ("q=a.c", []),
    ],
)
async def test_a_search_goes_forwards_and_backwards(tmp_path: Path, query: str, lines: list[int]) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", "abc\n\nneedle\n\nERROR: disk\n\nWARNING: disk\n\na Needle\n")
    async with serve_console(tmp_path) as served:
        found = await ask(served, f"find?rank=worker-0&{query}")
    assert found["lines"] == lines
    assert lines or found["whole"]


async def test_all_ranks_are_searched_and_each_hit_is_a_link(tmp_path: Path) -> None:
    keep_run(tmp_path)
    for rank in ("worker-0", "worker-1"):
        keep_log(tmp_path, rank, f"a\nhere is {rank}\n")
    async with serve_console(tmp_path) as served:
        page = await read(served, f"{LOGS}?q=here+is")
        wrong = await read(served, f"{LOGS}?q=a(b&regex=1")
    assert "2 lines" in page
    assert f'href="{LOGS}?q=here+is&amp;rank=worker-1&amp;at=0&amp;line=2#rank=worker-1&amp;line=2"' in page
    assert "is no regular expression" in wrong


@pytest.mark.slow
async def test_a_pattern_that_would_take_for_ever_is_given_up(tmp_path: Path) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", "a" * 60 + "b\n")
    async with serve_console(tmp_path) as served:
        found = await ask(served, "find?rank=worker-0&q=(a%2B)%2B%24&regex=1")
        assert found == {"lines": [], "upto": 0, "more": False, "whole": False}
        assert (await ask(served, "find?rank=worker-0&q=ab"))["lines"] == [1]


async def test_attempts_are_told_apart_and_the_last_is_shown(tmp_path: Path) -> None:
    keep_run(tmp_path, attempts=(Attempt(0, 100.0), Attempt(1, 150.0, FAILED)))
    keep_log(tmp_path, "worker-1", "first\n")
    keep_log(tmp_path, "worker-1", "second\n", attempt=1)
    async with serve_console(tmp_path) as served:
        last, first = await read(served, LOGS), await read(served, f"{LOGS}?at=0")
    assert ">second<" in last and ">first<" not in last
    assert ">first<" in first and "failed first" in first


async def test_a_download_is_the_file(tmp_path: Path) -> None:
    keep_run(tmp_path)
    path = keep_log(tmp_path, "worker-0", "")
    path.write_bytes(content := b"\x00\xff\x1b[31mbinary\n" * 50_000)
    async with serve_console(tmp_path) as served, served.session.get(f"{LOGS}/download?rank=worker-0") as answer:
        assert answer.headers["Content-Disposition"] == 'attachment; filename="demo-worker-0-attempt-0.log"'
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert await answer.read() == content


async def test_binary_and_a_line_of_50_megabytes_are_shown_cut(tmp_path: Path) -> None:
    keep_run(tmp_path)
    path = keep_log(tmp_path, "worker-0", "")
    path.write_bytes(b"\x00\xff\xfe\n" + b"y" * 50_000_000 + b"\nend")
    async with serve_console(tmp_path) as served:
        page = await read(served, LOGS)
    assert len(page) < 50_000
    assert "50.0 MB" in page and ">end<" in page


@pytest.mark.slow
async def test_of_300_ranks_20_are_listed_and_the_rest_are_counted(tmp_path: Path) -> None:
    keep_run(tmp_path)
    for index in range(300):
        keep_log(tmp_path, f"worker-{index}", "step 1\n" if index else "")
    async with serve_console(tmp_path) as served:
        page = await read(served, LOGS)
        pinned = await read(served, f"{LOGS}?rank=worker-250,worker-7")
    assert "280 more ranks" in page and page.count('class="pane"') == 1
    assert "279 more ranks" in pinned and pinned.count('class="pane"') == 2


async def test_a_log_that_a_program_replaced_by_a_link_is_not_read(tmp_path: Path) -> None:
    keep_run(tmp_path)
    path = keep_log(tmp_path, "worker-0", "x\n")
    async with serve_console(tmp_path) as served:
        assert (await ask(served, "lines?rank=worker-0&from=1&n=1"))["count"] == 1
        path.unlink()
        os.symlink("/etc/passwd", path)
        assert (await ask(served, "lines?rank=worker-0&from=1&n=1"))["lines"] == []


async def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", "x\n")
    async with serve_console(tmp_path) as served:
        assert "there is no job other in default" in await read(served, LOGS.replace("demo", "other"), 404)
        assert "demo has no rank worker-9" in await read(served, f"{LOGS}/lines?rank=worker-9", 404)
        assert ">x<" in await read(served, f"{LOGS}?at=77&from=abc&line=99999999999999999999")


def keep_times(path: Path, *marks: tuple[int, float]) -> None:
    path.with_suffix(".times").write_bytes(b"".join(write_mark(*mark) for mark in marks))


async def test_all_ranks_are_one_log_by_time_each_line_with_its_rank_and_its_number(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    keep_times(keep_log(tmp_path, "worker-0", "a\nERROR: c\n"), (2, 100.0), (11, 102.5))
    keep_times(keep_log(tmp_path, "worker-1", "<b>\n"), (4, 101.0))
    keep_log(tmp_path, "worker-2", "of an older node\n")
    async with serve_console(tmp_path) as served:
        told = await ask(served, "lines?merged=1&from=1&n=9")
        some = await ask(served, "lines?merged=1&rank=worker-0,worker-2&from=-2&n=9")
        page = await read(served, f"{LOGS}?merged=1")
    assert told["lines"] == [
        ["", 0, ["a"], "worker-0", 1, 0, 100.0],
        ["", 0, ["<b>"], "worker-1", 1, 1, 101.0],
        ["error", 0, ["ERROR: c"], "worker-0", 2, 0, 102.5],
        ["", 0, ["of an older node"], "worker-2", 1, 2, None],
    ]
    assert (told["count"], some["from"], [line[3:5] for line in some["lines"]]) == (
        4, 2, [["worker-0", 2], ["worker-2", 1]],
    )  # fmt: skip
    assert "when these printed was not noted, so their lines stand at the end: worker-2" in page
    assert f'href="{LOGS}?rank=worker-1&amp;at=0&amp;line=1#rank=worker-1&amp;line=1">worker-1:1<' in page
    assert "&lt;b&gt;" in page and "<code><b>" not in page
    assert "paddock logs paddlejob/demo --namespace default --attempt 0<" in page


async def test_a_merged_log_is_turned_by_links(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    for rank in ("worker-0", "worker-1"):
        text = "".join(f"{rank} {n}\n" for n in range(600))
        keep_times(keep_log(tmp_path, rank, text), (len(text), 100.0 + int(rank[-1])))
    async with serve_console(tmp_path) as served:
        last, earlier = await read(served, f"{LOGS}?merged=1"), await read(served, f"{LOGS}?merged=1&at=0&from=501")
    assert ">worker-1 599<" in last and ">worker-1 400<" in last and ">worker-1 399<" not in last
    assert f'href="{LOGS}?merged=1&amp;at=0&amp;from=801"' in last
    assert ">worker-0 500<" in earlier and ">worker-1 99<" in earlier and "Later lines" in earlier


async def test_a_merged_log_is_downloaded_with_ranks_and_times(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    text = "".join(f"line {n}\n" for n in range(2500))
    keep_times(keep_log(tmp_path, "worker-0", text), (len(text), 100.0))
    keep_times(keep_log(tmp_path, "worker-1", "<b>\nlate"), (4, 101.5))
    async with serve_console(tmp_path) as served:
        page = await read(served, f"{LOGS}?merged=1")
        assert f'href="{LOGS}/download?merged=1&amp;at=0" download>' in page
        async with served.session.get(f"{LOGS}/download?merged=1") as answer:
            assert answer.headers["Content-Disposition"] == 'attachment; filename="demo-merged-attempt-0.log"'
            lines = (await answer.text()).splitlines()
        async with served.session.get(f"{LOGS}/download?merged=1&rank=worker-1") as answer:
            some = (await answer.text()).splitlines()
    assert [line.split(" ", 2)[2] for line in lines[:2500]] == text.splitlines()
    assert lines[0] == "worker-0 1970-01-01T00:01:40.000+00:00 line 0"
    assert lines[2500:] == some == ["worker-1 1970-01-01T00:01:41.500+00:00 <b>", "worker-1 - late"]


async def test_of_300_ranks_those_with_trouble_are_merged_and_the_others_are_linked(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    for index in range(300):
        text = "KeyError: 1\n" if index == 271 else f"hello from rank {index}\n"
        keep_log(tmp_path, f"worker-{index}", text)
    async with serve_console(tmp_path) as served:
        page = await read(served, f"{LOGS}?merged=1")
        query = page.split('data-query="')[1].split('"')[0].replace("&amp;", "&")
        told = await ask(served, f"lines?{query}&n=500")
        address = page.split(">worker-199 … worker-299<")[0]
        others = await read(served, address.rpartition('href="')[2].rstrip('"').replace("&amp;", "&"))
    assert "200 ranks are left out of this page, which has those with trouble:" in page
    assert ">worker-271:1<" in page and ">worker-98:1<" in page and ">worker-99:1<" not in page
    assert len({line[3] for line in told["lines"]}) == 100, "the script asks for the same ranks"
    assert ">worker-271:1<" not in others and ">worker-298:1<" in others and ">worker-199:1<" in others


async def test_rank_level_text_and_attempt_filter_together(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    for attempt in range(2):
        for rank in ("worker-0", "worker-1"):
            keep_log(tmp_path, rank, f"disk {attempt}\nERROR: disk {attempt}\nERROR: net\n", attempt=attempt)
    async with serve_console(tmp_path) as served:
        page = await read(served, f"{LOGS}?at=0&rank=worker-1&q=disk&level=error")
    assert "2 lines" in page and "disk 1" not in page
    for name, value in {"q": "disk", "at": "0", "rank": "worker-1"}.items():
        assert f'name="{name}" value="{value}"' in page
    assert '<option value="error" selected>' in page
    assert f'href="{LOGS}?at=1&amp;q=disk&amp;level=error"' in page


async def test_more_hits_of_a_rank_are_a_link_behind_the_last_one(tmp_path: Path) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", "needle\nhay\n" * 60)
    keep_log(tmp_path, "worker-1", "needle\n")
    async with serve_console(tmp_path) as served:
        first = await read(served, f"{LOGS}?q=needle")
        more = await read(served, f"{LOGS}?q=needle&at=0&after=worker-0:99")
    assert f'href="{LOGS}?q=needle&amp;at=0&amp;after=worker-0%3A99">More of worker-0, after line 99<' in first
    assert "the first 51; more than 51" in first and first.count("More of") == 1
    assert "10 lines" in more and ">101<" in more and "More of" not in more


async def test_the_last_state_of_a_long_progress_bar_is_shown(tmp_path: Path) -> None:
    """10,000 states in one line of 400 kB, which grows."""
    keep_run(tmp_path)
    path = keep_log(tmp_path, "worker-0", "".join(f"\repoch 1 |{'=' * 20}| {n}/9999" for n in range(10_000)))
    async with serve_console(tmp_path) as served:
        told = await ask(served, "lines?rank=worker-0&from=1&n=1")
        assert told["lines"][0][2] == ["epoch 1 |====================| 9999/9999"]
        with path.open("a") as file:
            file.write("\rdone\r\nnext\n")
        told = await ask(served, "lines?rank=worker-0&from=1&n=2")
    assert [line[2] for line in told["lines"]] == [["done"], ["next"]]


async def test_a_copy_that_is_not_whole_says_so_with_its_bytes_and_where_the_rest_is(tmp_path: Path) -> None:
    keep_run(tmp_path)
    path = keep_log(tmp_path, "worker-0", "step 1\n")
    keep_log(tmp_path, "worker-1", "step 1\n")
    progress = b'{"size": 67108864, "full": true, "gaps": [[1000.0, 1060.0]]}'
    path.with_suffix(".at").write_bytes(progress)
    async with serve_console(tmp_path) as served:
        page, other = [await read(served, f"{LOGS}?rank=worker-{index}") for index in (0, 1)]
        merged = await read(served, f"{LOGS}?merged=1")
    for each in (page, merged):
        assert "worker-0: the copy of this log stopped at 67.1 MB" in each
        assert "kubectl logs demo-worker-0 --namespace default --container " in each
        gap = each.split("worker-0: lines between ")[1].split(" are missing")[0]
        assert '<time datetime="1970-01-01T00:16:40Z">' in gap and '<time datetime="1970-01-01T00:17:40Z">' in gap
    assert "the copy of this log" not in other and "are missing" not in other


async def test_a_copy_that_was_removed_is_no_log_without_lines(tmp_path: Path) -> None:
    keep_run(tmp_path)
    path = keep_log(tmp_path, "worker-0", "")
    path.with_suffix(".at").write_bytes(b'{"full": true, "ended": true}')
    keep_log(tmp_path, "worker-1", "step 1\n")
    async with serve_console(tmp_path) as served:
        page = await read(served, f"{LOGS}?rank=worker-0")
    assert "worker-0: the copy of this log was removed" in page
    assert "kubectl logs demo-worker-0 --namespace default --container " in page
    assert "the log of worker-0 cannot be read any more: it was removed" in page
    assert "printed nothing" not in page and "goes on when there is room" not in page


@pytest.mark.parametrize(("hits", "said"), [(49, "49 lines"), (50, "50 lines"), (51, "the first 50; more than 50")])
async def test_a_search_that_was_cut_says_that_there_is_more(tmp_path: Path, hits: int, said: str) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", "needle\n" * hits)
    async with serve_console(tmp_path) as served:
        page = await read(served, f"{LOGS}?q=needle")
    assert f"In all ranks: {said}</summary>" in page
    assert page.count("<td><code>needle<") == min(hits, 50)


async def test_numbers_of_hits_are_told_with_whether_there_are_more(tmp_path: Path) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", "needle\nhay\n" * 60)
    async with serve_console(tmp_path) as served:
        first = await ask(served, "find?rank=worker-0&q=needle&most=40")
        rest = await ask(served, "find?rank=worker-0&q=needle&most=40&from=80")
    assert first == {"lines": [*range(1, 80, 2)], "upto": 79, "more": True, "whole": True}
    assert rest == {"lines": [*range(81, 121, 2)], "upto": 120, "more": False, "whole": True}


async def test_lines_are_given_by_their_numbers_and_with_their_times(tmp_path: Path) -> None:
    keep_run(tmp_path)
    path = keep_log(tmp_path, "worker-0", "".join(f"step {n}\n" for n in range(1, 10)))
    keep_times(path, (14, 100.0), (28, 101.0))
    async with serve_console(tmp_path) as served:
        told = await ask(served, "lines?rank=worker-0&numbers=2,4,9,12,x&times=1")
    assert [line[2] for line in told["lines"]] == [["step 2"], ["step 4"], ["step 9"]]
    assert told["times"] == [100.0, 101.0, None]


@pytest.mark.slow
async def test_200_lines_of_10_kilobytes_are_cut_to_a_page_of_bounded_size(tmp_path: Path) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", ("<" * 10_000 + "\n") * 1_000)
    async with serve_console(tmp_path) as served:
        told = await ask(served, "lines?rank=worker-0&from=1&n=1000")
        page = await read(served, LOGS)
    assert sum(len(line[2][0]) for line in told["lines"]) <= 2**18 and told["lines"][0][1] == 10_000
    assert len(page) < 1_400_000, "200 lines of 1,310 characters, each of them escaped"


async def test_a_merged_log_opens_at_the_first_error_without_the_ranks_that_lost_a_peer(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True, phase="Failed", cause=FAILED, attempts=(Attempt(0, 100.0),))
    steps = "".join(f"step {n}\n" for n in range(300))
    for index in range(5):
        text = steps + (TRACE if index == 1 else ECHO * 50)
        keep_times(keep_log(tmp_path, f"worker-{index}", text), (len(steps), 100.0), (len(text), 101.0 + (index != 1)))
    async with serve_console(tmp_path) as served:
        page, whole = await read(served, f"{LOGS}?merged=1"), await read(served, f"{LOGS}?merged=1&echoes=1")
        query = page.split('data-query="')[1].split('"')[0].replace("&amp;", "&")
        told = await ask(served, f"lines?{query}&from=304&n=1")
        hits = await ask(served, f"find?{query}&q=ValueError&most=9")
        everywhere = await ask(served, "find?merged=1&q=Connection+closed&most=300")
    assert query == "merged=1&at=0&rank=worker-1" and 'data-line="304"' in page and 'data-error="304"' in page
    assert "4 peers that lost their connection are folded." in page and ">Show their lines<" in page
    assert told["lines"][0][2:5] == [["ValueError: broken"], "worker-1", 304]
    assert hits["lines"] == [304]
    assert 'data-error="1504"' in whole and ECHO.strip() in whole and "are folded." not in whole
    assert everywhere["lines"] == [*range(1505, 1705)], "they print later"


async def test_of_many_ranks_the_table_of_what_was_found_has_few_lines_of_each(tmp_path: Path) -> None:
    keep_run(tmp_path)
    for rank in range(40):
        keep_log(tmp_path, f"worker-{rank}", "loss\n" * 20)
    async with serve_console(tmp_path) as served:
        page = await read(served, f"{LOGS}?q=loss")
        after = await read(served, f"{LOGS}?q=loss&after=worker-7:12")
    table = page.partition('class="found"')[2].partition("</details>")[0]
    assert table.count('<td class="number">') == 480 and table.count("after line 12") == 40
    assert "the first 480; more than 480" in table
    assert after.partition('class="found"')[2].partition("</details>")[0].count('<td class="number">') == 8
