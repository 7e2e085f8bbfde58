"""Builds with a real uv, generated wheels and an index on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import os
import signal
import sys
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from environments.packages import Index, make_builder, make_wheel, run
from paddock.environments.builder import Builder
from paddock.environments.definition import Definition
from paddock.environments.directories import Built
from paddock.environments.disk import OTHERS
from paddock.environments.failures import BuildFailed
from paddock.environments.late_builds import TOOLS
from paddock.environments.progress import Progress
from paddock.environments.pythons import Python
from paddock.environments.uv import Uv, UvRuns
from support.waiting import until

PROJECT = """[build-system]
requires = ["setuptools"]
build-backend = "setuptools"
"""
BACKEND = """
import pathlib
import zipfile

def build_wheel(directory, config_settings=None, metadata_directory=None):
    import tiny
    name, info = "needs_tiny-1.0-py3-none-any.whl", "needs_tiny-1.0.dist-info"
    with zipfile.ZipFile(pathlib.Path(directory) / name, "w") as wheel:
        wheel.writestr("needs_tiny.py", "")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: needs-tiny\\nVersion: 1.0\\n")
        tag = "Root-Is-Purelib: true\\nTag: py3-none-any\\n"
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\\nGenerator: test\\n{tag}")
        wheel.writestr(f"{info}/RECORD", "")
    return name
"""
"""Builds any project as needs-tiny, and imports tiny, which the project does not say."""
TINY = Definition("tiny", requirements=("tiny==1.0",), verify="import tiny")


async def build(builder: Builder, definition: Definition = TINY) -> tuple[Built, list[Progress]]:
    seen: list[Progress] = []
    return await builder.build(definition, seen.append), seen


async def failure(builder: Builder, definition: Definition = TINY) -> str:
    with pytest.raises(BuildFailed) as raised:
        await build(builder, definition)
    return raised.value.message


async def wait_for_uv(parent: psutil.Process, builder: Builder) -> list[psutil.Process]:
    """The processes of a build whose download stalls. uv runs several times in a build: at first there is no directory
    yet, and between two runs there is no process."""

    def find() -> list[psutil.Process]:
        children = parent.children(recursive=True)
        with contextlib.suppress(psutil.NoSuchProcess):
            if leftovers(builder) and any("uv" in child.name() for child in children):
                return children
        return []

    found: list[psutil.Process] = await until(find)
    return found


def leftovers(builder: Builder) -> list[Path]:
    return list(builder.root.glob("*.building-*"))


async def test_the_programs_of_a_build_run_in_its_final_directory(tmp_path: Path, index: Index) -> None:
    index.add("tiny")
    builder = make_builder(tmp_path, index.url)
    built, seen = await build(builder)
    assert built.packages == {"tiny": "1.0"}
    assert built.size > 1000
    assert await run(f"{built.path}/bin/tiny") == "1.0\n"
    assert await run(f"{built.path}/bin/python3", "-c", "import sys, tiny; print(sys.prefix)") == f"{built.path}\n"
    assert (seen[0].phase, seen[-1].phase) == ("resolving", "verifying")
    assert leftovers(builder) == []
    assert "tiny==1.0" in Path(f"{built.path}.log").read_text()


async def test_a_built_directory_is_found_again_without_a_download(tmp_path: Path, index: Index) -> None:
    index.add("tiny")
    builder = make_builder(tmp_path, index.url)
    built, _ = await build(builder)
    downloads = index.downloads
    other = replace(TINY, name="other", program="p", requirements=("Tiny == 1.0",))
    assert builder.read_built(other, builder.preferred) == built
    assert (await build(builder, other))[0] == built
    assert index.downloads == downloads


@pytest.mark.slow
async def test_a_new_check_runs_in_the_existing_directory(tmp_path: Path, index: Index) -> None:
    index.add("tiny")
    builder = make_builder(tmp_path, index.url)
    built, _ = await build(builder)
    stricter = replace(TINY, verify="import os, tiny; assert os.environ.get('FLAG') == '1', 'no flag'")
    assert builder.read_built(stricter, builder.preferred) is None
    assert "does not pass the environment's check (spec.verify): AssertionError: no flag" in await failure(
        builder, stricter
    )
    assert builder.read_built(TINY, builder.preferred) == built
    flagged = replace(stricter, environment=(("FLAG", "1"),))
    assert (await build(builder, flagged))[0] == built
    assert builder.read_built(flagged, builder.preferred) == built


@pytest.mark.slow
async def test_two_builders_at_the_same_time_build_once(tmp_path: Path, index: Index) -> None:
    index.add("tiny", filler=400_000)
    index.hold = True
    first = asyncio.create_task(build(make_builder(tmp_path, index.url)))
    await asyncio.wait_for(index.stalled.wait(), 60)
    waiting = asyncio.Event()
    other = make_builder(tmp_path, index.url)
    second = asyncio.create_task(
        other.build(TINY, lambda progress: waiting.set() if progress.phase == "waiting" else None)
    )
    await asyncio.wait_for(waiting.wait(), 60)
    index.hold = False
    assert (await first)[0] == await second
    assert len(list(other.root.glob("*/paddock.json"))) == 1


@pytest.mark.slow
async def test_a_cancelled_build_leaves_no_process_and_the_next_starts_clean(tmp_path: Path, index: Index) -> None:
    index.add("tiny", filler=400_000)
    index.hold = True
    builder = make_builder(tmp_path, index.url)
    before = psutil.Process().children(recursive=True)  # clusters of other tests
    task = asyncio.create_task(build(builder))
    await asyncio.wait_for(index.stalled.wait(), 60)
    children = set(await wait_for_uv(psutil.Process(), builder)) - set(before)
    assert children
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)
    assert leftovers(builder) == []
    index.hold = False
    assert (await build(builder))[0].packages == {"tiny": "1.0"}


ALONE = """
import asyncio, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from environments.packages import make_builder
from paddock.environments.definition import Definition
builder = make_builder(Path({directory!r}), {url!r})
definition = Definition("tiny", requirements=("tiny==1.0",))
asyncio.run(builder.build(definition, lambda progress: None))
"""


async def test_kill_9_of_the_builder_ends_uv_and_the_next_build_starts_clean(tmp_path: Path, index: Index) -> None:
    index.add("tiny", filler=400_000)
    index.hold = True
    code = ALONE.format(tests=str(Path(__file__).parents[1]), directory=str(tmp_path), url=index.url)
    alone = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    await asyncio.wait_for(index.stalled.wait(), 180)
    builder = make_builder(tmp_path, index.url)
    children = await wait_for_uv(psutil.Process(alone.pid), builder)
    alone.send_signal(signal.SIGKILL)
    await alone.wait()
    _, alive = await asyncio.to_thread(psutil.wait_procs, children, 180)
    assert not alive
    assert len(leftovers(builder)) == 1
    index.hold = False
    built, _ = await build(builder)
    assert leftovers(builder) == []
    assert builder.read_built(TINY, builder.preferred) == built


@pytest.mark.slow
async def test_a_directory_without_a_working_python_is_built_again(tmp_path: Path, index: Index) -> None:
    index.add("tiny")
    builder = make_builder(tmp_path, index.url)
    built, _ = await build(builder)
    python = Path(built.path) / "bin/python"
    python.unlink()
    assert builder.read_built(TINY, builder.preferred) is None
    python.symlink_to("/bin/false")  # runs, but is no Python
    assert (await build(builder))[0].path == built.path
    assert await run(python, "-c", "import tiny; print(tiny.version)") == "1.0\n"


@pytest.mark.slow
async def test_a_directory_without_its_marker_is_built_again(tmp_path: Path, index: Index) -> None:
    index.add("tiny")
    builder = make_builder(tmp_path, index.url)
    built, _ = await build(builder)
    (Path(built.path) / "paddock.json").unlink()
    assert builder.read_built(TINY, builder.preferred) is None
    assert (await build(builder))[0].packages == {"tiny": "1.0"}


@pytest.mark.slow
async def test_the_error_for_an_unreachable_index_names_it_without_password(tmp_path: Path) -> None:
    sentence = await failure(make_builder(tmp_path, "http://user:secret@127.0.0.1:9/simple"))
    assert sentence.startswith("the package index did not answer (127.0.0.1:9): check the network, or set UV_DEFAULT")
    assert leftovers(make_builder(tmp_path, "")) == []
    log = Path(sentence.partition("log: ")[2].rstrip(")"))
    assert "Connection refused" in log.read_text()
    assert "secret" not in log.read_text() + sentence


@pytest.mark.slow
async def test_a_package_whose_build_imports_another_one_is_built_after_it(tmp_path: Path, index: Index) -> None:
    for name in TOOLS:
        index.add(name, **({"source": BACKEND} if name == "setuptools" else {}))
    index.add("tiny")
    archive = tmp_path / "needs_tiny-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as sdist:
        for name, text in {"pyproject.toml": PROJECT, "PKG-INFO": "Metadata-Version: 2.1\nName: needs-tiny\n"}.items():
            entry = tarfile.TarInfo(f"needs_tiny-1.0/{name}")
            entry.size = len(text)
            sdist.addfile(entry, io.BytesIO(text.encode()))
    needy = Definition("late", requirements=("tiny", f"needs-tiny @ {archive.as_uri()}"), verify="import needs_tiny")
    built, _ = await build(make_builder(tmp_path, index.url), needy)
    assert {"tiny": "1.0", "needs-tiny": ""}.items() <= built.packages.items()
    alone = replace(needy, requirements=needy.requirements[1:])
    said = await failure(make_builder(tmp_path / "other", index.url), alone)
    assert said.startswith("needs-tiny is built with tiny, and does not say so: write tiny into the requirements")


async def test_options_of_a_requirements_file_reach_uv(tmp_path: Path, index: Index) -> None:
    index.add("tiny", "1.0")
    index.add("tiny", "2.0")
    builder = make_builder(tmp_path, index.url)
    limited = Definition("limited", requirements=("tiny",), options=("-c tiny<2", f"# {tmp_path} 1"))
    assert (await build(builder, limited))[0].packages == {"tiny": "1.0"}
    (tmp_path / "links").mkdir()
    file, content = make_wheel("linked", "3.0")
    (tmp_path / "links" / file).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    for hashed, fails in ((digest, False), (digest[::-1], True)):
        linked = Definition("linked", requirements=(f"Linked == 3 ; python_version > '3' --hash=sha256:{hashed}",),
                            options=(f"-f {tmp_path}/links",))  # fmt: skip
        if fails:
            assert "linked==3.0 as it was downloaded has none of its hashes" in await failure(builder, linked)
        else:
            assert (await build(builder, linked))[0].packages == {"linked": "3.0"}


async def test_the_error_for_an_unknown_package(tmp_path: Path, index: Index) -> None:
    assert (await failure(make_builder(tmp_path, index.url))).startswith(
        "spec.requirements: no package index here has tiny: check the name, or set spec.indexURL"
    )


@pytest.mark.slow
async def test_the_error_for_an_unknown_version(tmp_path: Path, index: Index) -> None:
    index.add("tiny", "2.0")
    sentence = await failure(make_builder(tmp_path, index.url))
    assert sentence.startswith(
        "spec.requirements: there is no tiny==1.0: change the version; `pip index versions tiny`"
    )


@pytest.mark.slow
async def test_the_error_for_an_invalid_requirement(tmp_path: Path, index: Index) -> None:
    sentence = await failure(make_builder(tmp_path, index.url), Definition("x", requirements=("tiny=!3",)))
    assert sentence.startswith("spec.requirements: not a requirement: ")


@pytest.mark.slow
async def test_the_error_for_an_unknown_python(tmp_path: Path) -> None:
    sentence = await failure(make_builder(tmp_path, ""), replace(TINY, python=">=3.40,<3.42"))
    assert "is too old for tiny 1.0, and uv knows no Python 3.40 to 3.41 for this machine" in sentence


async def test_the_error_for_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in the way")
    sentence = await failure(make_builder(tmp_path, ""))
    assert sentence.startswith(f"cannot write {tmp_path}/cache")
    assert "XDG_CACHE_HOME" in sentence


async def test_the_error_without_uv_says_how_to_install_it(tmp_path: Path) -> None:
    assert "pip install uv" in await failure(replace(make_builder(tmp_path, ""), program=""))


async def test_the_index_of_pip_is_used(tmp_path: Path, index: Index) -> None:
    """From pip.conf, which uv itself does not read."""
    index.add("tiny")
    builder = make_builder(tmp_path, "")
    config = tmp_path / "home/.config/pip/pip.conf"
    config.parent.mkdir(parents=True)
    config.write_text(f"[global]\nindex-url = {index.url}\n")
    environ = {name: value for name, value in builder.environ.items() if name != "UV_DEFAULT_INDEX"}
    assert (await build(replace(builder, environ=environ)))[0].packages == {"tiny": "1.0"}


@pytest.mark.slow
async def test_the_index_of_the_environment_wins(tmp_path: Path, index: Index) -> None:
    index.add("tiny")
    builder = make_builder(tmp_path, "http://127.0.0.1:9/simple")
    assert (await build(builder, replace(TINY, index_url=index.url)))[0].packages == {"tiny": "1.0"}


async def test_a_definition_with_python_alone_builds_an_empty_environment(tmp_path: Path) -> None:
    built, _ = await build(make_builder(tmp_path, ""), Definition("bare", python=">=3.9"))
    assert os.access(f"{built.path}/bin/python", os.X_OK)
    assert built.packages == {}


@pytest.mark.slow
async def test_another_python_is_found_if_the_running_one_does_not_suit(tmp_path: Path) -> None:
    builder = make_builder(tmp_path, "")
    running = builder.preferred
    there = {**builder.environ, "PATH": f"{sys.base_prefix}/bin:{builder.environ['PATH']}"}  # it may be elsewhere
    pretended = replace(builder, environ=there, preferred=Python(Path("/nowhere/python3.99"), (3, 99, 0)))
    found = await pretended.find_python(Definition("x", python=f"=={running.short}.*"))
    assert found is not None
    assert found.version[:2] == running.version[:2]
    assert found.path.exists()


@pytest.mark.slow
async def test_a_network_error_is_retried_and_the_progress_counts_the_tries(tmp_path: Path, index: Index) -> None:
    index.add("tiny")
    index.failing = 1
    built, seen = await build(make_builder(tmp_path, index.url))
    assert built.packages == {"tiny": "1.0"}
    said = [progress.explain() for progress in seen if progress.phase == "retrying"]
    assert said == ["building (tiny 1.0), the network failed: try 2 of 3"]


@pytest.mark.slow
async def test_a_network_error_fails_the_build_after_three_tries(tmp_path: Path, index: Index) -> None:
    index.failing = 99
    sentence = await failure(make_builder(tmp_path, index.url))
    assert sentence.startswith("the package index did not answer (127.0.0.1:")
    assert "(tried 3 times)" in sentence
    assert index.asked == 3, index.asked_by


@pytest.mark.slow
async def test_a_disk_that_is_too_small_fails_the_build_during_the_download(tmp_path: Path, index: Index) -> None:
    index.add("tiny", filler=3_000_000)
    index.hold = True
    builder = replace(make_builder(tmp_path, index.url), unpack_ratios={OTHERS: 1e12})
    sentence = await failure(builder)
    assert sentence.startswith("tiny 1.0 needs at least ")
    assert f"free where {builder.root} is: free some space" in sentence
    assert leftovers(builder) == []


@pytest.mark.slow
async def test_what_uv_leaves_in_its_temporary_directory_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The locks of builds from source, as of setuptools."""
    (temporary := tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    program = tmp_path / "uv"
    program.write_text('#!/bin/sh\ntouch "$TMPDIR/uv-setuptools.lock" && echo "$TMPDIR"\n')
    program.chmod(0o755)
    python = Python(Path("/usr/bin/python3"), (3, 12, 0))
    runs = UvRuns(Uv(str(program), dict(os.environ), tmp_path, tmp_path), TINY, python, lambda _: None)
    assert (await runs.run("venv")).strip().startswith(f"{temporary}/")
    assert not list(temporary.iterdir())
