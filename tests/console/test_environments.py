from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.kube.calls import Create, Delete, Patch, Replace
from paddock.kube.meta import ENVIRONMENTS, Manifest
from support.places import serve_place

KEY = "0123456789abcdef0123"


def build_environment(name: str, status: dict[str, Any] | None = None, **spec: Any) -> Manifest:
    return {
        "apiVersion": ENVIRONMENTS.api_version, "kind": "Environment",
        "metadata": {"name": name, "uid": f"uid-{name}", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"images": [f"*/{name}:*"], "requirements": ["six==1.16.0"], **spec}, "status": status or {},
    }  # fmt: skip


BUILDING = build_environment(
    "tiny", {"phase": "Building", "progress": 40, "message": "building (six 1.16.0), 40 %", "key": KEY}
)
FAILED = build_environment("broken", {"phase": "Failed", "message": f"no wheel (log: /cache/environments/{KEY}.log)"})


def build_user() -> Manifest:
    job = build_manifest()
    job["metadata"]["annotations"] = {"paddock.dev/environment": "tiny"}
    return job


async def test_the_list_tells_what_is_built_and_who_uses_it(tmp_path: Path) -> None:
    async with serve_place({ENVIRONMENTS: [BUILDING, FAILED], RESOURCE: [build_user()]}, tmp_path) as place:
        page = await place.read("/environments")
    assert 'value="40"' in page and "building (six 1.16.0), 40 %" in page
    assert "no wheel" in page
    assert page.count("demo</a>") == 1


async def test_a_page_shows_the_log_while_it_is_built_and_after_a_failure(tmp_path: Path) -> None:
    (tmp_path / f"{KEY}.log").write_text("$ uv venv\n<script>")
    async with serve_place({ENVIRONMENTS: [BUILDING, FAILED]}, tmp_path) as place:
        for name in ("tiny", "broken"):
            page = await place.read(f"/environments/{name}")
            assert "$ uv venv\n&lt;script&gt;" in page


@pytest.mark.parametrize("key", ["../../secret", "x" * 20, ""])
async def test_a_key_that_is_none_reads_no_file(tmp_path: Path, key: str) -> None:
    (tmp_path / "secret.log").write_text("not for you")
    one = build_environment("tiny", {"phase": "Ready", "key": key})
    async with serve_place({ENVIRONMENTS: [one]}, tmp_path / "a" / "b") as place:
        assert "not for you" not in await place.read("/environments/tiny")


async def test_passwords_in_addresses_of_indexes_are_not_shown(tmp_path: Path) -> None:
    one = build_environment("tiny", indexURL="https://me:secret@index/", extraIndexURLs=["https://me:secret@more/"])
    async with serve_place({ENVIRONMENTS: [one]}, tmp_path) as place:
        assert "secret" not in await place.read("/environments/tiny")


async def test_a_wrong_name_is_answered_with_the_nearest(tmp_path: Path) -> None:
    async with serve_place({ENVIRONMENTS: [BUILDING]}, tmp_path) as place:
        assert "did you mean tiny?" in await place.read("/environments/tinny")


async def test_a_cluster_has_no_environments_and_says_so(tmp_path: Path) -> None:
    async with serve_place({}, tmp_path, local=False) as place:
        for address in ("/environments", "/environments/tiny", "/new-environment"):
            assert "environments are of a local cluster" in await place.read(address)


async def test_a_form_makes_an_environment_and_asks_for_its_build(tmp_path: Path) -> None:
    typed = {"name": " mine ", "python": "3.12", "requirements": "six\nnumpy<2\n", "images": "a/*, b/*", "build": "1"}
    async with serve_place({}, tmp_path) as place:
        async with place.session.post("/new-environment", data=typed, allow_redirects=False) as answer:
            assert (answer.status, answer.following) == (303, "/environments/mine")
        (call,) = place.api.calls
    assert isinstance(call, Create)
    assert call.manifest["metadata"]["name"] == "mine"
    assert "paddock.dev/build-requested" in call.manifest["metadata"]["annotations"]
    assert call.manifest["spec"] == {
        "images": ["a/*", "b/*"], "python": "==3.12.*", "requirements": ["six", "numpy<2"]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"name": "mine", "requirements": "six = 1"}, "requirements.txt:1"),
        ({"name": "mine", "requirements": "-r /etc/passwd"}, "/etc/passwd: No such file or directory"),
        ({"name": "mine", "requirements": ""}, "no package is named in it"),
        ({"name": "", "requirements": "six"}, "a name is wanted"),
    ],
)
async def test_what_is_wrong_is_said_and_what_was_typed_stays(tmp_path: Path, typed: Any, said: str) -> None:
    async with serve_place({}, tmp_path) as place:
        async with place.session.post("/new-environment", data=typed) as answer:
            page = await answer.text()
        assert said in page and f">\n{typed['requirements']}</textarea>" in page
        assert not place.api.calls


async def test_its_name_is_typed_to_remove_one_that_jobs_use(tmp_path: Path) -> None:
    async with serve_place({ENVIRONMENTS: [BUILDING], RESOURCE: [build_user()]}, tmp_path) as place:
        assert "Type tiny to remove it" in await place.read("/environments/tiny")
        async with place.session.post("/environments/tiny/delete", data={"name": "tin"}) as answer:
            assert answer.status == 409 and not place.api.calls
        async with place.session.post("/environments/tiny/delete", data={"name": "tiny"}, allow_redirects=False):
            assert isinstance(place.api.calls[0], Delete)
        async with place.session.post("/environments/tiny/build", allow_redirects=False) as answer:
            assert answer.status == 303 and isinstance(place.api.calls[1], Patch)


async def change(place: Any, typed: dict[str, str]) -> tuple[int, str]:
    async with place.session.post("/environments/mine/edit", data=typed, allow_redirects=False) as answer:
        return answer.status, html.unescape(await answer.text())


PLAIN = {"packages": "six==1.16.0", "images": "*/mine:*"}


@pytest.mark.parametrize(
    ("typed", "changed", "built"),
    [
        ({"packages": "six==1.16.0\nnumpy<2"}, {"requirements": ["six==1.16.0", "numpy<2"]}, True),
        ({"packages": "six==1.17.0"}, {"requirements": ["six==1.17.0"]}, True),
        ({"python": ">=3.11"}, {"python": ">=3.11"}, True),
        ({"torch_backend": "cpu"}, {"torchBackend": "cpu"}, True),
        ({"index_url": "https://me:secret@index/"}, {"indexURL": "https://me:secret@index/"}, True),
        ({"variables": "A=1\nB=2"}, {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}, True),
        ({"images": "a/*, b/*"}, {"images": ["a/*", "b/*"]}, False),
        ({"images": ""}, {}, False),
        ({}, {"images": ["*/mine:*"]}, False),
    ],
)
async def test_an_environment_is_changed_in_the_console_as_by_the_command(
    typed: dict[str, str], changed: dict[str, Any], built: bool, tmp_path: Path
) -> None:
    async with serve_place({ENVIRONMENTS: [build_environment("mine")]}, tmp_path) as place:
        assert "/environments/mine/edit" in await place.read("/environments/mine")
        status, _ = await change(place, PLAIN | typed)
        assert status == 303
        (call,) = (each for each in place.api.calls if isinstance(each, Replace))
    spec = {"images": ["*/mine:*"], "requirements": ["six==1.16.0"]} | changed
    if typed.get("images") == "":
        del spec["images"]
    assert call.manifest["spec"] == spec
    assert ("paddock.dev/build-requested" in call.manifest["metadata"].get("annotations", {})) == built


async def test_an_environment_of_files_reads_them_again_and_keeps_what_is_added_beside_them(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("numpy<2\n")
    source = {"files": [str(file)], "added": ["six==1.16.0", "click"]}
    one = build_environment("mine", requirements=["numpy<1", "six==1.16.0", "click"])
    one["metadata"]["annotations"] = {"paddock.dev/requirements-source": json.dumps(source)}
    async with serve_place({ENVIRONMENTS: [one]}, tmp_path) as place:
        page = html.unescape(await place.read("/environments/mine/edit"))
        assert str(file) in page and ">\nsix==1.16.0\nclick</textarea>" in page
        assert (await change(place, {"packages": "six==1.17.0\nrich", "images": "*/mine:*"}))[0] == 303
        (call,) = (each for each in place.api.calls if isinstance(each, Replace))
    assert call.manifest["spec"]["requirements"] == ["numpy<2", "six==1.17.0", "rich"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"packages": "six = 1"}, "requirements.txt:1"),
        ({"packages": "-r /etc/passwd"}, "/etc/passwd: No such file or directory"),
        ({"python": "three"}, "--python"),
        ({"torch_backend": "gpu"}, "--torch-backend"),
        ({"variables": "no pair"}, "--env"),
        ({"packages": "<script>alert(1)</script>"}, "requirements.txt:1"),
    ],
)
async def test_a_change_that_is_wrong_is_said_and_what_was_typed_stays(
    typed: dict[str, str], said: str, tmp_path: Path
) -> None:
    async with serve_place({ENVIRONMENTS: [build_environment("mine")]}, tmp_path) as place:
        async with place.session.post("/environments/mine/edit", data=PLAIN | typed) as answer:
            raw = await answer.text()
        assert "<script>alert" not in raw
        assert said in html.unescape(raw) and next(iter(typed.values())) in html.unescape(raw)
        assert not any(isinstance(each, Replace) for each in place.api.calls)


async def test_a_password_in_the_index_is_not_in_the_form(tmp_path: Path) -> None:
    one = build_environment("mine", indexURL="https://me:secret@index/")
    async with serve_place({ENVIRONMENTS: [one]}, tmp_path) as place:
        assert "secret" not in await place.read("/environments/mine/edit")
        assert (await change(place, PLAIN))[0] == 303
        (call,) = (each for each in place.api.calls if isinstance(each, Replace))
    assert call.manifest["spec"]["indexURL"] == "https://me:secret@index/", "empty leaves it as it is"


@pytest.mark.parametrize(
    ("phase", "said"), [("Ready", "it is built: a change builds it anew"), ("Building", "it is being built")]
)
async def test_why_nothing_is_to_be_built_is_said(phase: str, said: str, tmp_path: Path) -> None:
    async with serve_place({ENVIRONMENTS: [build_environment("mine", {"phase": phase})]}, tmp_path) as place:
        page = await place.read("/environments/mine")
    assert said in page and "/build" not in page
