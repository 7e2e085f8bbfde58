"""The catalogues fit the code: every text is translated, with the same places, and compiled."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import catalogues
import pytest
from babel.messages.catalog import Catalog
from catalogues import LEFT_OUT, LOCALE, Translations, find_faults, find_in_code, find_texts, path_of, update

from paddock.words.catalogues import TRANSLATED
from paddock.words.formats import FORMATS


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_catalogue_fits_the_code(language: str) -> None:
    """`make catalogues` mends what it says, but for the translations."""
    assert find_faults(language) == []


def test_a_place_is_lost_only_where_the_list_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogues, "LEFT_OUT", {})
    assert find_faults("zh") == [f"has other places: {text!r}" for text in LEFT_OUT]


def test_a_language_is_a_catalogue_and_a_format() -> None:
    assert set(TRANSLATED) == {each.name for each in LOCALE.iterdir() if each.is_dir()} == set(FORMATS) - {"en"}


def test_texts_are_found_where_they_are_written() -> None:
    assert list(find_in_code('phrase("a {b}", b=counted("c", "d", count=1)); told(x, "e" if y else phrase("f"))')) == [
        "a {b}",
        ("c", "d"),
        "f",
    ]
    found = {text for _, text in find_texts()}
    assert len(found) > 500
    assert {"How to print it.", "train here, now", "Missing argument", "{ranks} was not started"} <= found


def test_a_text_that_changes_begins_without_a_translation() -> None:
    catalogue, template = Translations(locale="zh"), Catalog()
    catalogue.add("waiting for {pods}", "正在等待 {pods}")
    template.add("waiting for the {pods}")
    update(catalogue, template)
    assert [(each.id, each.string, each.fuzzy) for each in catalogue if each.id] == [
        ("waiting for the {pods}", None, False)
    ]
    assert not catalogue.obsolete


@pytest.mark.parametrize("language", TRANSLATED)
def test_commands_in_sentences_are_not_translated(language: str) -> None:
    from catalogues import read

    for message in read(language):
        texts = message.id if isinstance(message.id, tuple) else (message.id,)
        said = "".join(message.string)
        commands = [part for part in texts[-1].split("`")[1::2] if part.startswith(("kubectl", "helm", "launch"))]
        assert all(command in said for command in commands)
    assert path_of(language, "po").stat().st_size


@pytest.mark.slow
def test_a_wheel_has_the_compiled_catalogues(tmp_path: Path) -> None:
    """As `pip install` of a clone builds it: without Babel, from what is in git."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, check=True, cwd=LOCALE.parents[2], capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as file:
        for language in TRANSLATED:
            name = f"paddock/locale/{language}/LC_MESSAGES/paddock.mo"
            assert file.read(name) == path_of(language, "mo").read_bytes()


def test_english_reads_no_catalogue() -> None:
    program = (
        "from paddock.cli.main import run; run(['--help']); import sys; "
        "from paddock.words.phrases import phrase, render; render(phrase('text')); "
        "print('importlib.resources' in sys.modules)"
    )
    environ = {**os.environ, "LC_ALL": "C.UTF-8"}
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environ, check=True)
    assert ended.stdout.splitlines()[-1] == "False"


_SENTENCE = re.compile(r"^(?!paddock |kubectl ).*[a-z]+ [a-z]+ [a-z]+")
NOT_FOR_READERS = {
    "cli/cluster/places.py": "an assertion",
    "cli/follow/cluster_board.py": "an assertion",
    "cli/follow/follow.py": "an assertion",
    "cli/follow/forwarding.py": "a node's own words, which are looked for, and an assertion",
    "cli/follow/sessions.py": "a container engine's own words, which are looked for",
    "cli/submit/filled_claims.py": "assertions, and the words of container runtimes, which are looked for",
    "submission/missing_secrets.py": "a command of kubectl",
    "cli/follow/first_error.py": "the first line of Python's tracebacks, which is looked for",
    "cli/followed_run.py": "an assertion",
    "cli/rehearsed_findings.py": "words of frameworks and programs, which are looked for",
    "cli/verbs/forward.py": "an assertion",
    "cli/verbs/wait.py": "an assertion",
    "cli/cluster/rbac.py": "the API server's own sentence, which is looked for",
    "cli/cluster/bundled.py": "what no reader of a bundle asks for",
    "cli/follow/bundles.py": "README.txt, which is read where nobody may have Paddock",
    "cli/verbs/explain.py": "an image's own sentence, which is looked for",
    "cli/verbs/manifests.py": "comments of the files that it prints",
    "cli/verbs/operator.py": "its log, which is English as every part's is",
}
"""Where English stands in the command line that is no sentence to the person at the terminal, and what it is."""


@pytest.mark.slow
def test_every_sentence_of_the_command_line_is_a_text_of_the_catalogues() -> None:
    """Three words in a row are a sentence; docstrings are none."""
    known = {text for _, each in find_texts() for text in ((each,) if isinstance(each, str) else each)}
    package = LOCALE.parent
    found = []
    for path in sorted((package / "cli").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in docstrings)
        found += [
            (f"{path.relative_to(package)}:{node.lineno}", node.value)
            for node in texts
            if isinstance(node.value, str) and node.value not in known and _SENTENCE.search(node.value)
        ]
    assert [(place, text) for place, text in found if place.split(":")[0] not in NOT_FOR_READERS] == []
