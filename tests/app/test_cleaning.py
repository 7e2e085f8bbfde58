"""What may go, what is held and why, how much comes free, and that nothing else is touched."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.views import RESOURCE, build_manifest
from history.test_logs import write_log
from paddock.app.cleaning.removal import remove
from paddock.app.cleaning.things import SORTS, Remainder, Thing, find_environment, find_things, list_orphans
from paddock.app.cleaning.uses import Needs, Uses
from paddock.app.cleaning.weights import Weight, merge, read_links, weigh
from paddock.app.home import Home
from paddock.cli.cluster.uses import read_uses
from paddock.environments.directories import wanted_note
from paddock.history.records import RunRecord, find_runs, write_record

KEY, OTHER = "0" * 20, "1" * 20
BLOCK = 4096


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", tmp_path / "缓存")


def write(path: Path, *, links: int = 0) -> Path:
    """A file of a block, with hard links beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * BLOCK)
    for number in range(links):
        os.link(path, path.with_name(f"{path.name}.{number}"))
    return path


def make_environment(home: Home, key: str = KEY) -> Path:
    directory = home.cache / "environments" / key
    write(directory / "bin/python")
    write(directory / "paddock.json")
    return directory


def find(home: Home, sort: str, needs: Needs | None = None) -> tuple[list[str], dict[str, str]]:
    things, held = find_things(home, needs or Needs(Uses()), [sort])
    return [str(each.name) for each in things], {str(each.name): str(each.why) for each in held}


def nobody() -> Needs:
    """Needs it."""
    return Needs(Uses())


def files_alone(*paths: Path) -> Weight:
    """Without the directories themselves, whose blocks differ between file systems."""
    directories = sum(
        each.lstat().st_blocks * 512 for path in paths for each in (path, *path.rglob("*")) if each.is_dir()
    )
    found = weigh(merge(read_links([path]) for path in paths))
    return Weight(found.frees - directories, found.elsewhere)


def test_a_file_comes_free_with_its_last_link(tmp_path: Path) -> None:
    one, two, cache = tmp_path / "one", tmp_path / "two", tmp_path / "cache"
    write(one / "alone")
    write(one / "twice", links=1)
    for name, places in (("shared", (two,)), ("cached", (cache,)), ("everywhere", (two, cache))):
        file = write(one / name)
        for place in places:
            place.mkdir(exist_ok=True)
            os.link(file, place / name)
    assert files_alone(one) == Weight(2 * BLOCK, 3 * BLOCK)
    assert files_alone(one, two) == Weight(3 * BLOCK, 2 * BLOCK)
    assert files_alone(one, two, cache) == Weight(5 * BLOCK, 0)
    assert weigh(read_links([tmp_path / "missing"])) == Weight()


def test_a_link_out_of_the_directory_is_neither_counted_nor_followed(home: Home, tmp_path: Path) -> None:
    kept = write(tmp_path / "mine/precious")
    theirs = [write(kept.parent / name) for name in ("paddock.json", "bin/python", "run-00000005/model")]
    directory = make_environment(home)
    (directory / "out").symlink_to(kept.parent)
    linked = home.cache / "environments" / OTHER
    linked.symlink_to(kept.parent)
    run = home.outputs / "default/demo-00000001"
    write(run / "model")
    (run / "data").symlink_to(kept.parent)
    (home.outputs / "elsewhere").symlink_to(kept.parent)
    (home.outputs / "default/linked-00000002").symlink_to(kept.parent)
    things, _ = find_things(home, Needs(Uses()), SORTS)
    assert [each.sort for each in things] == ["environments", "environments", "outputs"]
    assert files_alone(directory).frees < 3 * BLOCK
    assert [remove(home, each, nobody) for each in things] == [None] * 3
    assert (
        kept.read_bytes()
        and all(each.read_bytes() for each in theirs)
        and not directory.exists()
        and not run.exists()
        and not linked.is_symlink()
    )


USED = Uses(built={KEY: ("mine",)}, used={KEY: "PaddleJob default/demo"})
NEEDS: list[tuple[str, Needs, str]] = [
    ("a job that has not ended", Needs(USED), "in use by PaddleJob default/demo"),
    ("a job of another home", Needs(Uses(), (USED,)), "in use by PaddleJob default/demo"),
    ("a program", Needs(Uses(), running=frozenset({KEY})), "a program runs in it"),
    (
        "a home that does not answer",
        Needs(Uses(), unknown=((Path("/other"), "it is damaged"),)),
        "what the cluster of /other uses is not known: it is damaged",
    ),
]


@pytest.mark.parametrize(("what", "needs", "why"), NEEDS, ids=[row[0] for row in NEEDS])
def test_an_environment_that_is_needed_is_held(what: str, needs: Needs, why: str, home: Home) -> None:
    directory = make_environment(home)
    (thing,), _ = find_things(home, Needs(Uses()), ["environments"])
    found, held = find(home, "environments", needs)
    assert not found and list(held.values()) == [why], what
    assert str(remove(home, thing, lambda: needs)) == f"{thing.name} stays: {why}" and directory.exists()


def test_an_environment_that_is_being_built_is_held_also_when_the_build_begins_late(home: Home) -> None:
    directory = make_environment(home)
    (thing,), _ = find_things(home, Needs(Uses()), ["environments"])
    with (directory.parent / f"{KEY}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert find(home, "environments")[1] == {f"{KEY}, which no environment has": "it is being built, or removed"}
        assert str(remove(home, thing, nobody)).endswith("stays: it is being built, or removed")
    assert remove(home, thing, nobody) is None and not directory.exists()


def test_what_an_interrupted_build_has_left_goes_too(home: Home) -> None:
    left = write(home.cache / "environments" / f"{KEY}.building-x1/lib/a").parents[1]
    (thing,), _ = find_things(home, Needs(Uses()), ["environments"])
    assert remove(home, thing, nobody) is None and not left.exists()


def test_a_directory_without_a_name_is_an_orphan(home: Home) -> None:
    make_environment(home)
    orphan = make_environment(home, OTHER)
    needs = Needs(Uses(built={KEY: ("mine",)}))
    assert list_orphans(home, needs) == [orphan]
    assert list_orphans(home, Needs(Uses(), unknown=((home.root, "why"),))) == []
    assert find(home, "environments", needs)[0] == ["mine", f"{OTHER}, which no environment has"]


@pytest.mark.parametrize(
    ("seeded", "wanted", "held"),
    [(True, False, False), (True, True, True), (False, False, True)],
    ids=["comes with Paddock, never built", "comes with Paddock, built", "the user's"],
)
def test_who_else_holds_the_files_of_an_environment(seeded: bool, wanted: bool, held: bool, home: Home) -> None:
    directory = make_environment(home)
    if wanted:
        wanted_note(directory, "builtin").touch()
    uses = Uses(built={KEY: ("mine", "builtin")}, seeded=frozenset({"builtin"} if seeded else ()))
    found = find_environment(home, "mine", KEY, Needs(uses))
    assert isinstance(found, Remainder) is held
    assert held is ("environment builtin has the same" in str(getattr(found, "why", "")))


NO_RUNS = ("my-best-models", "-00000005")
"""Directories that somebody has put beside those of runs."""


def test_outputs_of_a_job_that_has_not_ended_are_held(home: Home) -> None:
    """Also those of its earlier runs: it may resume from them."""
    for name in ("demo-00000001", "demo-00000002", "other-job-00000003", ".gone-00000004", *NO_RUNS):
        write(home.outputs / "default" / name / "model")
        write(home.outputs / "default" / f"{name}.json")
    needs = Needs(Uses(names=frozenset({("default", "demo")})))
    found, held = find(home, "outputs", needs)
    assert found == ["default/.gone-00000004", "default/other-job-00000003"]
    assert set(held) == {"default/demo-00000001", "default/demo-00000002"}
    things, _ = find_things(home, needs, ["outputs"])
    assert [remove(home, each, nobody) for each in things] == [None, None]
    assert sorted(path.name for path in (home.outputs / "default").iterdir()) == [
        "-00000005", "-00000005.json", "demo-00000001", "demo-00000001.json", "demo-00000002", "demo-00000002.json",
        "my-best-models", "my-best-models.json",
    ]  # fmt: skip


def record(home: Home, uid: str, name: str) -> RunRecord:
    made = RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", name, uid, 1, 1000.0, 2000.0)
    home.root.mkdir(exist_ok=True)
    write_record(home.history, made)
    return made


def test_logs_and_history_of_what_goes_on_are_held(home: Home) -> None:
    for uid, name in (("going", "goes"), ("ended", "listed"), ("gone", "demo")):
        record(home, uid, name)
        write_log(home.node, f"{name}-worker-0", f"pod-{uid}", job=uid)
    write_log(home.node, "served-ps-0", "pod-serving", job="ended")
    uses = Uses(listed=frozenset({"going", "ended"}), active=frozenset({"going", "pod-serving"}))
    things, held = find_things(home, Needs(uses), ["logs", "history"])
    assert sorted((each.sort, path.name) for each in things for path in each.paths if path.is_dir()) == [
        ("history", "default_demo-worker-0_pod-gone"),
        ("logs", "default_demo-worker-0_pod-gone"),
        ("logs", "default_listed-worker-0_pod-ended"),
    ]
    assert [str(each.why) for each in held] == [
        f"its job is listed: `paddock delete {name}` first" for name in ("goes", "listed")
    ]
    assert [remove(home, each, nobody) for each in things] == [None] * 3
    assert sorted(path.name for path in home.pod_logs.iterdir()) == [
        "default_goes-worker-0_pod-going", "default_served-ps-0_pod-serving",
    ]  # fmt: skip
    assert [each.logs_pruned for each in find_runs(home.history, "default", "listed")] == [True]
    assert find_runs(home.history, "default", "demo") == [] and not (home.history / "default/demo").exists()


def test_nothing_of_a_home_goes_that_cannot_be_asked(home: Home) -> None:
    write(home.outputs / "default/demo-00000001/model")
    record(home, "gone", "demo")
    needs = Needs(Uses(), unknown=((home.root, "damaged"),))
    for sort in ("outputs", "logs", "history"):
        found, held = find(home, sort, needs)
        assert not found and held == {str(home.root): f"what the cluster of {home.root} uses is not known: damaged"}


@pytest.mark.parametrize(
    ("sort", "path", "hold"),
    [
        ("images", "images/layers", lambda home: (home.cache / "images/work-1").mkdir()),
        ("caches", "functions/训练-1", None),
    ],
)
def test_caches_go_unless_something_works_there(
    sort: str, path: str, hold: Callable[[Home], None] | None, home: Home
) -> None:
    written = write(home.cache / path / "file")
    command = {**build_manifest(), "spec": {"command": ["python", f"{written.parent}/train.py"]}}
    manifests = "" if hold else read_uses([], [(RESOURCE, command)], [], 0).manifests
    (thing,), _ = find_things(home, Needs(Uses()), [sort])
    if hold:
        hold(home)
    found, held = find(home, sort, Needs(Uses(manifests=manifests)))
    assert not found and len(held) == 1
    assert remove(home, thing, nobody) is None and not written.exists()


def test_what_cannot_be_removed_is_said_and_what_is_gone_is_no_error(home: Home, tmp_path: Path) -> None:
    """A name of 255 bytes below a path that nothing can open stands for a disk that refuses."""
    gone = Thing("images", "gone", (tmp_path / "never",))
    assert remove(home, gone, nobody) is None
    refused = Thing("images", "x", (tmp_path / ("x" * 300),))
    assert str(remove(home, refused, nobody)).endswith("cannot be removed: File name too long")
