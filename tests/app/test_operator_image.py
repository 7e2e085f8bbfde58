"""The content of the operator's image (deploy/Dockerfile, tools/kubernetes/rootfs.py): what it, the webhook and
the console need."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from paddock.install.deployment import EXAMPLE_IMAGE, USER

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()

_IMPORTED = """
import importlib, importlib.metadata, json, sys
for name in (
    "paddock.cli.main", "paddock.cli.verbs.operator", "paddock.app.cluster", "paddock.client.client",
    "paddock.cli.verbs.webhook", "paddock.app.webhook",
    "paddock.cli.verbs.console", "paddock.app.consoles.cluster",
    "paddock.app.consoles.oidc", "paddock.console.oidc_sign_in",
    "paddock.datasets.fetch.__main__", "paddock.datasets.fetch.http", "paddock.datasets.fetch.s3",
):
    importlib.import_module(name)
owners = importlib.metadata.packages_distributions()
print(json.dumps(sorted({owner for name in sys.modules for owner in owners.get(name.split(".")[0], ())})))
"""


def read_lock(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / name).read_text(), re.MULTILINE))


def plain(name: str) -> str:
    return name.lower().replace("_", "-")


@pytest.mark.slow
def test_the_image_has_every_package_that_its_programs_import() -> None:
    """The operator, the webhook, the console, and what pods that fetch datasets run."""
    said = subprocess.run([sys.executable, "-c", _IMPORTED], capture_output=True, text=True, check=True).stdout
    # oauthlib does without blinker, which is here for a server of the tests.
    imported = {plain(each) for each in json.loads(said)} - {"paddock", "setuptools", "editables", "blinker"}
    assert {"aiohttp", "click", "msgspec", "cryptography", "jinja2", "obstore"} <= imported, (
        "all were imported, or this means nothing"
    )
    assert imported <= set(read_lock("deploy/operator.lock"))


def test_the_image_has_the_tested_versions() -> None:
    """`make lock` writes both files."""
    assert read_lock("deploy/operator.lock").items() <= read_lock("requirements.lock").items()


def test_the_deployment_uses_the_name_and_the_user_of_the_image() -> None:
    assert f"-t {EXAMPLE_IMAGE} ." in DOCKERFILE
    assert f"USER {USER}:{USER}\n" in DOCKERFILE


def test_every_page_that_names_an_image_of_paddock_names_the_one_that_stands_for_the_readers() -> None:
    """None is published. The pages, the files in deploy/ and the code have one name for what the reader builds."""
    pages = (page for page in (ROOT / "docs").rglob("*.md") if "reference" not in page.parts)  # made from the code
    texts = [*pages, *ROOT.glob("README*.md"), *(ROOT / "deploy").rglob("*.yaml")]
    named = {
        found
        for path in texts
        for found in re.findall(r"[\w.:-]+/(?:[\w.-]+/)*paddock:[\w.-]*\w", path.read_text(encoding="utf-8"))
    }
    assert named == {EXAMPLE_IMAGE}


def test_the_image_has_paddle_operators_program() -> None:
    """Existing deployments of paddle-operator call `/manager`."""
    program = ROOT / "deploy" / "manager.py"
    assert "COPY deploy/manager.py /manager\n" in DOCKERFILE
    assert '"deploy/manager.py": "manager"' in (ROOT / "tools" / "kubernetes" / "rootfs.py").read_text()
    assert program.stat().st_mode & 0o111 == 0o111
    said = subprocess.run(
        [sys.executable, "-I", program, "--leader-elect", "--namespace=A"], capture_output=True, text=True
    )
    assert (said.returncode, "'A' is not a valid name for a namespace" in said.stderr) == (2, True), said.stderr


def test_one_argument_pins_what_every_stage_begins_from() -> None:
    """By a digest: docs/operations/security.md, "Its image"."""
    stages = re.findall(r"^FROM (\S+)(?: AS (\w+))?", DOCKERFILE, re.MULTILINE)
    named = {name for _, name in stages}
    assert [base for base, _ in stages if base not in named] == ["${BASE}", "${BASE}"]
    (default,) = re.findall(r"^ARG BASE=(\S+)$", DOCKERFILE, re.MULTILINE)
    python = re.findall(r"python([0-9.]+)/site-packages", DOCKERFILE)
    assert {default} == {f"python:{each}-slim" for each in python}
    for page in ("security.md", "security.zh-CN.md"):
        assert f"--build-arg BASE={default}@sha256:" in (ROOT / "docs" / "operations" / page).read_text()


def list_copied() -> list[str]:
    return re.findall(r"^COPY (?!--from)(\S+) ", DOCKERFILE, re.MULTILINE)


def test_the_source_archive_has_all_that_the_image_is_built_from() -> None:
    """Who installed the wheel builds the image there: `paddock manifests` says so."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packed = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    assert {"deploy/Dockerfile", ".dockerignore"} <= set(packed)
    assert [each for each in list_copied() if each not in packed] == []
    assert [each for each in packed if not (ROOT / each).exists()] == []


def test_dockerignore_keeps_what_the_image_copies() -> None:
    """.dockerignore excludes every file that it does not name, and COPY fails for an excluded file."""
    sent = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    copied = list_copied()
    assert copied
    assert [each for each in copied if not any(each == name or each.startswith(f"{name}/") for name in sent)] == []
