"""`paddock rehearse`: what is wrong with a command is told before anything starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from paddock import doctor
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.main import cli
from paddock.cli.rehearsed_findings import NO_GPU, NOT_MET, asks_for_device, choose_findings, find_apart
from paddock.cli.rehearsed_run import Counting
from paddock.cli.verbs.rehearse import choose_sources, fill_volumes, read_data
from paddock.doctor.findings import Finding, Severity
from paddock.jobs.model import Job, JobProgress, Rank
from paddock.manifests.yaml_texts import write_yaml
from paddock.submission.rehearsal import Asked
from paddock.submission.rehearsal_report import Outcome, Verdict
from paddock.words.phrases import phrase
from submission.test_rehearsal import CLAIM, build_batch, build_with_volume, plan


def ask(*words: str) -> Result:
    return CliRunner().invoke(cli, ["rehearse", *words], standalone_mode=False)


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "home"))
    (tmp_path / "job.yaml").write_text(write_yaml([build_with_volume(CLAIM)]))
    (tmp_path / "two.yaml").write_text(write_yaml([build_batch(), {**build_batch(), "metadata": {"name": "b"}}]))
    (tmp_path / "wrong.yaml").write_text(write_yaml([{**build_batch(), "spec": {}}]))
    (tmp_path / "small").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none.yaml",), "none.yaml: No such file or directory"),
        (("two.yaml",), "two.yaml: a rehearsal is of one job, here are 2: `paddock validate two.yaml` says what is in"),
        (("wrong.yaml",), "spec.worker"),
        (("job.yaml", "--data", "none"), "--data none: there is no directory none"),
        (("job.yaml", "--data", "data=job.yaml"), "--data data=job.yaml: there is no directory job.yaml"),
        (("job.yaml", "--data", "small", "--data", "small"), "two directories for the same volumes"),
    ],
)
def test_a_wrong_command_starts_nothing(words: tuple[str, ...], said: str, work: Path) -> None:
    result = ask(*words)
    assert isinstance(result.exception, UserError) and not isinstance(result.exception, Failed)
    assert said in str(result.exception)
    assert not (work / "home").exists()


def test_a_large_directory_is_refused(work: Path) -> None:
    with (work / "small" / "large").open("wb") as file:
        file.truncate(201 * 10**6)
    with pytest.raises(UserError, match="--data small: more than 200 MB"):
        read_data(["small"])


def test_a_link_that_leads_to_nothing_is_refused(work: Path) -> None:
    (work / "small/a").symlink_to("nowhere")
    with pytest.raises(UserError, match=f"--data data=small: {work}/small/a is a link to nowhere, which leads to"):
        read_data(["data=small"])


def test_a_file_in_the_way_of_a_copy_is_told(work: Path) -> None:
    asked = Asked(2, 300, directory=str(work / "job.yaml"))
    with pytest.raises(Failed, match=r"job.yaml.* cannot be copied: Not a directory"):
        fill_volumes(plan(build_with_volume(CLAIM), asked=asked), {})


def test_a_directory_may_be_named_for_a_volume_and_may_have_an_equals_sign(work: Path) -> None:
    (work / "a=b").mkdir()
    assert read_data(["./a=b", "data=small"]) == {"": work / "a=b", "data": work / "small"}


def test_the_manifest_is_printed_and_nothing_is_started(work: Path) -> None:
    result = ask("job.yaml", "--print", "--steps", "3", "--ranks", "1")
    assert result.exception is None
    assert "name: resnet-rehearsal" in result.output and "replicas: 1" in result.output
    assert "value: '3'" in result.output
    assert "1 of 2 workers are started (--ranks)" in result.stderr, "how it differs from the file"
    assert not (work / "home").exists()


def test_the_manifest_is_printed_as_json(work: Path) -> None:
    result = ask("job.yaml", "--print", "-o", "json")
    printed = json.loads(result.stdout)
    assert printed["kind"] == "List" and printed["items"][0]["metadata"]["name"] == "resnet-rehearsal"


def test_what_is_printed_knows_the_data_and_that_nothing_was_looked_for(work: Path) -> None:
    (work / "small/part").write_text("two images")
    without, given = (ask("job.yaml", "--print", *words).stderr for words in ((), ("--data", "small")))
    assert "at /data: an empty directory; --data data=DIR puts a copy of DIR there" in without
    assert f"at /data: a copy of {work / 'small'}, " in given and "an empty directory" not in given
    assert "--print looks for nothing here" in without
    refused = ask("job.yaml", "--print", "--data", "other=small").exception
    assert isinstance(refused, UserError) and "no volume of the job is called so" in str(refused)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (
            {"other": "/small"},
            "--data other=/small: no volume of the job is called so, or stands for that; replaced are",
        ),
        ({"": "/small", "data": "/a"}, "--data /small: no volume is left that would have it (replaced are data)"),
    ],
)
def test_a_directory_that_no_volume_would_have_is_refused(named: dict[str, str], said: str) -> None:
    sources = {name: Path(path) for name, path in named.items()}
    with pytest.raises(UserError) as raised:
        choose_sources(plan(build_with_volume(CLAIM)), sources)
    assert said in str(raised.value)


@pytest.mark.parametrize("name", ["", "data", "imagenet"])
def test_a_directory_finds_its_volume(name: str) -> None:
    found = choose_sources(plan(build_with_volume(CLAIM)), {name: Path("/small")})
    assert found == {"persistentVolumeClaim imagenet": Path("/small")}


def test_steps_are_counted_of_each_rank_from_either_source(tmp_path: Path) -> None:
    counting, rank, other = Counting(), Rank("worker", 0), Rank("worker", 1)
    counting.read(rank, 0, ["step 1 loss 0.5", "nothing"])
    counting.read(rank, 0, ["step 3 loss 0.5"])
    assert counting.best_of(rank).count() == 2
    assert counting.best_of(other).first is None
    file = tmp_path / "m.jsonl"
    file.write_text('{"step": 1, "loss": 0.5}\n{"step": 2')
    counting.look(other, file)
    with file.open("a") as more:
        more.write('0, "loss": 0.4}\n')
    counting.look(other, file)
    assert counting.best_of(other).count() == 19


def read_job() -> Job:
    job = plan(build_batch(workers=2)).job.job
    assert job is not None
    return job


def test_one_rank_that_has_told_enough_is_enough() -> None:
    counting = Counting()
    counting.read(Rank("worker", 1), 0, ["step 1 loss 0.5", "step 2 loss 0.4"])
    assert not counting.has_done(read_job(), 2)
    counting.read(Rank("worker", 1), 0, ["step 3 loss 0.3"])
    assert counting.has_done(read_job(), 2)


def test_a_new_attempt_is_counted_anew() -> None:
    counting = Counting()
    counting.read(Rank("worker", 0), 0, ["step 1 loss 0.5"])
    counting.read(Rank("worker", 0), 1, ["step 50 loss 0.5"])
    assert counting.best_of(Rank("worker", 0)).count() == 0


def test_of_several_processes_in_one_log_what_counts_is_what_all_of_them_tell(tmp_path: Path) -> None:
    """Two processes that print the same numbers look like more steps than a file of one of them has."""
    counting, rank, file = Counting(), Rank("worker", 0), tmp_path / "m.jsonl"
    counting.read(rank, 0, [f"step {number} loss 0.5" for number in (1, 3, 1, 3)])
    file.write_text("".join(f'{{"step": {number}, "loss": 0.5}}\n' for number in (1, 2, 3, 4)))
    counting.look(rank, file)
    assert [counting.best_of(rank, processes).count(processes) for processes in (1, 2)] == [5, 3]


def test_of_two_attempts_that_tell_as_much_the_earlier_counts() -> None:
    counting, rank = Counting(), Rank("worker", 0)
    for attempt, begins in ((1, 10), (0, 5)):
        counting.read(rank, attempt, [f"step {begins} loss 0.5", f"step {begins + 1} loss 0.5"])
    first = counting.best_of(rank).first
    assert first is not None and first.step == 5


def test_what_is_posted_counts_where_nothing_is_printed() -> None:
    counting = Counting()
    for percent in (1, 1, 2, 3):
        counting.note(JobProgress(percent))
    assert counting.has_done(read_job(), 2)
    counting.read(Rank("worker", 0), 0, ["step 1 loss 0.5"])
    assert not counting.has_done(read_job(), 2)


def build_finding(check: str, severity: Severity = Severity.WRONG, error: str = "") -> Finding:
    what = phrase("it failed: {error}", error=error)
    return Finding(check, severity, "worker-0", what, phrase("why"), phrase("install it"), "nvidia-smi")


@pytest.mark.parametrize(
    "error",
    [
        "AssertionError: Torch not compiled with CUDA enabled",
        "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'",
        "RuntimeError: torch.cuda.Stream requires CUDA support",
        "RuntimeError: No CUDA GPUs are available",
        "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False",
        "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
        "RuntimeError: CUDA error: no CUDA-capable device is detected",
        "ValueError: The device should not be 'gpu', since PaddlePaddle is not compiled with CUDA",
        "If you only have CPU: you have installed CPU version PaddlePaddle.",
        "ValueError: fp16 mixed precision requires a GPU (not 'cpu').",
        "ValueError: Your setup doesn't support bf16/gpu.",
    ],
)
def test_a_rank_that_ends_without_a_gpu_is_none_of_the_programs_faults(error: str) -> None:
    findings = [build_finding("program-failed", error=error), build_finding("ranks-differ")]
    assert asks_for_device(findings)
    told = choose_findings(findings, Outcome(Verdict.FAILED, 1.0, wants_device=True))
    assert [each.check for each in told] == ["ranks-differ"]


@pytest.mark.parametrize(
    "error", ["ValueError: bad shape", "RuntimeError: CUDA out of memory", "KeyError: 'gpu'", "OSError: no space left"]
)
def test_another_error_is_the_programs(error: str) -> None:
    findings = (build_finding("program-failed", error=error),)
    assert not asks_for_device(findings)
    assert choose_findings(findings, Outcome(Verdict.FAILED, 1.0)) == findings


@pytest.mark.parametrize("check", sorted(NO_GPU))
def test_no_rehearsal_is_told_to_get_a_gpu(check: str) -> None:
    assert asks_for_device([build_finding(check)])
    assert not asks_for_device([build_finding(check, Severity.RISK)]), "the wheel against what its pods ask for"
    for severity in Severity:
        assert choose_findings([build_finding(check, severity)], Outcome(Verdict.FAILED, 1.0)) == ()


@pytest.mark.parametrize(
    ("check", "apart"),
    [("waits-for-nodes-that-nobody-starts", True), ("waits-for-peers", True), ("program-failed", False)],
)
def test_doctor_knows_why_ranks_do_not_meet(check: str, apart: bool) -> None:
    finding = Finding(check, Severity.WRONG, "worker", phrase("what"), phrase("why"), phrase("mend"))
    assert (find_apart([finding]) is not None) == apart


def test_each_check_that_is_named_is_one_of_doctors() -> None:
    text = "".join(path.read_text() for path in (Path(doctor.__file__).parent).glob("*.py"))
    assert [check for check in (*NOT_MET, *NO_GPU) if f'"{check}"' not in text] == []
