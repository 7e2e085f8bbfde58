"""Repositories of hubs: the real libraries list them from a server here that speaks their protocol."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from aiohttp import web

from datasets.fetch.calls import must_fail, must_fetch, read_tree
from datasets.fetch.hubs import COMMIT, Hub
from datasets.fetch.web import Server, build_bytes, serve
from paddock.datasets.fetch.target import Target
from paddock.datasets.fetching import Fault, Request
from support.programs import lack, need

FILES = {"README.md": b"words", "data/train 好.bin": build_bytes(300_000), "data/empty": b""}
LARGE = frozenset({"data/train 好.bin"})


@pytest.fixture(scope="session")
def hub_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python with the libraries of both hubs, from the index of this machine."""
    uv = need("uv", path=str(Path(sys.executable).parent))
    place = tmp_path_factory.mktemp("hub")
    python = str(place / "bin/python")
    for words in (
        ["venv", "--quiet", "--python", sys.executable, "--allow-existing", str(place)],
        ["pip", "install", "--quiet", "--python", python, "huggingface_hub", "modelscope"],
    ):
        ended = subprocess.run([uv, *words], capture_output=True, text=True, timeout=240)
        if ended.returncode != 0:
            lack("huggingface_hub", f"cannot be installed here: {ended.stderr.strip().splitlines()[-1]}")
    return python


def build(server: Server, tmp_path: Path, uri: str = "hf://datasets/ann/words", **options: object) -> Request:
    usual = {"target": str(tmp_path / "t"), "endpoint": server.url("").rstrip("/")}
    return Request(uri=uri, **{**usual, **options})


@pytest.mark.slow
class TestWithTheLibraries:
    @pytest.fixture(autouse=True)
    def use_libraries(self, hub_python: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PADDOCK_HUB_PYTHON", hub_python)

    @pytest.mark.parametrize("uri", ["hf://datasets/ann/words", "modelscope://datasets/ann/words"])
    async def test_all_files_come_by_the_right_bytes(self, tmp_path: Path, uri: str) -> None:
        async with serve(Server(check=Hub(FILES, LARGE).answer)) as server:
            end = await must_fetch(build(server, tmp_path, uri))
        assert read_tree(tmp_path / "t") == FILES
        assert (end.files, end.size, end.fetched) == (3, 300_005, 300_005)
        assert end.revision == (COMMIT if uri.startswith("hf") else "master")

    async def test_a_token_goes_to_the_hub_alone(self, tmp_path: Path) -> None:
        hub = Hub(FILES, LARGE, token="hush")
        async with serve(Server(check=hub.answer)) as server:
            await must_fetch(build(server, tmp_path, secret={"token": "hush"}))
        assert set(hub.tokens) == {"hub Bearer hush", "cdn "}

    async def test_patterns_choose(self, tmp_path: Path) -> None:
        async with serve(Server(check=Hub(FILES, LARGE).answer)) as server:
            await must_fetch(build(server, tmp_path, exclude=("data/",), revision="main"))
        assert read_tree(tmp_path / "t") == {"README.md": b"words"}

    async def test_a_file_goes_on_where_a_killed_process_left_it(self, tmp_path: Path) -> None:
        """What the libraries themselves cannot do."""
        name = "data/train 好.bin"
        async with serve(Server(check=Hub(FILES, LARGE).answer)) as server:
            first = await must_fetch(build(server, tmp_path))
            (tmp_path / "t" / name).unlink()
            target = Target(str(tmp_path / "t"))
            part = target.open_part(name)
            part.begin(f"sha256:{hashlib.sha256(FILES[name]).hexdigest()}")
            part.append(FILES[name][:200_000])
            part.close()
            target.close()
            end = await must_fetch(build(server, tmp_path))
        assert (first.fetched, end.fetched) == (300_005, 100_000)
        assert read_tree(tmp_path / "t") == FILES

    async def test_a_later_round_fetches_what_has_changed(self, tmp_path: Path) -> None:
        hub = Hub(dict(FILES), LARGE)
        async with serve(Server(check=hub.answer)) as server:
            await must_fetch(build(server, tmp_path))
            del hub.files["data/empty"]
            hub.files["README.md"] = b"more words"
            end = await must_fetch(build(server, tmp_path, round=1))
        assert end.fetched == len(b"more words")
        assert read_tree(tmp_path / "t") == hub.files

    @pytest.mark.parametrize("name", ["README.md", "data/train 好.bin"])
    async def test_bytes_that_are_not_those_of_the_listing_are_refused(self, tmp_path: Path, name: str) -> None:
        async with serve(Server(check=Hub(FILES, LARGE, spoilt={name}).answer)) as server:
            end = await must_fail(build(server, tmp_path))
        assert end.fault == Fault.SOURCE
        assert f'"{name}" of 127.0.0.1' in end.message and "and Hugging Face says" in end.message
        assert name not in read_tree(tmp_path / "t")

    @pytest.mark.parametrize("name", ["../out", "a/../../out", ".paddock/files", "data"])
    async def test_names_that_lead_out_are_refused(self, tmp_path: Path, name: str) -> None:
        async with serve(Server(check=Hub({**FILES, name: b"x"}, LARGE).answer)) as server:
            end = await must_fail(build(server, tmp_path))
        assert end.fault == Fault.SOURCE
        assert f'"{name}"' in end.message
        assert read_tree(tmp_path / "t") == {}

    @pytest.mark.parametrize(
        ("uri", "problem", "revision", "words"),
        [
            ("hf://datasets/ann/none", "", "", "has no dataset ann/none that anybody may see"),
            ("hf://datasets/ann/words", "GatedRepo", "", "refuses ann/words: accept the terms on its page"),
            ("hf://datasets/ann/words", "", "mian", 'has no revision "mian"'),
            ("modelscope://datasets/ann/none", "", "", "has no dataset ann/none that anybody may see"),
        ],
    )
    async def test_what_a_hub_refuses_is_told(
        self, tmp_path: Path, uri: str, problem: str, revision: str, words: str
    ) -> None:
        async with serve(Server(check=Hub(FILES, problem=problem).answer)) as server:
            end = await must_fail(build(server, tmp_path, uri, revision=revision))
        assert (end.fault, words in end.message) == (Fault.SOURCE, True), end.message

    async def test_a_hub_that_is_ill_is_the_networks_fault(self, tmp_path: Path) -> None:
        async with serve(Server(check=lambda request: web.Response(status=500))) as server:
            end = await must_fail(build(server, tmp_path))
        assert end.fault == Fault.NETWORK


async def test_without_a_python_for_hubs_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PADDOCK_HUB_PYTHON", raising=False)
    end = await must_fail(Request(uri="hf://datasets/ann/words", target=str(tmp_path / "t")))
    assert end.fault == Fault.MACHINE
    assert end.message == (
        "hf://datasets/ann/words needs the library huggingface_hub: name a Python that has it in the variable "
        "PADDOCK_HUB_PYTHON"
    )


@pytest.mark.parametrize(
    ("uri", "library"), [("hf://datasets/ann/words", "huggingface_hub"), ("modelscope://ann/words", "modelscope")]
)
async def test_a_python_without_the_library_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str, library: str
) -> None:
    monkeypatch.setenv("PADDOCK_HUB_PYTHON", sys.executable)
    end = await must_fail(Request(uri=uri, target=str(tmp_path / "t")))
    assert end.fault == Fault.MACHINE
    assert f"the Python of PADDOCK_HUB_PYTHON cannot use {library} (No module named" in end.message
