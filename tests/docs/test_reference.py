"""docs/reference is what the code says: it is not stale, nothing is missing in it, and what it shows can be typed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
import reference
import yaml
from manual.index import build_index
from manual.reference import cures, field_notes, names, variables
from manual.reference.causes import GROUPS
from manual.reference.commands import walk
from manual.reference.cure import Move
from manual.reference.fields import group_fields, list_fields, list_kinds
from manual.reference.markdown import prose
from manual.reference.pages import build_pages
from manual.reference.reader import Reader, read_in, read_table

from docs.calls import resolve
from docs.page import read_calls
from paddock.cli.main import VERBS, cli
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.causes import CAUSES
from paddock.words.problems import InvalidJob

BY_NAME: Mapping[str, Any] = {api.resource.qualified: api for api in KINDS.values()}


@pytest.fixture(scope="module")
def sources() -> list[str]:
    return reference.read_sources()


@pytest.fixture(scope="module")
def chinese() -> Reader:
    """The reader that all Chinese pages were built with."""
    reader = read_in("zh")
    reference.build_all((read_in("en"), reader))
    return reader


def test_the_pages_are_what_the_code_makes() -> None:
    """`make reference` writes them."""
    assert reference.find_stale(reference.build_all()) == []


def test_no_text_lacks_its_chinese(chinese: Reader) -> None:
    """A row for each in tools/manual/reference/zh.json: English text to Chinese."""
    assert sorted(chinese.missing) == []


def test_no_chinese_is_left_over(chinese: Reader) -> None:
    """The English text that it was for has changed or gone: take its row out of zh.json."""
    assert sorted(set(read_table()) - chinese.asked) == []


def test_the_chinese_has_the_same_code() -> None:
    for english, said in read_table().items():
        assert set(re.findall("`[^`]+`", said)) == set(re.findall("`[^`]+`", english)), english


def test_every_cause_has_one_cure_and_every_cure_its_cause() -> None:
    """A new cause gets a row in tools/manual/reference/cures.py."""
    assert sorted(reason for _, _, rows in GROUPS for reason in rows) == sorted(CAUSES)
    assert set(cures.CURES) == set(CAUSES)


def test_a_cure_that_needs_the_reader_has_a_command() -> None:
    for reason, cure in cures.CURES.items():
        assert cure.commands or cure.move is Move.NOBODY, reason


@pytest.mark.parametrize("command", sorted({each for cure in cures.CURES.values() for each in cure.commands}))
def test_every_command_of_a_cure_can_be_typed(command: str) -> None:
    calls = list(read_calls(command))
    assert calls or command.split()[0] in ("kubectl", "ss", "timedatectl", "chronyc")
    for words in calls:
        resolve(words)


def test_the_page_of_commands_has_every_command(sources: list[str]) -> None:
    page = build_pages(sources, read_in("en"))["commands.md"]
    wanted = [name for verb in VERBS for name, _ in walk(cli.get_command(None, verb), f"paddock {verb}")]  # type: ignore[attr-defined]
    assert re.findall(r"^##+ (paddock .+)$", page, re.MULTILINE) == wanted


def test_every_kind_has_a_page_and_every_field_of_it_a_row_with_a_sentence(sources: list[str]) -> None:
    pages = build_pages(sources, read_in("en"))
    for crd in list_kinds():
        page = pages[f"fields/{crd['metadata']['name']}.md"]
        for parent, fields in group_fields(crd).items():
            _, _, section = page.partition(f"### `{parent}`\n")
            rows = dict(re.findall(r"^\| `([^`]+)` \|.*\| ([^|]*) \|$", section.partition("\n#")[0], re.MULTILINE))
            assert {name for name, said in rows.items() if said.strip()} == {
                field.path.rpartition(".")[2] for field in fields
            }, f"{crd['metadata']['name']}: {parent}"


def build_manifest(kind: str) -> dict[str, Any]:
    """A small valid job of this kind."""
    role = {"replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i", "command": ["true"]}]}}}
    spec: dict[str, Any] = {"worker": role, "ps": role}
    if kind in field_notes.REPLICA_SPECS:
        spec = {field_notes.REPLICA_SPECS[kind]: {"Worker": role}}
    resource = BY_NAME[kind].resource
    text = yaml.safe_dump(
        {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "a"}, "spec": spec}
    )
    manifest: dict[str, Any] = yaml.safe_load(text.replace("&id001", "").replace("*id001", "null"))
    for name, each in spec.items():
        manifest["spec"][name] = yaml.safe_load(yaml.safe_dump(each))
    return manifest


def with_value(kind: str, path: str, value: object) -> dict[str, Any]:
    """The small job with this value at a path of the page."""
    manifest = build_manifest(kind)
    *steps, last = path.replace("<NAME>", "Worker").split(".")
    place = manifest
    for step in steps:
        place = place.setdefault(step, {})
    place[last] = value
    return manifest


ROWS = [
    (kind, path, values)
    for (wanted, path), values in field_notes.VALUES.items()
    for kind in ([wanted] if wanted != "*" else BY_NAME)
]


@pytest.mark.parametrize(("kind", "path", "values"), ROWS, ids=lambda value: value if isinstance(value, str) else "")
def test_each_word_of_a_field_is_read_and_others_are_told(kind: str, path: str, values: tuple[object, ...]) -> None:
    read = BY_NAME[kind].read_job
    quiet = {problem.path for problem in read(build_manifest(kind)).warnings}
    for value in values:
        told = {problem.path for problem in read(with_value(kind, path, value)).warnings} - quiet
        # two fields are allowed and warned of all the same: an old spelling, and a manager that is not Paddock
        assert not told or path.endswith(("cleanPolicy", "managedBy")), (value, told)
    wrong = 99 if isinstance(values[0], int) else "Nonsense"
    try:
        assert any(path.rpartition(".")[2] in each.path for each in read(with_value(kind, path, wrong)).warnings)
    except InvalidJob as refused:
        assert any(path.rpartition(".")[2] in each.path for each in refused.problems)


def test_fields_without_effect_are_fields() -> None:
    paths = {(crd["metadata"]["name"], field.path) for crd in list_kinds() for field in list_fields(crd)}
    assert set(field_notes.NO_EFFECT) - paths == set()


def test_every_label_and_annotation_of_the_code_is_on_the_page(sources: list[str]) -> None:
    """One without a row in names.py is there with the docstring of its constant, and needs that."""
    found = names.find_names(sources)
    assert len(found) > 25
    known = {*names.YOURS, *names.OURS}
    assert {name for name, text in found.items() if name not in known and not text} == set()
    assert known - set(found) == set(), "the code has these no more"


def test_every_variable_of_paddock_is_on_the_page(sources: list[str]) -> None:
    """A new one gets a row in tools/manual/reference/variables.py, or a place in WITHIN."""
    found = variables.find_ours(sources)
    ours = {name for name in variables.list_known() if name.startswith("PADDOCK_")}
    assert found - ours == set()
    assert ours - found == set(), "the code has these no more"


def test_every_variable_of_a_rank_is_on_the_page() -> None:
    """As the modules of the frameworks name them."""
    modules = sorted((reference.ROOT / "src/paddock/jobs/frameworks").glob("*.py"))
    texts = "\n".join(path.read_text() for path in modules)
    code = re.sub(r'"""(?s:.*?)"""', "", texts)
    found = set(re.findall(r'build_(?:value|pod_ip)\("([A-Z_]+)"', code)) | set(
        re.findall(r'"((?:PADDLE|PET|FLAGS|POD|STAGE|TRAIN|MASTER|TORCH|HETER)[A-Za-z]*_[A-Za-z_]+)"', code)
    )
    assert len(found) > 40
    assert found - variables.list_known() == {"HETER_TRAINER"}, "which is a value"


def test_a_page_that_no_section_names_comes_last_in_the_index() -> None:
    texts = {"start.md": "# Begin\n", "new.md": "# New\n", "places/README.md": "# P\n", "places/x.md": "# X\n"}
    lines = build_index(texts | {"start.zh-CN.md": "# 开始\n"}, read_in("zh")).splitlines()
    assert lines[-3:] == ["## 其他页面", "", "- [New](new.md)（英文）"]
    assert "- [开始](start.zh-CN.md)：从零开始，到运行、修改、停止一个自己的任务" in lines
    assert not any("places/x.md" in line or "python" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("with --context: a<b, c*d", "with `--context`: a\\<b, c\\*d"),
        ("`--as --it` is", "`--as --it` is"),
        ("behind --, or x--y", "behind --, or x--y"),
        ("a|b [c]", "a\\|b \\[c\\]"),
    ],
)
def test_texts_of_the_code_are_no_markdown(text: str, shown: str) -> None:
    assert prose(text) == shown
