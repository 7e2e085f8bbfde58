"""Which default Environments are created, replaced or left unchanged."""

from __future__ import annotations

import copy

from paddock.environments.defaults import build_defaults
from paddock.environments.definition import PROGRAMS, read_definition
from paddock.environments.pythons import match_version
from paddock.environments.seeding import SEED, plan_seeding

DEFAULTS = build_defaults()


def test_missing_defaults_are_created_with_their_digest() -> None:
    create, replace = plan_seeding([], DEFAULTS)
    assert [each["metadata"]["name"] for each in create] == [each["metadata"]["name"] for each in DEFAULTS]
    assert all(each["metadata"]["annotations"][SEED] for each in create)
    assert replace == ()


def test_seeding_twice_changes_nothing() -> None:
    create, _ = plan_seeding([], DEFAULTS)
    assert plan_seeding(create, DEFAULTS) == ((), ())


def test_a_newer_default_replaces_only_an_unchanged_object() -> None:
    stored, _ = plan_seeding([], DEFAULTS)
    newer = copy.deepcopy(DEFAULTS)
    for manifest in newer:
        manifest["spec"]["verify"] = "import sys"
    theirs = copy.deepcopy(list(stored))
    theirs[0]["spec"]["requirements"] = ["paddlepaddle==2.6.2"]
    del theirs[1]["metadata"]["annotations"]
    theirs[2]["metadata"]["resourceVersion"] = "7"
    create, replace = plan_seeding(theirs, newer)
    assert create == ()
    assert [each["metadata"]["name"] for each in replace] == [each["metadata"]["name"] for each in DEFAULTS[2:]]
    assert replace[0]["metadata"]["resourceVersion"] == "7"
    assert plan_seeding(replace, newer[2:]) == ((), ())


def test_each_default_is_valid() -> None:
    for definition in map(read_definition, DEFAULTS):
        assert definition.images
        assert match_version(definition.python, (3, 11, 0))
        assert not definition.program or (PROGRAMS / definition.program).is_dir()
        compile(definition.verify, definition.name, "exec")
