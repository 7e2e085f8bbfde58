"""The program in the pod that fills a claim, by itself: as `python -c`, with real pips and uvs and no network."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import venv
from pathlib import Path
from typing import Any

import pytest

from environments.packages import make_wheel
from paddock.app.filled_claims import paddock_fill as program
from paddock.app.filled_claims.manifests import PROGRAM
from paddock.environments.uv import find_uv
from support.small_disks import small_disk

PIP_AS_WELL = pytest.param(False, marks=pytest.mark.slow)
"""A pip takes a second for what uv does at once."""


_HAS_PIP: list[bool] = []


def has_pip(python: Path) -> bool:
    """Whether the Python below an image's has one: asked once, as each image has the same."""
    if not _HAS_PIP:
        asked = subprocess.run([python, "-c", "import pip"], capture_output=True, timeout=60)
        _HAS_PIP.append(asked.returncode == 0)
    return _HAS_PIP[0]


class Image:
    """A Python of an image, with one package, and an index that is a directory."""

    def __init__(self, root: Path) -> None:
        self.root, self.wheels, self.home, self.claim = root, root / "wheels", root / "home", root / "claim"
        for each in (self.wheels, self.home, self.claim):
            each.mkdir()
        venv.EnvBuilder(system_site_packages=True, with_pip=False, symlinks=True).create(str(root / "image"))
        self.python = root / "image" / "bin" / "python3"
        self.packages = next((root / "image" / "lib").glob("python3*/site-packages"))
        if not has_pip(self.python):
            # The Python below has none, as Debian's without python3-pip; that of the tests has.
            found = importlib.util.find_spec("pip")
            assert found is not None and found.origin is not None
            shutil.copytree(Path(found.origin).parent, self.packages / "pip")
        self.add("brought", "1.0")
        self.options = f"--no-index\n--find-links {self.wheels}\n"
        shutil.unpack_archive(self.wheels / "brought-1.0-py3-none-any.whl", self.packages, "zip")

    def add(self, name: str, version: str, **more: Any) -> None:
        file, content = make_wheel(name, version, **more)
        (self.wheels / file).write_bytes(content)

    def fill(
        self, *words: str, requirements: str = "", uv: bool = False, sent: bytes = b""
    ) -> tuple[int, dict[str, Any], str]:
        """Exit code, what it told at last, and all that it printed."""
        path = [str(self.python.parent), "/usr/bin", "/bin"]
        if uv:
            (self.root / "uv").mkdir(exist_ok=True)
            if not (self.root / "uv" / "uv").exists():
                (self.root / "uv" / "uv").symlink_to(find_uv())
            path.insert(0, str(self.root / "uv"))
        environment = {
            "PATH": ":".join(path),
            "HOME": str(self.home),
            "PADDOCK_SCRATCH": str(self.home),
            "PADDOCK_REQUIREMENTS": self.options + requirements,
            "UV_NO_CONFIG": "1",
        }
        done = subprocess.run(
            [self.python, "-c", PROGRAM.read_text(), *words], env=environment, input=sent, capture_output=True,
            timeout=300,
        )  # fmt: skip
        text = done.stdout.decode() + done.stderr.decode()
        told = [line.partition(" ")[2] for line in text.splitlines() if line.startswith("paddock-fill ")]
        return done.returncode, json.loads(told[-1]) if told else {}, text

    def install(self, requirements: str, *, uv: bool = False) -> dict[str, Any]:
        code, told, text = self.fill("install", str(self.claim), requirements=requirements, uv=uv)
        assert code == 0, text
        return dict(told["filled"])

    def run(self, report: dict[str, Any], text: str, *, python: str = "python3") -> str:
        """A program of a job that mounts the claim."""
        environment = {
            "PATH": f"{self.claim}/env/bin:{report['path']}", "PYTHONPATH": f"{self.claim}/env/packages",
        }  # fmt: skip
        done = subprocess.run([python, "-c", text], env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture
def image(tmp_path: Path) -> Image:
    if importlib.util.find_spec("pip") is None:
        pytest.skip("the Python of the tests has no pip")
    return Image(tmp_path)


@pytest.mark.parametrize("uv", [False, True], ids=["pip", "uv"])
def test_packages_of_the_image_are_not_installed_again(image: Image, uv: bool) -> None:
    image.add("mine", "2.0", requires=("brought", "more>=1"))
    image.add("more", "1.5")
    report = image.install("mine\n", uv=uv)
    assert report["packages"] == 2 and report["bytes"] > 0
    assert report["python"] == f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert report["path"].endswith("/usr/bin:/bin")
    said = image.run(report, "import mine, more, brought; print(mine.version, more.version, brought.__file__)")
    version, more, brought = said.split()
    assert (version, more) == ("2.0", "1.5") and brought.startswith(str(image.packages))
    # a launcher of the image begins with the image's own Python
    assert image.run(report, "import mine; print(mine.version)", python=str(image.python)) == "2.0"
    scripts = subprocess.run([image.claim / "env/bin/mine"], capture_output=True, text=True, timeout=60)
    assert scripts.stdout.strip() == "2.0", scripts.stderr


@pytest.mark.parametrize("uv", [PIP_AS_WELL, True], ids=["pip", "uv"])
@pytest.mark.slow
def test_another_version_than_the_image_s_stands_before_it_and_leaves_it_as_it_is(image: Image, uv: bool) -> None:
    image.add("brought", "2.0")
    report = image.install("brought==2.0\n", uv=uv)
    assert image.run(report, "import brought; print(brought.version)") == "2.0"
    before = subprocess.run([image.python, "-c", "import brought; print(brought.version)"], capture_output=True,
                            text=True, timeout=60)  # fmt: skip
    assert before.stdout.strip() == "1.0"


@pytest.mark.slow
def test_what_the_image_has_needs_nothing(image: Image) -> None:
    assert image.install("brought\n", uv=True)["packages"] == 0


def test_a_claim_that_is_filled_is_told_again_and_half_a_one_begins_anew(image: Image) -> None:
    image.add("mine", "2.0")
    (image.claim / "env").mkdir()
    (image.claim / "env" / "half").write_text("")
    report = image.install("mine\n", uv=True)
    assert not (image.claim / "env" / "half").exists()
    code, told, text = image.fill("install", str(image.claim), requirements="of no matter\n")
    assert (code, told) == (0, {"filled": report}) and "Collecting" not in text


@pytest.mark.parametrize("uv", [PIP_AS_WELL, True], ids=["pip", "uv"])
@pytest.mark.slow
def test_what_cannot_be_installed_is_told_and_no_claim_counts_as_filled(image: Image, uv: bool) -> None:
    code, told, text = image.fill("install", str(image.claim), requirements="nowhere==1\n", uv=uv)
    assert (code, told["failed"]["reason"], told["failed"]["tool"]) == (3, "tool", "uv" if uv else "pip")
    assert "nowhere" in text and not (image.claim / program.FILLED).exists()


@pytest.mark.slow
def test_a_full_claim_is_told_as_that(image: Image, tmp_path: Path) -> None:
    image.add("large", "1.0", filler=4 * 2**20)
    with small_disk(tmp_path / "small", "2m") as disk:
        code, told, text = image.fill("install", str(disk), requirements="large\n")
    assert code == 3 and told["failed"]["reason"] in ("tool", "full")
    assert "No space left on device" in text or told["failed"] == {"reason": "full", "where": "claim"}


def pack(*files: tuple[str, bytes, int], link: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content, mode in files:
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), mode
            archive.addfile(member, io.BytesIO(content))
        if link:
            member = tarfile.TarInfo(link)
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(member)
    return buffer.getvalue()


def receive(image: Image, data: bytes, *, digest: str = "", size: int | None = None) -> tuple[int, dict[str, Any]]:
    words = ("receive", str(image.claim), str(len(data) if size is None else size))
    code, told, _ = image.fill(*words, digest or hashlib.sha256(data).hexdigest(), sent=data)
    return code, told


def test_a_directory_arrives_with_its_modes(image: Image) -> None:
    data = pack(("train.py", b"x", 0o644), ("pkg/run.sh", b"y" * 100_000, 0o755), ("ü.txt", b"", 0o600))
    assert receive(image, data) == (0, {"filled": {"files": 3, "bytes": 100_001}})
    content = image.claim / "content"
    assert (content / "pkg/run.sh").stat().st_mode & 0o777 == 0o755
    assert (content / "ü.txt").stat().st_mode & 0o777 == 0o644
    assert sorted(each.name for each in image.claim.iterdir()) == [program.FILLED, "content"]
    assert receive(image, data)[1] == {"filled": {"files": 3, "bytes": 100_001}}, "a second command was slower"


@pytest.mark.parametrize(
    ("data", "more"),
    [
        (pack(("a", b"x" * 50_000, 0o644))[:-20], {"size": 10**6}),
        (pack(("a", b"x", 0o644)), {"digest": "0" * 64}),
        (b"no archive", {}),
        (b"", {}),
        (pack(("../out", b"x", 0o644)), {}),
        (pack(("/tmp/out", b"x", 0o644)), {}),
        (pack(("a/../../out", b"x", 0o644)), {}),
        (pack(link="a"), {}),
    ],
    ids=["cut", "changed", "no archive", "nothing", "above", "absolute", "above by a way", "a link"],
)
@pytest.mark.slow
def test_what_is_not_what_was_sent_is_no_content(image: Image, data: bytes, more: dict[str, Any]) -> None:
    code, told = receive(image, data, **more)
    assert (code, told["failed"]["reason"]) == (3, "cut")
    assert list(image.claim.iterdir()) == [] and not (image.root / "out").exists()


def test_a_pod_holds_the_claim_until_it_is_filled(image: Image) -> None:
    environment = {"PATH": "/usr/bin", "HOME": str(image.home)}
    holding = subprocess.Popen(
        [image.python, "-c", PROGRAM.read_text(), "hold", image.claim, "300"], env=environment, stdout=subprocess.PIPE
    )
    try:
        assert holding.stdout is not None
        assert [json.loads(holding.stdout.readline().split(b" ", 1)[1])["step"] for _ in range(2)] == ["hold", "ready"]
        assert receive(image, pack(("a", b"x", 0o644)))[0] == 0
        assert json.loads(holding.stdout.readline().split(b" ", 1)[1]) == {"filled": {"bytes": 1, "files": 1}}
        assert holding.wait(60) == 0
    finally:
        holding.kill()
        holding.wait()


@pytest.mark.slow
def test_a_pod_to_which_nothing_comes_ends(image: Image) -> None:
    began = time.monotonic()
    code, told, _ = image.fill("hold", str(image.claim), "0.1")
    assert (code, told) == (4, {"failed": {"reason": "nothing-came"}}) and time.monotonic() - began < 60


@pytest.mark.skipif(not os.getuid(), reason="root writes everywhere")
def test_a_claim_that_may_not_be_written_is_told_before_anything_is_sent(image: Image) -> None:
    image.claim.chmod(0o500)
    code, told, _ = image.fill("hold", str(image.claim), "1")
    assert (code, told["failed"]["reason"], told["failed"]["why"]) == (3, "os", "Permission denied")


@pytest.mark.parametrize("words", [(), ("install",), ("remove", "/x")])
def test_a_wrong_call_does_nothing(image: Image, words: tuple[str, ...]) -> None:
    assert image.fill(*words)[0] == 2


@pytest.mark.parametrize("uv", [PIP_AS_WELL, True], ids=["pip", "uv"])
@pytest.mark.parametrize("where", ["home/.config/pip/pip.conf", pytest.param("image/pip.conf", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_where_the_image_s_pip_looks_for_packages_counts(image: Image, where: str, uv: bool) -> None:
    image.add("mine", "2.0")
    (image.root / where).parent.mkdir(parents=True, exist_ok=True)
    (image.root / where).write_text(f"[global]\nfind-links = {image.wheels}\nno-index = true\n")
    options, image.options = image.options, "--no-index\n" if uv else ""
    assert options.startswith("--no-index\n--find-links ")
    assert image.install("mine\n", uv=uv)["packages"] == 1


def test_settings_of_pip_are_told_to_uv() -> None:
    text = (
        "global.index-url='https://a.example/simple'\nglobal.timeout='60'\ninstall.index-url='https://b.example/simple'\n"
        "global.extra-index-url='https://c.example https://d.example'\nglobal.find-links='/x\\n/y'\n"
    )
    expected = {
        "UV_DEFAULT_INDEX": "https://b.example/simple",
        "UV_INDEX": "https://c.example https://d.example",
        "UV_FIND_LINKS": "/x,/y",
    }
    assert program.translate_pip(text) == expected
    variable = ":env:.index-url='https://e.example'\n"
    assert program.translate_pip(text + variable) == expected | {"UV_DEFAULT_INDEX": "https://e.example"}
    assert program.translate_pip("") == {}


def test_lines_of_a_dry_run_of_uv_are_requirements() -> None:
    output = (
        "Would install 3 packages\n + six==1.17.0\n + mine==1.0 (from https://host.example/mine-1.0.whl)\n - six==1.0\n"
        " ~ local==1\nplus + x==1\n"
    )
    assert program.read_lacking(output) == ["six==1.17.0", "mine @ https://host.example/mine-1.0.whl"]


def test_old_pythons_read_it() -> None:
    """3.6: of images with PaddlePaddle 2.0. It is a variable of a container, and counts to the size of the pod."""
    text = PROGRAM.read_text()
    ast.parse(text, feature_version=(3, 6))
    assert len(text.encode()) < 32 * 2**10 and "\nfrom __future__" not in text
