"""The test files that a change can affect: on a small invented tree, in real runs of pytest, and on our own tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.about import ROOMS, concerns
from support.affected import dump_selection, explain_left, load_selection, may_match
from support.changes import read_file, read_tree
from support.imports import Facts, find_modules
from support.programs import need
from support.selection import Graph, Selection, select

ROOT = Path(__file__).resolve().parents[2]

TREE = {
    "src/paddock/__init__.py": """
if TYPE_CHECKING:
    from paddock.sdk.calls import run
def __getattr__(name):
    return import_module(f"paddock.sdk.{ROOMS[name]}")
""",
    "src/paddock/sdk/calls.py": "from paddock.cli import main",
    "src/paddock/cli/__init__.py": "from paddock.cli.words import WORDS",
    "src/paddock/cli/words.py": "",
    "src/paddock/cli/quiet.py": "A = 1",
    "src/paddock/cli/main.py": "def find(verb): return import_module(f'paddock.cli.verbs.{verb}')",
    "src/paddock/cli/verbs/get.py": "def get():\n    from paddock.kube import meta",
    "src/paddock/app/launch.py": "START = [sys.executable, '-m', 'paddock.app.local']",
    "src/paddock/app/local.py": "",
    "src/paddock/kube/meta.py": "",
    "src/paddock/jobs/model.py": "if TYPE_CHECKING:\n    from paddock.kube.meta import A",
    "src/paddock/jobs/alone.py": '"""No `paddock.kube.meta`: a docstring is no text."""\nLABEL = "paddock.dev/job"',
    "tests/conftest.py": """
pytest_plugins = ["support.python"]
@pytest.fixture
def world():
    from support.worlds import open_world
@pytest.fixture(autouse=True)
def always():
    import support.guard
""",
    "tests/support/python.py": "@pytest.fixture\ndef python_of(): from paddock.app import launch",
    "tests/support/worlds.py": "from paddock.kube import meta",
    "tests/support/guard.py": "",
    "tests/support/server.py": "PROGRAM = ROOT / 'tools' / 'kubernetes' / 'crash.py'",
    "tests/jobs/test_model.py": "from paddock.jobs.model import Job",
    "tests/jobs/test_alone.py": "from paddock.jobs import alone",
    "tests/jobs/test_world.py": "def test_it(world): pass",
    "tests/jobs/test_used.py": "@pytest.mark.usefixtures('python_of')\ndef test_it(): pass",
    "tests/cli/conftest.py": "from support.server import PROGRAM",
    "tests/cli/test_get.py": "WORDS = 'python -m paddock.cli.main get'",
    "tests/cli/test_code.py": "CODE = 'import sys; from paddock.app import local'",
    "tests/cli/test_main.py": "from paddock.cli.quiet import A",
    "tests/docs/test_pages.py": "",
    "tests/sdk/test_run.py": "CODE = 'import paddock\\npaddock.run()'",
    "tests/sdk/test_logs.py": "LOGS = HERE.parent / 'cli' / 'logs' / 'a.log'",
    "tests/sdk/test_page.py": "TEXT = (ROOT / 'docs' / name).read_text()",
    "tests/tools/test_ci.py": "CI = ROOT / '.ci' / 'run'",
    "tests/tools/test_ci_text.py": "CI = ROOT.joinpath('.ci/run')",
    "tests/tools/test_verbs.py": "TYPED = 'paddock run'",
    "tests/test_house.py": "PATHS = ROOT.rglob('*.py')",
    "tests/test_sources.py": "PATHS = ROOT / 'src'",
    "tools/kubernetes/crash.py": "import beside",
    "tools/kubernetes/beside.py": "",
}  # fmt: skip
EVERY = {"test_house", "test_sources"}
"""They look at all modules of the product."""
CLI = {"test_get", "test_code", "test_main"}
CHANGES: dict[str, tuple[str, set[str]]] = {
    "a test file is its own": ("tests/jobs/test_alone.py", {"test_alone", "test_house"}),
    "a module that a test imports": ("src/paddock/jobs/alone.py", {"test_alone", *EVERY}),
    "types, a fixture, a late import of a verb that is found by name": (
        "src/paddock/kube/meta.py", {"test_model", "test_world", "test_get", "test_run", *EVERY}
    ),
    "a fixture of a plugin that starts a program by name, and code in a text": (
        "src/paddock/app/local.py", {"test_used", "test_code", *EVERY}
    ),
    "the package above what is imported": ("src/paddock/cli/words.py", {"test_get", "test_main", "test_run", *EVERY}),
    "what the package imports late is of those who name it": ("src/paddock/sdk/calls.py", {"test_run", *EVERY}),
    "a fixture of all": ("tests/support/guard.py", {path.stem for path in map(Path, TREE) if "test_" in path.name}),
    "a fixture of some": ("tests/support/worlds.py", {"test_world", "test_house"}),
    "a conftest file is of its folder": ("tests/cli/conftest.py", {*CLI, "test_house"}),
    "a program beside a program that is started": ("tools/kubernetes/beside.py", {*CLI, "test_house"}),
    "a module that is gone and is still imported": ("src/paddock/jobs/model.py", {"test_model", *EVERY}),
    "a module that nobody imports": ("tools/new.py", {"test_house"}),
    "a conftest file that is gone": ("tests/sdk/conftest.py", {"test_run", "test_logs", "test_page", "test_house"}),
    "a golden is of the tests beside it": (
        "tests/jobs/goldens/pods.yaml", {"test_model", "test_alone", "test_world", "test_used"}
    ),
    "and of who names its folder": ("tests/cli/logs/b.log", {*CLI, "test_logs"}),
    "a page": ("docs/places/hosts.md", {"test_pages", "test_page"}),
    "what no test runs by is of who names all of its path": (".ci/run", {"test_ci", "test_ci_text"}),
    "and of nobody where none does": (".ci/passed", set()),
    "a page at the root": ("README.zh-CN.md", {"test_pages", "test_page"}),
}  # fmt: skip


def read(tree: dict[str, str]) -> dict[str, Facts]:
    return {path: read_file(path, text.encode()) for path, text in tree.items()}


FACTS = read(TREE)


@pytest.mark.parametrize(("changed", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_change_affects_the_test_files_that_lead_to_it(changed: str, expected: set[str]) -> None:
    facts = dict(FACTS)
    if changed.endswith("model.py"):
        del facts[changed]
    found = select(facts, [changed], "29776d2")
    assert {Path(path).stem for path in found.chosen} == expected
    assert found.reason == ""


@pytest.mark.parametrize(
    "changed",
    ["pyproject.toml", "requirements.lock", "Makefile", "deploy/chart/values.yaml", "deploy/manager.py",
     "src/paddock/console/static/console.css", "src/paddock/locale/zh/LC_MESSAGES/paddock.po", "tools/fresh/machine",
     "src/paddock/environments/programs/resnet/train.py", "examples/heter/train.py", "docs/figure.svg", "LICENSE"],
)  # fmt: skip
def test_a_file_of_which_nobody_knows_who_needs_it_affects_all(changed: str) -> None:
    found = select(FACTS, ["src/paddock/jobs/alone.py", changed], "29776d2")
    assert (found.chosen, found.reason) == (found.tests, changed)


def test_of_a_change_that_tests_are_not_about_those_run_that_import_it() -> None:
    def about(path: str) -> bool:
        return concerns(path, ("jobs",))

    def choose(path: str) -> frozenset[str]:
        return select(FACTS, [path], "29776d2", about).chosen

    assert choose("src/paddock/jobs/model.py") == select(FACTS, ["src/paddock/jobs/model.py"], "29776d2").chosen
    assert choose("src/paddock/cli/quiet.py") == {"tests/cli/test_main.py"}, "and not what starts the command line"
    assert choose("src/paddock/kube/meta.py") == set(), "two steps away"
    assert select(FACTS, ["src/paddock/locale/a.mo"], "29776d2", about).reason == ""
    assert select(FACTS, ["src/paddock/jobs/a.mo"], "29776d2", about).reason
    assert select(FACTS, ["Makefile"], "29776d2", about).reason, "any test may be about it"


PRODUCT = [
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "src" / "paddock").rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
]


@pytest.mark.parametrize(("tier", "room"), [(tier, room) for tier, rooms in ROOMS.items() for room in rooms])
def test_each_room_of_a_tier_is_one_or_more_files(tier: str, room: str) -> None:
    assert any(concerns(path, (room,)) for path in PRODUCT), f"{tier} is about {room}, which is nothing"


@pytest.mark.parametrize("tier", ROOMS)
def test_no_room_of_a_tier_stands_in_another_one_of_it(tier: str) -> None:
    inside = [room for room in ROOMS[tier] for other in ROOMS[tier] if room.startswith(f"{other}/")]
    assert inside == [] and len(set(ROOMS[tier])) == len(ROOMS[tier])


@pytest.mark.parametrize(
    ("changed", "tiers"),
    [
        ("src/paddock/words/catalogues.py", {"browser"}),
        ("src/paddock/locale/zh/LC_MESSAGES/paddock.mo", {"browser"}),
        ("src/paddock/jobs/sentences/explain.py", {"browser", "kubernetes", "training"}),
        ("src/paddock/datasets/manifests.py", {"browser", "kubernetes", "training"}),
        ("src/paddock/logs/levels.py", {"browser", "training"}),
        ("src/paddock/doctor/findings.py", {"browser"}),
        ("src/paddock/node/scheduler/queue.py", {"browser", "training"}),
        ("src/paddock/node/scheduler/gpus.py", {"training"}),
        ("src/paddock/app/cluster_datasets.py", {"kubernetes"}),
        ("src/paddock/app/pod_tokens.py", {"kubernetes"}),
        ("src/paddock/cli/cluster/session.py", {"kubernetes"}),
        ("src/paddock/submission/rehearsal.py", {"kubernetes", "training"}),
        ("src/paddock/cli/submit/submitter.py", {"training"}),
        ("src/paddock/cli/follow/follow.py", {"training"}),
        ("src/paddock/history/changes.py", set()),
        ("Makefile", set(ROOMS)),  # none of the product: it may be about any
    ],
)
def test_what_a_change_is_about(changed: str, tiers: set[str]) -> None:
    assert {tier for tier, rooms in ROOMS.items() if concerns(changed, rooms)} == tiers


def test_nothing_has_changed() -> None:
    assert select(FACTS, [], "29776d2").chosen == frozenset()


def test_a_file_that_is_no_python_may_need_every_module() -> None:
    facts = {**FACTS, **read({"tests/jobs/test_broken.py": "def ("})}
    assert "tests/jobs/test_broken.py" in select(facts, ["src/paddock/kube/meta.py"], "29776d2").chosen


@pytest.mark.parametrize(
    ("expression", "marks", "matches"),
    [
        ("", [], True),
        ("kubernetes and not paddle", ["kubernetes", "paddle"], True),  # of some tests, not of all
        ("kubernetes and not paddle", ["paddle"], False),
        ("not slow", ["slow"], True),
        ("slow", ["timeout"], False),
    ],
)
def test_a_file_is_told_as_left_out_if_its_marks_can_match(expression: str, marks: list[str], matches: bool) -> None:
    assert may_match(expression, marks) is matches


def choose(tests: list[str], chosen: list[str]) -> Selection:
    return Selection("29776d2", (), frozenset(chosen), frozenset(tests), "", frozenset(), {})


def test_what_is_left_out_is_told_by_name_and_a_folder_at_once() -> None:
    names = ("kubernetes/test_kueue", "kubernetes/test_life", "cli/a/test_b", "cli/test_c", "cli/test_d")
    tests = [f"tests/{name}.py" for name in names]
    assert explain_left(choose(tests, tests[4:]), tests[:4]) == [
        "left out: tests/cli/test_c.py: nothing that it imports has changed since 29776d2",
        "left out: tests/cli/a/test_b.py: nothing that it imports has changed since 29776d2",
        "left out: tests/kubernetes, 2 files: nothing that they import has changed since 29776d2",
    ]


def test_a_long_list_has_a_line_for_each_folder_and_every_name() -> None:
    tests = [f"tests/kube/test_{number}.py" for number in range(100)]
    (line,) = explain_left(choose(tests, tests[99:]), tests[:99])
    assert line.startswith("left out: tests/kube/test_{0,1,10,")
    assert all(f"{number}" in line for number in range(99))


def test_what_xdist_carries_is_the_same() -> None:
    found = select(FACTS, ["src/paddock/kube/meta.py"], "29776d2")
    carried = load_selection(dump_selection(found))
    assert (carried.chosen, carried.tests, carried.samples) == (found.chosen, found.tests, found.samples)


class Clone:
    """A repository with two test files of one module each, and a third with a sample."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("src/paddock/__init__.py", "")  # else the installed one would be imported
        for name in "abc":
            self.write(f"src/paddock/{name}.py", "VALUE = 1\n")
            self.write(f"tests/test_{name}.py", f"from paddock.{name} import VALUE\ndef test_{name}(): assert VALUE\n")
        self.write(
            "tests/test_c.py", "import pytest, paddock.c\n@pytest.mark.sample\ndef test_c(): ...\ndef test_d(): ...\n"
        )
        self.write(".gitignore", "__pycache__\n.pytest_cache\n")
        self.git("init", "-q", "-b", "main")
        self.commit()

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def git(self, *words: str) -> str:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *names, *words], cwd=self.root, check=True, capture_output=True, text=True).stdout

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a")

    def pytest(self, *words: str) -> subprocess.CompletedProcess[str]:
        plugins = ("-p", "support.affected", "-p", "no:randomly", "-o", "markers=sample", "--rootdir", str(self.root))
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'tests'}:{self.root / 'src'}", "PYTEST_ADDOPTS": ""}
        command = [sys.executable, "-m", "pytest", *plugins, "-v", *words]
        return subprocess.run(command, env=environment, cwd=self.root, capture_output=True, text=True)


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    need("git")
    return Clone(tmp_path)


@pytest.mark.parametrize("workers", ["0", pytest.param("2", marks=pytest.mark.slow)])
def test_the_test_file_of_what_has_changed_runs_alone(clone: Clone, workers: str) -> None:
    clone.write("src/paddock/a.py", "VALUE = 2\n")
    ended = clone.pytest("--affected", "-n", workers)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "1 passed" in ended.stdout and "test_a.py" in ended.stdout
    since = clone.git("rev-parse", "--short", "HEAD").strip()
    said = f"affected: since {since}, 1 file differs; 1 of 3 test files run"
    assert ended.stdout.splitlines().count(said) == 2, "in the header and at the end"
    left = [f"left out: tests/test_{name}.py: nothing that it imports has changed since {since}" for name in "bc"]
    assert ended.stdout.splitlines()[-3:-1] == left


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_sample_runs_whatever_has_changed_and_the_rest_of_its_file_does_not(clone: Clone, workers: str) -> None:
    ended = clone.pytest("--affected", "--sample", "-n", workers)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "test_c.py::test_c" in ended.stdout and "test_d" not in ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_where_nothing_has_changed_no_test_is_left_and_the_exit_code_is_0(clone: Clone, workers: str) -> None:
    ended = clone.pytest("--affected", "-n", workers)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "no test is left" in ended.stdout
    of_no_file = clone.pytest("--affected", "-m", "sample", "tests/test_a.py", "-n", workers)
    assert of_no_file.returncode == 5, "no file of these words has such a mark, whatever has changed"


@pytest.mark.slow
def test_a_branch_is_compared_with_where_it_left_its_upstream(clone: Clone) -> None:
    clone.git("checkout", "-q", "-b", "mine", "--track", "main")
    clone.write("src/paddock/b.py", "VALUE = 2\n")
    clone.commit()
    clone.git("mv", "src/paddock/c.py", "src/paddock/renamed.py")
    clone.write("tests/test_new.py", "def test_new(): ...\n")
    ended = clone.pytest("--affected", "--collect-only", "-q")
    assert "test_b.py" in ended.stdout and "test_new.py" in ended.stdout and "test_a.py::" not in ended.stdout
    assert "4 files differ; 3 of 4 test files run" in ended.stdout, "both names of what was renamed"


@pytest.mark.slow
def test_a_file_that_is_edited_is_read_again(clone: Clone) -> None:
    clone.pytest("--affected")
    clone.write("tests/test_b.py", "from paddock.a import VALUE\ndef test_b(): assert VALUE\n")
    clone.commit()
    clone.write("src/paddock/a.py", "VALUE = 2\n")
    assert "2 of 3 test files run" in clone.pytest("--affected").stdout


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--affected=no-such-branch", "git knows no commit 'no-such-branch'"),
        pytest.param("--affected=tests", "put tests before it", marks=pytest.mark.slow),
        pytest.param("--affected=--all", "git knows no commit '--all'", marks=pytest.mark.slow),
    ],
)
def test_an_unknown_commit_is_a_sentence(clone: Clone, word: str, said: str) -> None:
    ended = clone.pytest(word)
    assert (ended.returncode, "Traceback" in ended.stderr) == (4, False)
    assert said in ended.stderr


def test_a_folder_without_git_is_a_sentence(clone: Clone) -> None:
    (clone.root / ".git").rename(clone.root / "not.git")
    ended = clone.pytest("--affected")
    assert ended.returncode == 4
    assert "run pytest in a clone of the repository, or without --affected" in ended.stderr


@pytest.fixture(scope="module")
def ours(request: pytest.FixtureRequest) -> Graph:
    """Read once, and then again what has changed."""
    need("git")
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone of the repository, so git lists no files of it")
    cache = request.config.cache
    assert cache is not None
    facts, remembered = read_tree(ROOT, cache.get("paddock/affected", {}))
    cache.set("paddock/affected", remembered)
    return Graph(facts)


@pytest.mark.slow
def test_every_module_of_ours_is_read(ours: Graph) -> None:
    files = {path.relative_to(ROOT).as_posix() for path in find_modules(ROOT / "src").values()}
    assert files <= ours.facts.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "test"),
    [
        ("src/paddock/cli/verbs/get.py", "tests/e2e/test_run.py"),  # a verb, in a process that a test starts
        ("src/paddock/cli/verbs/dataset.py", "tests/cli/test_dataset.py"),
        ("src/paddock/app/consoles/local.py", "tests/app/test_listening.py"),  # loaded late, by its name
        ("src/paddock/app/local.py", "tests/e2e/test_training.py"),  # the cluster's process
        ("src/paddock/datasets/fetch/s3.py", "tests/datasets/fetch/test_s3.py"),  # a child process
        ("src/paddock/sdk/calls.py", "tests/e2e/test_python_calls.py"),
        ("src/paddock/operator/shares.py", "tests/kubernetes/on_node/test_training.py"),  # in an image of all of src
        ("src/paddock/version.py", "tests/kubernetes/on_node/test_training.py"),
        ("src/paddock/environments/uv.py", "tests/e2e/test_elastic_pytorch.py"),
        ("src/paddock/console/pages.py", "tests/test_house.py"),  # reads every module
        ("tests/browser/test_checks_jobs.py", "tests/test_house.py"),  # counts the lines of every file of tests
        ("house.toml", "tests/test_house.py"),
        (".ci/run", "tests/tools/test_ci.py"),
        ("src/paddock/node/usage/meter.py", "tests/support/test_process_state.py"),
        ("tests/support/worlds.py", "tests/kubernetes/test_life.py"),  # a fixture
        ("tests/node/kubelet/crashing_cluster.py", "tests/node/kubelet/test_adoption.py"),  # a program by its file
        ("tools/kubernetes/rootfs.py", "tests/kubernetes/on_node/test_training.py"),
        ("tools/kubernetes/processes.py", "tests/kubernetes/test_life.py"),
        ("tests/browser/test_checks_jobs.py", "tests/browser/test_checks_kubernetes.py"),
        ("tests/logs/torchrun_single_raise.log", "tests/cli/output/test_display.py"),
        ("tests/doctor/logs/any.log", "tests/console/test_doctor.py"),
        ("tests/bad/no_shared_memory.yaml", "tests/preflight/test_preflight.py"),
        ("tests/preflight/run.sh", "tests/cli/test_init_from.py"),
        ("docs/operator.md", "tests/operator/test_metrics.py"),
        ("README.md", "tests/operations/test_pages.py"),
        ("CHANGELOG.md", "tests/tools/test_wheel.py"),
    ],
)
def test_ways_of_our_own_tree_are_found(ours: Graph, changed: str, test: str) -> None:
    assert test in ours.find_users(ours.find_seeds([changed]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "most"),
    [
        ("src/paddock/cli/verbs/get.py", 0.4),
        ("src/paddock/console/pages.py", 0.5),
        ("docs/servers.md", 0.1),
        ("house.toml", 0.05),
        (".ci/run", 0.01),
        (".ci/passed", 0.01),
    ],
)
def test_a_change_at_a_leaf_leaves_most_of_our_tests_out(ours: Graph, changed: str, most: float) -> None:
    """An import at the top of a plugin or of tests/conftest.py is an import of every test file."""
    found = select(ours.facts, [changed], "29776d2")
    assert not found.reason and len(found.chosen) < most * len(found.tests)


@pytest.mark.slow
def test_files_with_properties_have_the_mark_of_hypothesis(ours: Graph) -> None:
    assert "hypothesis" in ours.marks_of("tests/kube/test_patches.py")
    assert "hypothesis" in ours.marks_of("tests/jobs/test_simulation.py")
    assert "hypothesis" not in ours.marks_of("tests/docs/test_pages.py")


@pytest.mark.slow
def test_each_long_tier_has_a_sample(ours: Graph) -> None:
    marks = set[str]().union(*(ours.marks_of(path) for path in select(ours.facts, [], "").samples))
    assert marks >= {"paddle", "browser", "kubernetes", "slow"}
