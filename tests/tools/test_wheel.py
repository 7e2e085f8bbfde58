"""`make dist`: what the wheel holds, and that each installer puts a whole `paddock` on the PATH from it.

The three installers of the field put it into an empty place and take its dependencies from the package index that this
machine's settings name; without an index those tests are skipped. Each installed `paddock` runs in an empty directory,
with no path of the repository in its environment.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from paddock.build import BUILD
from paddock.version import __version__
from support.programs import lack, need

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "documents" / "wide_and_deep.yaml"
_LEADING = ("PYTHON", "VIRTUAL_ENV", "PADDOCK", "PIPX_", "UV_TOOL", "CONDA_")
"""Beginnings of variables that would lead an installed program back to the repository or to another place."""


def build_environment(place: Path, path: str, **more: str) -> dict[str, str]:
    """What a user's shell has in an empty home. Caches of the installers stay this machine's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_LEADING)}
    own = {"PADDOCK_HOME": str(place / "state"), "PATH": f"{path}{os.pathsep}{_path_without_repository()}"}
    return {**kept, **own, "COLUMNS": "200", "NO_COLOR": "1", "LC_ALL": "C.UTF-8", **more}


def _path_without_repository() -> str:
    here = str(Path(sys.executable).parent)
    return os.pathsep.join(each for each in os.environ["PATH"].split(os.pathsep) if each != here)


def call(*command: str, environment: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    return end(*command, environment=environment, cwd=cwd).stdout


def end(
    *command: str, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=500
    )
    assert ended.returncode == 0, f"{' '.join(command)}\n{ended.stdout}{ended.stderr}"
    return ended


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dist")
    call("make", "--no-print-directory", "-C", str(ROOT), "dist", f"DIST={place}", f"PYTHON={sys.executable}")
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips where no package index answers, or where this Python makes no environments with pip."""
    place = tmp_path_factory.mktemp("index")
    ask = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "-d", str(place), "jsonpatch"]
    ended = subprocess.run(ask, capture_output=True, text=True, timeout=120)
    if importlib.util.find_spec("ensurepip") is None:
        lack("Python's ensurepip", "is not installed")
    if ended.returncode:
        lack("a package index", "does not answer here")


def install_by_pip(wheel: Path, place: Path) -> Path:
    call(sys.executable, "-m", "venv", str(place / "venv"))
    call(str(place / "venv/bin/pip"), "install", "-q", str(wheel), environment=build_environment(place, ""))
    return place / "venv/bin"


def install_by_uv(wheel: Path, place: Path) -> Path:
    uv = need("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    own = {"UV_TOOL_DIR": str(place / "tools"), "UV_TOOL_BIN_DIR": str(place / "bin"), "UV_PYTHON": sys.executable}
    call(uv, "tool", "install", "-q", str(wheel), environment=build_environment(place, "", **own))
    return place / "bin"


def install_by_pipx(wheel: Path, place: Path) -> Path:
    """pipx itself is installed as its own documentation says: by pip, into an environment of its own."""
    call(sys.executable, "-m", "venv", str(place / "pipx"))
    call(str(place / "pipx/bin/pip"), "install", "-q", "pipx", environment=build_environment(place, ""))
    own = {"PIPX_HOME": str(place / "tools"), "PIPX_BIN_DIR": str(place / "bin"), "PIPX_DEFAULT_PYTHON": sys.executable}
    own |= {"PIPX_MAN_DIR": str(place / "man")}
    call(str(place / "pipx/bin/pipx"), "install", "-q", str(wheel), environment=build_environment(place, "", **own))
    return place / "bin"


INSTALLERS: dict[str, Callable[[Path, Path], Path]] = {
    "pip": install_by_pip, "uv tool": install_by_uv, "pipx": install_by_pipx,
}  # fmt: skip


class Installed:
    """An installed `paddock`, called in an empty directory. Its home is `place/state`."""

    def __init__(self, place: Path, programs: Path) -> None:
        self._environment = build_environment(place, str(programs))
        self.directory = place / "empty"
        self.directory.mkdir()
        program = shutil.which("paddock", path=self._environment["PATH"])
        assert program == str(programs / "paddock"), program

    def __call__(self, *words: str, **environment: str) -> str:
        return self.end(*words, **environment).stdout

    def end(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return end("paddock", *words, environment=self._environment | environment, cwd=self.directory)


@contextmanager
def install(wheel: Path, installer: str, place: Path) -> Iterator[Installed]:
    paddock = Installed(place, INSTALLERS[installer](wheel, place))
    try:
        yield paddock
    finally:
        paddock("down")


@pytest.mark.slow
def test_the_wheel_has_the_product_with_its_languages_and_programs_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {
        "paddock/locale/zh/LC_MESSAGES/paddock.mo",
        "paddock/kube/data/schemas.json.gz",
        "paddock/environments/programs/wide_and_deep/train.py",
        "paddock/environments/programs/resnet/train_fleet.py",
        f"paddock_jobs-{__version__}.dist-info/licenses/LICENSE",
    } <= set(names)
    assert {name.split("/")[0] for name in names} == {"paddock", f"paddock_jobs-{__version__}.dist-info"}
    assert not [name for name in names if name.endswith(".pyc")]


@pytest.mark.slow
def test_the_source_archive_beside_it_has_what_the_operators_image_is_built_from(wheel: Path) -> None:
    """As `paddock manifests` says to who has the wheel alone."""
    with tarfile.open(wheel.parent / f"paddock_jobs-{__version__}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    copied = set(re.findall(r"^COPY (?!--from)(\S+) ", dockerfile, re.MULTILINE))
    assert {"deploy/Dockerfile", ".dockerignore", "src/paddock/version.py"} <= names
    assert copied - {"src/paddock"} <= names


@pytest.mark.slow
def test_what_is_in_it_is_listed_beside_it(wheel: Path) -> None:
    assert {each.name for each in wheel.parent.glob("*.cdx.json")} == {
        f"paddock-{__version__}.cdx.json",
        f"paddock-{__version__}-image.cdx.json",
    }


@pytest.mark.slow
def test_each_module_of_the_repository_is_in_the_wheel(wheel: Path) -> None:
    modules = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert modules - set(zipfile.ZipFile(wheel).namelist()) == set()


@pytest.mark.slow
@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("installer", INSTALLERS)
def test_an_installed_paddock_works_away_from_the_repository(installer: str, wheel: Path, tmp_path: Path) -> None:
    with install(wheel, installer, tmp_path) as paddock:
        assert paddock("--version") == f"paddock {BUILD}\n"
        assert re.search("[\u4e00-\u9fff]{2}", paddock("--help", LC_ALL="zh_CN.UTF-8"))
        assert paddock("validate", str(shutil.copy(DEMO, paddock.directory))).endswith("no problems\n")
        paddock("up")
        assert "paddle" in paddock("get", "env")
        assert str(ROOT) not in paddock("status")


@pytest.mark.paddle
@pytest.mark.usefixtures("index")
@pytest.mark.timeout(900)
def test_an_installed_paddock_trains_the_demo(wheel: Path, tmp_path: Path) -> None:
    """By the installer that the README names first. By the others the installed command works in the same way."""
    with install(wheel, "pipx", tmp_path) as paddock:
        shutil.copy(DEMO, paddock.directory)
        said = paddock.end("run", DEMO.name).stderr
        assert "worker 2/2 succeeded. Held-out AUC 0." in said
