"""What docs/kubeflow.md and the pages beside it say that is typed, or that is a constant of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from paddock.cli.main import cli
from paddock.install.deployment import EXAMPLE_IMAGE
from paddock.jobs.frameworks import jax, paddle_rendezvous, pytorch

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    language: (ROOT / "docs" / name).read_text()
    for language, name in (("en", "kubeflow.md"), ("zh", "kubeflow.zh-CN.md"))
}
PRINTED = re.findall(r"^    paddock manifests (.+)$", PAGES["en"], re.MULTILINE)
FILES = ("kubeflow.yaml", "operator-kubeflow.yaml")


def call(words: str) -> str:
    result = CliRunner().invoke(cli, ["manifests", *words.split()], prog_name="paddock")
    assert result.exit_code == 0, result.output
    return result.output


def read_codes(page: str) -> list[set[str]]:
    """Of each row and each paragraph what is the same in every language: names between backticks, numbers of issues."""
    parts = re.split(r"\n\n|\n(?=\|)", page)
    return [set(re.findall(r"`[^`]+`|(?<!\d)\d{4}(?!\d)", " ".join(part.split()))) for part in parts]


def test_both_pages_say_the_same_in_the_same_order() -> None:
    """A row or a paragraph that one page gains has to come to the other as well."""
    assert read_codes(PAGES["zh"]) == read_codes(PAGES["en"])


def test_both_pages_have_the_same_commands() -> None:
    english, chinese = (
        [line.partition(" # ")[0] for line in page.splitlines() if line.startswith("    ")] for page in PAGES.values()
    )
    assert chinese == english


@pytest.mark.parametrize(("words", "file"), list(zip(PRINTED, FILES, strict=True)))
def test_the_page_prints_the_files_that_it_applies(words: str, file: str) -> None:
    assert call(words) == (ROOT / "deploy/v1" / file).read_text()


def test_what_prints_the_operator_of_kubeflows_jobs_serves_all_namespaces() -> None:
    """As the file does that stands beside it in the table."""
    rows = (ROOT / "docs/kubernetes.md").read_text().splitlines()
    (row,) = [row for row in rows if "take `operator-kubeflow.yaml`" in row]
    (words,) = re.findall(r"`paddock manifests (.+?)`", row)
    assert "--namespace=" not in call(f"{words} --image {EXAMPLE_IMAGE}")


@pytest.mark.parametrize(
    ("port", "name"),
    [
        (pytorch.default_port, pytorch.PORT_NAME),
        (paddle_rendezvous.DEFAULT_PORT, paddle_rendezvous.PORT_NAME),
        (jax.default_port, jax.PORT_NAME),
    ],
)
def test_the_ports_of_ranks_are_on_the_page_about_security(port: int, name: str) -> None:
    page = (ROOT / "docs/operations/security.md").read_text()
    assert any(row.startswith(f"| {port} |") and f"`{name}`" in row for row in page.splitlines())
