"""`paddock compare`: which runs the words name, and what stands side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paddock.app.history import History
from paddock.app.home import Home
from paddock.cli.cluster.errors import UserError
from paddock.cli.output.side_by_side import build_blocks
from paddock.cli.verbs.compare import Compared, build_document, choose_runs, compare_settings, list_facts
from paddock.history.records import RunRecord, write_record
from paddock.history.surroundings import DatasetState, MachineState, Surroundings
from paddock.views.run_comparison import compare_packages, list_requirements

API = "batch.paddlepaddle.org/v1"


def run(name: str, number: int, replicas: int = 1, code: str = "") -> RunRecord:
    record = RunRecord(API, "PaddleJob", "default", name, f"{name}-{number}", number, 100.0 * number)
    annotations = {"paddock.dev/code": code, "paddock.dev/working-directory": f"/srv/{name}"}
    return replace(
        record, spec={"worker": {"replicas": replicas, "image": "a"}}, annotations=annotations, phase="Completed",
        finished=True, ended=record.created + 60,
    )  # fmt: skip


@pytest.fixture
def history(tmp_path: Path) -> History:
    home = Home(tmp_path, tmp_path)
    for each in (run("train", 1), run("train", 2, 2), run("train", 5), run("resnet", 7), run("once", 1)):
        write_record(home.history, each)
    return History(home)


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ("train", ["train-2", "train-5"]),
        ("train 1 5", ["train-1", "train-5"]),
        ("train 5 1 2", ["train-5", "train-1", "train-2"]),
        ("train:1 train:2", ["train-1", "train-2"]),
        ("train:1 2", ["train-1", "train-2"]),
        ("train resnet", ["train-5", "resnet-7"]),
        ("train:1 resnet", ["train-1", "resnet-7"]),
        ("train:1 resnet:7 train:1", ["train-1", "resnet-7"]),
        ("train 1 resnet 7", ["train-1", "resnet-7"]),
        ("train 1 resnet", ["train-1", "resnet-7"]),
    ],
)
def test_words_name_runs(history: History, words: str, chosen: list[str]) -> None:
    assert [each.uid for each in choose_runs(history, "default", words.split())] == chosen


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("once", "two runs are wanted, and only run 1 of once is named or kept: `paddock history once` lists them"),
        ("train:1 train:1", "two runs are wanted, and only run 1 of train is named or kept"),
        ("train 9", "train has no run 9; kept are 1, 2, 5"),
        ("train:x", "'train:x' is no run: a number stands behind the colon, as in train:3"),
        ("train " + "9" * 5_000, "no run of '999"),
        ("nothere", "no run of 'nothere' is kept in namespace default"),
    ],
)
def test_what_names_no_two_runs_is_refused(history: History, words: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        choose_runs(history, "default", words.split())
    assert said in str(caught.value)


def test_only_what_differs_is_shown_beside_how_they_ended() -> None:
    one = run("train", 1, 1, '{"files":{"train.py":"aaaaaa"}}')
    two = run("train", 2, 2, '{"files":{"train.py":"bbbbbb"}}')
    compared = [Compared(one, {"worker-0": {"loss": 0.5}}), Compared(two, {})]
    facts = dict(list_facts(compared, "en"))
    assert facts["Ended"] == ["Completed", "Completed"] and facts["Took"] == ["60s", "60s"]
    assert facts["loss"] == ["0.5", "–"] and facts["spec.worker.replicas"] == ["1", "2"]
    assert facts["Code"] == ["1 file", "1 file; differs: train.py"]
    assert "Directory" not in facts and "Restarts" not in facts
    document = build_document(compared)
    assert document["differences"] == [{"path": "spec.worker.replicas", "values": ["1", "2"]}]
    assert [each["run"] for each in document["runs"]] == [1, 2] and document["equal"] == 1


def tried(number: int, command: str, **numbers: float | str) -> Compared:
    container = {"name": "pytorch", "command": command.split()}
    roles = {name: {"template": {"spec": {"containers": [container]}}} for name in ("Master", "Worker")}
    return Compared(replace(run("cnn", number), spec={"replicaSpecs": roles}), {"master-0": numbers})


SWEEP = [
    tried(1, "python t.py --lr 0.003 --epochs 2", epoch=2, loss=2.0, val_accuracy=0.25, lr=0.001),
    tried(2, "python t.py --lr 0.01 --epochs 2 --amp", epoch=2, loss=1.0, val_accuracy=0.5, lr=0.003),
    tried(3, "python t.py --lr 0.03 --epochs 2", epoch=2, loss="nan", val_accuracy=0.5, lr=0.01),
]


def test_arguments_come_first_by_their_names_then_every_number_with_the_best_marked_and_manifests_last() -> None:
    facts = dict(list_facts(SWEEP, "en"))
    assert [*facts.items()][:6] == [
        ("lr", ["0.003", "0.01", "0.03"]), ("amp", ["–", "true", "–"]), ("epoch", ["2", "2", "2"]),
        ("loss", ["2", "1*", "nan"]), ("val_accuracy", ["0.25", "0.5*", "0.5*"]),
        ("lr, last", ["0.001", "0.003", "0.01"]),
    ]  # fmt: skip
    assert not any("replicaSpecs" in title for title in facts), "roles that say the same say it once, by its name"
    document = build_document(SWEEP)
    assert document["arguments"][0] == {"name": "lr", "values": ["0.003", "0.01", "0.03"]}
    assert document["numbers"][1] == {"name": "loss", "values": [2.0, 1.0, "nan"], "best": [1]}
    assert document["equal"] == 2, "epochs and the command"


@pytest.mark.parametrize("width", [40, 60, 80, 110, 200])
def test_what_does_not_fit_is_folded_and_goes_into_blocks(width: int) -> None:
    table = [["", *(f"{'long-name-' * 4}{number}" for number in range(8))],
             ["spec." + "x" * 90, *(["python train.py --lr 0.1 " * 5] * 8)],
             ["loss", *(f"0.{number}25*" for number in range(8))]]  # fmt: skip
    lines = [line.plain for block in build_blocks(table, width) for line in block]
    assert max(map(len, lines)) <= width
    shown = "\n".join(lines)
    assert all(f"0.{number}25*" in shown for number in range(8))
    assert "".join(shown.split()).count("train.py") == 8 * 5


def test_rehearsals_of_one_job_differ_in_no_random_directory() -> None:
    one, two = (
        replace(run("train-rehearsal", number), spec={"worker": {"hostPath": {"path": f"/h/rehearsals/{own}/data"}}})
        for number, own in ((1, "17-abcd1234"), (2, "201-x_y2z345"))
    )
    assert not any(each.differs for each in compare_settings([one, two]).fields)


SETS = {"a": {"torch": "2.5.0", "numpy": "2.1"}, "b": {"torch": "2.6.0", "numpy": "2.1"}}


def began(number: int, *, packages: str = "", revision: str = "", cpus: float = 0.0) -> Compared:
    found = Surroundings(
        {"worker": packages} if packages else {},
        {"words": DatasetState("hf://words", revision)} if revision else None,
        MachineState("ada", cpus, 2**34) if cpus else None,
    )
    return Compared(replace(run("train", number), surroundings=found), {})


def test_what_runs_began_with_stands_side_by_side_where_it_differs() -> None:
    compared = [
        began(1), began(2, packages="a", revision="3f2a", cpus=8), began(3, packages="b", revision="9be0", cpus=8),
        began(4, packages="a", revision="3f2a", cpus=16), began(5, packages="gone"),
    ]  # fmt: skip
    facts = dict(list_facts(compared, "en", SETS.get))
    assert facts["Packages"] == ["–", "2 packages", "torch 2.5.0 → 2.6.0", "2 packages", "…"]
    assert facts["Dataset words"] == ["–", "3f2a", "9be0", "3f2a", "–"]
    assert facts["Machine"][:2] == ["–", "ada: no GPU, CPUs 8, memory 16 GiB"]
    same = dict(list_facts([compared[1], compared[1]], "en", SETS.get))
    assert not {"Packages", "Dataset words", "Machine"} & same.keys()


def test_packages_are_unknown_of_runs_that_recorded_none_and_not_of_one_that_lacks_a_role() -> None:
    began_with = [{"worker": "a"}, {"ps": "a", "worker": "b"}, {}, {"worker": "gone"}]
    found = compare_packages([Surroundings(each) for each in began_with], SETS.get)
    assert found.unknown == [2, 3] and [row.name for row in found.rows] == ["torch"]


def test_files_of_requirements_are_told_by_name_and_those_that_say_something_else() -> None:
    digests = ["", '{"r.txt":"aa","dev.txt":"cc"}', '{"r.txt":"bb","dev.txt":"cc","--add":"six, tqdm"}', "[1]"]
    runs = [replace(run("train", 1), annotations={"paddock.dev/requirements-digest": each}) for each in digests]
    assert list_requirements(runs, "en") == [
        "–",
        "r.txt, dev.txt",
        "r.txt, dev.txt, --add six, tqdm; differs: r.txt",
        "–",
    ]


def test_json_has_all_that_runs_began_with() -> None:
    compared = [began(1), began(2, packages="a", revision="3f2a", cpus=8), began(3, packages="gone")]
    old, known, lost = build_document(compared, SETS.get)["runs"]
    assert [old[name] for name in ("packages", "datasets", "machine")] == [None, None, None]
    assert known["packages"] == {"worker": SETS["a"]} and known["machine"]["cpus"] == 8
    assert known["datasets"]["words"]["revision"] == "3f2a" and lost["packages"] == {"worker": None}


def test_roles_that_had_other_packages_have_a_row_each() -> None:
    roles = [Surroundings({"ps": "a", "worker": "a"}), Surroundings({"ps": "b", "worker": "a"})]
    compared = [Compared(replace(run("train", number), surroundings=each), {}) for number, each in enumerate(roles)]
    facts = dict(list_facts(compared, "en", SETS.get))
    assert facts["Packages of ps"] == ["2 packages", "torch 2.5.0 → 2.6.0"] and "Packages of worker" not in facts
