"""The outputs of a job, over HTTP: programs wrote them, so names and contents may be anything."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import re
import socket
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paddock.app.consoles.outputs import MOST_NAMES, LocalOutputs
from paddock.app.home import Home
from paddock.console.backend import OutputRun, Unshown
from paddock.console.outputs.paths import read_path, write_path
from paddock.console.outputs.previews import TEXT_BYTES, WHOLE_BYTES, Kind, build_preview
from paddock.node.runtime.pod_files import remove_tree
from support.consoles import keep_run, serve_console
from support.tiers import keep_light
from support.written import build_written_job

JOB = "/jobs/default/paddlejobs.batch.paddlepaddle.org/demo"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def make_outputs(directory: Path, uid: str = "one") -> Path:
    found = Home(directory, directory).outputs / "default" / f"demo-{uid_mark(uid)}"
    (found / "checkpoint").mkdir(parents=True)
    return found


def uid_mark(uid: str) -> str:
    return uid[:8]


def address(path: str = "", part: str = "", **more: str) -> str:
    query = {**({"path": write_path(path)} if path else {}), **more}
    return f"{JOB}/outputs{part}" + (f"?{urlencode(query)}" if query else "")


@pytest.fixture
def uid() -> str:
    return "0a1b2c3d-4444"


@pytest.fixture
def out(tmp_path: Path, uid: str) -> Path:
    return make_outputs(tmp_path, uid)


def job(uid: str, **status: Any) -> list[Any]:
    made = build_written_job(**(status or {"phase": "Running"}))
    made["metadata"]["uid"] = uid
    return [made]


async def read(directory: Path, where: str, uid: str, status: int = 200) -> str:
    async with serve_console(directory, job(uid)) as served, served.session.get(where) as answer:
        assert answer.status == status, await answer.text()
        return await answer.text()


def text_of(page: str) -> str:
    main = page[page.index("<main") : page.index("</main>")]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


async def test_a_directory_has_its_names_with_sizes_and_links_to_each(tmp_path: Path, out: Path, uid: str) -> None:
    (out / "metrics.json").write_text('{"loss": 0.5}')
    (out / "step-10").mkdir()
    (out / "step-9").mkdir()
    (out / ".metrics").mkdir()
    page = await read(tmp_path, address(), uid)
    said = text_of(page)
    assert said.index("checkpoint/") < said.index("step-9/") < said.index("step-10/") < said.index("metrics.json")
    assert ".metrics" not in said, "what charts read is none of its results"
    assert "13 B" in said and 'aria-current="page">Outputs' in page
    assert f'href="{JOB}/outputs/file?run=0a1b2c3d&amp;path=metrics.json"' in page


async def test_the_largest_and_the_newest_come_first_when_asked_for(tmp_path: Path, out: Path, uid: str) -> None:
    for name, size, when in (("a", 10, 300.0), ("b", 3000, 100.0), ("c", 20, 200.0)):
        (out / name).write_bytes(b"x" * size)
        os.utime(out / name, (when, when))
    for sort, order in (("-size", "bca"), ("size", "acb"), ("-changed", "acb"), ("name", "abc"), ("-name", "cba")):
        page = await read(tmp_path, address(sort=sort), uid)
        assert "".join(re.findall(r'data-key="Enter">([abc])</a>', page)) == order, sort


async def test_a_run_that_has_written_nothing_says_where_a_program_writes(tmp_path: Path, out: Path, uid: str) -> None:
    said = text_of(await read(tmp_path, address(), uid))
    assert "No program has written a result yet: it writes to the directory in PADDOCK_OUTPUT_DIR." in said
    assert "Download all" not in said


async def test_each_run_is_a_link_and_the_newest_is_shown(tmp_path: Path, uid: str) -> None:
    for number, mark in enumerate(("aaaaaaaa", uid)):
        made = make_outputs(tmp_path, mark)
        (made / f"of-{number}").write_text("x")
        os.utime(made, (1000.0 + number, 1000.0 + number))
    page = await read(tmp_path, address(), uid)
    assert "of-1" in page and "of-0" not in page and "run=aaaaaaaa" in page
    assert "of-0" in await read(tmp_path, address(run="aaaaaaaa"), uid)
    assert "no run ffffffff whose outputs are kept" in await read(tmp_path, address(run="ffffffff"), uid, 404)


async def test_outputs_of_a_deleted_job_are_still_looked_at(tmp_path: Path, out: Path) -> None:
    (out / "result.txt").write_text("kept")
    async with serve_console(tmp_path) as served:
        async with served.session.get(address()) as answer:
            page = await answer.text()
        async with served.session.get(f"{JOB}x/outputs") as answer:
            assert answer.status == 404
    assert "This job was deleted. What it wrote is kept:" in text_of(page) and "result.txt" in page


async def test_a_job_of_another_kind_does_not_show_them(tmp_path: Path, out: Path, uid: str) -> None:
    keep_run(tmp_path)
    home = Home(tmp_path, tmp_path)
    record = next(home.history.rglob("*.json"))
    changed = json.loads(record.read_text()) | {"uid": uid, "kind": "PyTorchJob", "api_version": "kubeflow.org/v1"}
    record.with_name(f"{uid}.json").write_text(json.dumps(changed))
    async with serve_console(tmp_path, job("ffffffff-1")) as served, served.session.get(address()) as answer:
        assert "No program of this job has been started" in await answer.text()


# -- nothing outside, nothing opened that is no file


@pytest.mark.parametrize(
    "path",
    keep_light(
        ["../secret", "checkpoint/../../secret", "..", "a/../..", "/etc/passwd", "x\0y"], ["../secret", "/etc/passwd"]
    ),
)
@pytest.mark.parametrize("part", ["", "/file", "/picture", "/all"])
async def test_no_path_leads_out(tmp_path: Path, out: Path, uid: str, path: str, part: str) -> None:
    (out.parent / "secret").write_text("SECRET")
    text = await read(tmp_path, f"{JOB}/outputs{part}?{urlencode({'path': path})}", uid, 404)
    assert "SECRET" not in text and "root:" not in text


@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "../demo-0a1b2c3d/../secret", "/", ".."])
async def test_a_link_is_shown_and_never_followed_outside(tmp_path: Path, out: Path, uid: str, target: str) -> None:
    (out.parent / "secret").write_text("SECRET")
    (out.parent.parent / "secret").write_text("SECRET")
    (out / "link").symlink_to(target)
    assert f"link → {target}" in text_of(await read(tmp_path, address(), uid))
    for part in ("", "/file", "/picture", "/all"):
        text = await read(tmp_path, address("link", part), uid, 404)
        assert "SECRET" not in text and "root:" not in text
        assert "is not followed" in text


async def test_a_link_inside_of_the_directory_is_followed(tmp_path: Path, out: Path, uid: str) -> None:
    (out / "checkpoint/step-7").mkdir()
    (out / "checkpoint/step-7/log.txt").write_text("seven")
    (out / "latest").symlink_to("checkpoint/step-7")
    assert "log.txt" in await read(tmp_path, address("latest"), uid)
    assert "seven" in await read(tmp_path, address("latest/log.txt"), uid)


async def test_a_link_in_place_of_the_runs_directory_is_not_followed(tmp_path: Path, out: Path, uid: str) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("SECRET")
    (out / "checkpoint").rmdir()
    out.rmdir()
    out.symlink_to(secret)
    assert "cannot be read" in await read(tmp_path, address(), uid, 404)
    assert "SECRET" not in await read(tmp_path, address("key", "/file"), uid, 404)


async def test_what_is_no_file_is_shown_and_never_opened(
    tmp_path: Path, out: Path, uid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(out / "pipe")
    monkeypatch.chdir(out)  # the path of a socket has 107 bytes at most
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
        page = await read(tmp_path, address(), uid)
        assert text_of(page).count("no file: it is not opened") == 2
        for name in ("pipe", "socket"):
            for part in ("", "/file", "/picture"):
                assert "is no file and no directory" in await read(tmp_path, address(name, part), uid, 404)
    archive = await fetch(tmp_path, address(part="/all"), uid)
    assert unpack(archive) == {}


def unpack(content: bytes) -> dict[str, bytes]:
    """The files of an archive, by their names."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        opened = {each.name: archive.extractfile(each) for each in archive}
        return {name: file.read() for name, file in opened.items() if file is not None}


async def fetch(directory: Path, where: str, uid: str, status: int = 200, **headers: str) -> bytes:
    async with serve_console(directory, job(uid)) as served, served.session.get(where, headers=headers) as answer:
        assert answer.status == status
        return await answer.read()


NAMES = [
    "<b>x<b>",
    "a\nb",
    "a\x1b[31m",
    "\u202etxt.exe",
    '" onclick="x',
    "%2e%2e",
    "~7E",
    "a&b=c",
    "模型 1.txt",
    "a#b?c",
    "\udcff\udcfe",
]


@pytest.mark.parametrize("name", keep_light(NAMES, ["<b>x<b>", "~7E", "a#b?c", "\udcff\udcfe"]))
async def test_a_name_may_be_any_bytes(tmp_path: Path, out: Path, uid: str, name: str) -> None:
    (out / name).mkdir()
    (out / name / "in.txt").write_text("inside")
    page = await read(tmp_path, address(), uid)
    assert "<b>x" not in page and "\x1b" not in page and "\u202e" not in page and '" onclick' not in page
    links = [html.unescape(each) for each in re.findall(r'<a href="([^"]+)" data-key="Enter"', page)]
    link = next(each for each in links if "checkpoint" not in each)
    inside = await read(tmp_path, link, uid)
    below = html.unescape(re.findall(r'<a href="([^"]+)" data-key="Enter"', inside)[0])
    assert "inside" in await read(tmp_path, below, uid)
    archive = unpack(await fetch(tmp_path, address(part="/all"), uid))
    assert list(archive) == [f"{name}/in.txt"]


@given(
    st.text(st.characters(codec=None, exclude_characters="/\0"), min_size=1, max_size=20).filter(
        lambda t: t not in (".", "..")
    )
)
@example("~")
@example("~FF")
@example("\udc80~")
def test_an_address_names_the_same_path(name: str) -> None:
    try:
        os.fsencode(name)
    except UnicodeEncodeError:  # no file has it
        return
    name = os.fsdecode(os.fsencode(name))
    assert write_path(name).encode() and read_path(write_path(f"a/{name}")) == f"a/{name}"


@pytest.mark.parametrize("path", ["..", "a/..", "a/../..", "../a", "a\0", "\ud800", "x" * 5000, "~2E~2E/a"])
def test_an_address_names_nothing_outside(path: str) -> None:
    assert read_path(path) is None


# -- what is shown of a file


async def test_markup_in_a_file_is_text(tmp_path: Path, out: Path, uid: str) -> None:
    bad = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    for name in ("a.html", "a.svg", "a.txt", "a.csv", "a.json", "noname"):
        (out / name).write_text(json.dumps([bad]) if name.endswith("json") else f"{bad},2\n{bad},3\n")
        page = await read(tmp_path, address(name), uid)
        assert "<script>alert" not in page and "<img src=x" not in page
        assert "alert(1)" in text_of(page)


@pytest.mark.parametrize(
    ("start", "media_type"),
    [
        (PNG, "image/png"), (b"\xff\xd8\xff\xe0" + b"0" * 20, "image/jpeg"), (b"GIF89a" + b"0" * 20, "image/gif"),
        (b"RIFF0000WEBPVP8 ", "image/webp"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", ""),
        (b"<html>", ""), (b"%PDF-1.4", ""),
    ],
)  # fmt: skip
async def test_a_picture_is_known_by_its_content_and_runs_nothing(
    tmp_path: Path, out: Path, uid: str, start: bytes, media_type: str
) -> None:
    (out / "p.png").write_bytes(start)
    async with serve_console(tmp_path, job(uid)) as served:
        async with served.session.get(address("p.png")) as answer:
            assert ('class="picture"' in await answer.text()) == bool(media_type)
        async with served.session.get(address("p.png", "/picture")) as answer:
            assert answer.status == (200 if media_type else 404)
            if media_type:
                assert answer.content_type == media_type and answer.headers["X-Content-Type-Options"] == "nosniff"
                assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"


async def test_a_download_is_kept_and_never_shown(tmp_path: Path, out: Path, uid: str) -> None:
    bad = b"<script>alert(1)</script>"
    (out / "模型.html").write_bytes(bad)
    where = address("模型.html", "/file")
    async with serve_console(tmp_path, job(uid)) as served, served.session.get(where) as answer:
        assert (answer.content_type, await answer.read()) == ("application/octet-stream", bad)
        assert answer.headers["Content-Disposition"].startswith("attachment; ")
        assert "filename*=UTF-8''%E6%A8%A1%E5%9E%8B.html" in answer.headers["Content-Disposition"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["Content-Length"] == "25"
        assert "sandbox" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("asked", "status", "expected"),
    [
        ("bytes=2-4", 206, b"234"), ("bytes=7-", 206, b"789"), ("bytes=-3", 206, b"789"), ("bytes=5-99", 206, b"56789"),
        ("bytes=10-", 416, b""), ("bytes=99-100", 416, b""), ("bytes=4-2", 200, b"0123456789"),
        ("bytes=0-1,4-5", 200, b"0123456789"), ("bytes=x", 200, b"0123456789"),
        ("bytes=" + "9" * 5000 + "-", 200, b"0123456789"),
    ],
)  # fmt: skip
async def test_a_part_of_a_file_can_be_had(
    tmp_path: Path, out: Path, uid: str, asked: str, status: int, expected: bytes
) -> None:
    (out / "ten").write_text("0123456789")
    assert await fetch(tmp_path, address("ten", "/file"), uid, status, Range=asked) == expected


async def test_a_part_of_a_file_that_is_another_one_now_is_the_whole(tmp_path: Path, out: Path, uid: str) -> None:
    (out / "ten").write_text("0123456789")
    headers = {"Range": "bytes=5-", "If-Range": '"1-2"'}
    async with serve_console(tmp_path, job(uid)) as served:
        async with served.session.get(address("ten", "/file"), headers=headers) as answer:
            assert (answer.status, await answer.read()) == (200, b"0123456789")
            headers["If-Range"] = answer.headers["ETag"]
        async with served.session.get(address("ten", "/file"), headers=headers) as answer:
            assert (answer.status, await answer.read()) == (206, b"56789")


async def test_a_file_of_ten_gigabytes_is_looked_at_by_its_ends(tmp_path: Path, out: Path, uid: str) -> None:
    with (out / "big.log").open("wb") as file:
        file.write(b"first line\n" + b"x" * WHOLE_BYTES)
        file.truncate(10 * 2**30)
    assert "no text" in text_of(await read(tmp_path, address("big.log"), uid))
    part = await fetch(tmp_path, address("big.log", "/file"), uid, 206, Range=f"bytes={10 * 2**30 - 3}-")
    assert part == b"\0\0\0"


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.txt", b"", Kind.EMPTY), ("a.txt", b"hello", Kind.TEXT), ("a.pt", b"hello", Kind.BINARY),
        ("model.safetensors", b"hello", Kind.BINARY), ("x", b"a\0b", Kind.BINARY), ("a.json", b"{}", Kind.JSON),
        ("a.json", b"{bad", Kind.TEXT), ("a.json", b"[" * 100_000, Kind.TEXT), ("a.json", b"\xff", Kind.TEXT),
        ("a.csv", b"a,b\n1,2\n", Kind.TABLE), ("a.tsv", b"a\tb\n1\t2\n", Kind.TABLE), ("a.csv", b"a\n1\n", Kind.TEXT),
        ("a.csv", b'a,"' + b"x" * 200_000, Kind.TEXT), ("a.jsonl", b'{"a": 1}\n', Kind.TEXT), ("a", PNG, Kind.PICTURE),
        ("a.svg", b"<svg/>", Kind.TEXT), ("a.html", b"<p>", Kind.TEXT), ("a", b"\xfe\xff\xfd", Kind.TEXT),
    ],
)  # fmt: skip
def test_a_file_is_shown_by_what_it_is(name: str, content: bytes, kind: Kind) -> None:
    assert build_preview(name, len(content), content[:WHOLE_BYTES], content[-TEXT_BYTES:]).kind is kind


def test_a_long_text_has_its_beginning_and_its_end() -> None:
    content = b"first\n" + b"middle\n" * 200_000 + b"last\n"
    shown = build_preview("a.log", len(content), content[:WHOLE_BYTES], content[-TEXT_BYTES:])
    assert shown.text.startswith("first") and shown.end.endswith("last\n")
    assert len(shown.text) + shown.left_out + len(shown.end) == len(content)
    short = content[: 2 * TEXT_BYTES]
    whole = build_preview("a.log", len(short), short, short[-TEXT_BYTES:])
    assert (whole.text, whole.end, whole.left_out) == (short.decode(), "", 0)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    )
)
def test_json_with_its_levels_says_the_same(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    shown = build_preview("a.json", len(text), text, text[-TEXT_BYTES:])
    if shown.kind is Kind.JSON:
        assert json.loads(shown.text) == value
        assert shown.text == json.dumps(value, ensure_ascii=False, indent=2)


def test_a_number_of_a_json_file_is_shown_as_it_is_written() -> None:
    text = b'{"lr": 0.10, "big": 1e400, "id": 12345678901234567890, "lr": 1E-5}'
    shown = build_preview("a.json", len(text), text, text).text
    assert all(each in shown for each in ("0.10", "1e400", "12345678901234567890", "1E-5"))


def test_a_table_has_a_thousand_rows_and_says_that_there_are_more() -> None:
    written = io.StringIO()
    csv.writer(written).writerows([["step", "loss"], *([step, 0.5] for step in range(5_000))])
    content = written.getvalue().encode()
    shown = build_preview("a.csv", len(content), content, content[-TEXT_BYTES:])
    assert (len(shown.rows), shown.cut, shown.rows[0], shown.rows[-1][0]) == (1_001, True, ["step", "loss"], "999")


# -- bounds


def test_a_wide_table_has_fewer_rows_as_a_page_has_ten_thousand_cells() -> None:
    text = "\n".join(",".join(map(str, range(60))) for _ in range(1_001)).encode()
    shown = build_preview("a.csv", len(text), text, text[-TEXT_BYTES:])
    assert (len(shown.rows), len(shown.rows[1]), shown.cut) == (201, 50, True)


@pytest.mark.slow
async def test_a_directory_of_many_files_has_pages_of_three_hundred(
    tmp_path: Path, out: Path, uid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2_100):
        (out / f"f-{number:04}").touch()
    page = await read(tmp_path, address(), uid)
    assert page.count("<tr data-row>") == 300 and "1 to 300 of 2101" in text_of(page)
    last = await read(tmp_path, address(page="8"), uid)
    assert last.count("<tr data-row>") == 1 and "f-2099" in last
    monkeypatch.setattr("paddock.app.consoles.outputs.MOST_NAMES", 2_000)
    monkeypatch.setattr("paddock.app.consoles.outputs.MOST_SORTED", 1_000)
    said = text_of(await read(tmp_path, address(sort="-size"), uid))
    assert "this directory has more than 2,000 names: the others are not looked at" in said
    assert "so many names are sorted by name alone" in said


@pytest.mark.parametrize(("name", "levels"), [("d" * 100, 60), pytest.param("d", 3_000, marks=pytest.mark.slow)])
def test_a_deep_directory_is_packed_as_far_as_paths_go(tmp_path: Path, out: Path, name: str, levels: int) -> None:
    deep = os.open(out, os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=deep)
        below = os.open(name, os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    (out / name / name / "file").write_text("x")
    (out / "z").write_text("y")
    run = OutputRun("0a1b2c3d", None, 0.0, str(out))
    archive = unpack(b"".join(LocalOutputs(Home(tmp_path, tmp_path)).pack(run, "")))
    remove_tree(out)  # deeper than pytest removes
    assert set(archive) == {f"{name}/{name}/file", "z"}


def test_an_archive_has_a_bound(tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_NAMES == 100_000
    monkeypatch.setattr("paddock.app.consoles.outputs.MOST_NAMES", 10)
    for number in range(30):
        (out / f"f-{number}").write_text(str(number))
    run = OutputRun("0a1b2c3d", None, 0.0, str(out))
    archive = unpack(b"".join(LocalOutputs(Home(tmp_path, tmp_path)).pack(run, "")))
    assert len(archive) <= 10
    assert archive["LEFT-OUT.txt"] == b"There are more than 10 names: the others are left out.\n"


@pytest.mark.parametrize("change", [lambda path: path.unlink(), lambda path: os.truncate(path, 100),
                                    lambda path: path.write_bytes(b"y" * 2_000_000)])  # fmt: skip
def test_an_archive_holds_when_a_file_changes_while_it_is_read(
    tmp_path: Path, out: Path, change: Callable[[Path], Any]
) -> None:
    (out / "a").write_bytes(b"x" * 1_000_000)
    (out / "b").write_text("after")
    run = OutputRun("0a1b2c3d", None, 0.0, str(out))
    pieces = LocalOutputs(Home(tmp_path, tmp_path)).pack(run, "")
    begun = [next(pieces), next(pieces)]
    change(out / "a")
    archive = unpack(b"".join([*begun, *pieces]))
    assert [(name, len(content)) for name, content in archive.items()] == [("a", 1_000_000), ("b", 5)]
    assert archive["b"] == b"after"


def test_a_file_that_goes_is_a_sentence(tmp_path: Path, out: Path) -> None:
    run = OutputRun("0a1b2c3d", None, 0.0, str(out))
    with pytest.raises(Unshown, match="No such file"):
        LocalOutputs(Home(tmp_path, tmp_path)).open(run, "gone")
    with pytest.raises(Unshown, match="cannot be read"):
        LocalOutputs(Home(tmp_path, tmp_path)).list(run, "x" * 300, "name", 0, 10)


# -- on a cluster


async def test_on_a_cluster_it_says_which_claim_and_what_fetches_it(tmp_path: Path) -> None:
    made = build_written_job(phase="Running")
    template = made["spec"]["worker"]["template"]["spec"]
    template["volumes"] = [{"name": "out", "persistentVolumeClaim": {"claimName": "results"}}]
    template["containers"][0]["volumeMounts"] = [{"name": "out", "mountPath": "/out"}]
    served_there = serve_console(tmp_path, [made], outputs=False, reach=" --context prod")
    async with served_there as served, served.session.get(address()) as answer:
        said = text_of(await answer.text())
    fetch = "paddock exec paddlejob/demo --role worker --rank 0 --context prod -- tar c -C /out . | tar x"
    assert "results" in said and fetch in said
    assert "paddock board paddlejob/demo --namespace default --context prod" in said
