"""Which directory of which claim a board on a cluster shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paddock.jobs.apis.registry import KINDS, PADDLEPADDLE
from paddock.jobs.model import Job
from paddock.views.claims import ClaimMount, Shown, Unclear, choose_shown, list_named

TYPED = "paddock board train --context prod"
OUT, DATA = {"name": "o", "mountPath": "/out"}, {"name": "d", "mountPath": "/data"}
NAMED = {"name": "PADDOCK_OUTPUT_DIR", "value": "/out/run"}
VOLUMES = [
    {"name": "o", "persistentVolumeClaim": {"claimName": "results"}},
    {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
    {"name": "e", "emptyDir": {}},
]


def build_template(mounts: list[Any], command: list[str], env: list[Any]) -> dict[str, Any]:
    container = {"name": "paddle", "image": "i", "command": command, "volumeMounts": mounts, "env": env}
    return {"spec": {"containers": [{"name": "side", "image": "s"}, container], "volumes": VOLUMES}}


def build_job(*mounts: Any, command: str = "python train.py", env: Any = (), ps: list[Any] | None = None) -> Job:
    spec: dict[str, Any] = {
        "worker": {"replicas": 2, "template": build_template(list(mounts), command.split(), list(env))}
    }
    if ps is not None:
        spec["ps"] = {"replicas": 1, "template": build_template(ps, ["python", "ps.py"], [])}
    manifest = {
        "apiVersion": PADDLEPADDLE.resource.api_version,
        "kind": "PaddleJob",
        "metadata": {"name": "train", "namespace": "default", "uid": "u"},
        "spec": spec,
    }
    return KINDS[PADDLEPADDLE.resource].read_job(manifest)


RESULTS = ClaimMount("results", "/out")
BOTH = (OUT, DATA)
READ = {**DATA, "readOnly": True}


@pytest.mark.parametrize(
    ("job", "asked", "shown"),
    [
        (build_job(OUT), ("", "", ""), Shown(RESULTS, "/out")),
        (build_job(OUT, READ), ("", "", ""), Shown(RESULTS, "/out")),
        (build_job(OUT, ps=[OUT]), ("", "", ""), Shown(RESULTS, "/out")),
        (build_job(*BOTH, env=[NAMED]), ("", "", ""), Shown(RESULTS, "/out/run")),
        (build_job(*BOTH, command="python train.py --log_dir /out/vdl"), ("", "", ""), Shown(RESULTS, "/out/vdl")),
        (build_job(*BOTH, command="python train.py --logdir=/out/a --output-dir /out/b"), ("", "", ""),
         Shown(RESULTS, "/out")),
        # A launcher's is where ranks print.
        (build_job(OUT, command="python -m paddle.distributed.launch --log_dir /out/log train.py"), ("", "", ""),
         Shown(RESULTS, "/out")),
        (build_job(OUT, command="python train.py --log_dir vdl"), ("", "", ""), Shown(RESULTS, "/out")),
        (build_job(OUT, env=[{**NAMED, "value": "/tmp/x"}]), ("", "", ""), Shown(RESULTS, "/out")),
        (build_job(*BOTH), ("data", "", ""), Shown(ClaimMount("data", "/data"), "/data")),
        (build_job(*BOTH), ("results", "", ""), Shown(RESULTS, "/out")),
        (build_job(READ), ("data", "", ""), Shown(ClaimMount("data", "/data"), "/data")),
        (build_job(*BOTH), ("results", "team/run", ""), Shown(RESULTS, "/out/team/run")),
        (build_job({**OUT, "subPath": "team"}), ("", "", ""), Shown(ClaimMount("results", "/out", "team"), "/out")),
        (build_job({**OUT, "subPath": "team"}), ("results", "other", ""), Shown(RESULTS, "/out/other")),
        (build_job({**OUT, "subPathExpr": "$(POD_NAME)"}), ("results", "a-0", ""), Shown(RESULTS, "/out/a-0")),
        (build_job(*BOTH), ("", "", "/data/vdl/"), Shown(ClaimMount("data", "/data"), "/data/vdl")),
        (build_job(OUT, {**DATA, "mountPath": "/out/data"}), ("", "", "/out/data/x"),
         Shown(ClaimMount("data", "/out/data"), "/out/data/x")),
        (build_job(*BOTH, env=[{**NAMED, "value": "/outside"}], command="python train.py --save_dir /data/x"),
         ("", "", ""), Shown(ClaimMount("data", "/data"), "/data/x")),
    ],
)  # fmt: skip
def test_the_job_says_what_is_shown(job: Job, asked: tuple[str, str, str], shown: Shown) -> None:
    found = choose_shown(job, *asked, TYPED)
    assert found == shown


@pytest.mark.parametrize(
    ("job", "asked", "said"),
    [
        (build_job(), ("", "", ""), ["train mounts no claim (PersistentVolumeClaim), so nothing"]),
        (build_job({"name": "e", "mountPath": "/tmp"}), ("", "", ""), ["train mounts no claim"]),
        (build_job(*BOTH), ("", "", ""), [
            "train mounts claims at several places, and nothing says which one has its files",
            f"/out is the claim results: `{TYPED} --claim results`",
            f"/data is the claim data: `{TYPED} --claim data`",
        ]),
        (build_job(*BOTH, command="python t.py --log_dir /out/a --save_dir /data/b"), ("", "", ""), [
            "train mounts claims at several places", "/out is", "/data is",
        ]),
        (build_job({**OUT, "subPath": "a"}, {**OUT, "mountPath": "/b", "subPath": "b"}), ("", "", ""), [
            "train mounts claims at several places",
            f"/out is the claim results:a: `{TYPED} --path /out`",
            f"/b is the claim results:b: `{TYPED} --path /b`",
        ]),
        (build_job(OUT, ps=[{**DATA, "mountPath": "/out"}]), ("", "", "/out/x"), [
            "train mounts claims at several places", "/out is", "/out is",
        ]),
        (build_job(READ), ("", "", ""), ["train writes to no claim: each is mounted read-only", "/data is the claim"]),
        (build_job({**OUT, "subPathExpr": "$(POD_NAME)"}), ("", "", ""), ["each pod of train has a directory of its"]),
        (build_job(*BOTH), ("reslts", "", ""), ["train mounts no claim 'reslts'; it mounts results and data"]),
        (build_job(OUT), ("results", "../x", ""), ["'../x' leads out of the claim"]),
        (build_job(OUT), ("", "", "out"), ["--path wants an absolute path"]),
        (build_job(OUT), ("", "", "/out/../etc"), ["--path wants an absolute path"]),
        (build_job(OUT), ("", "", "/output"), ["no claim of train is mounted at /output", "/out is the claim"]),
    ],
)  # fmt: skip
def test_what_is_unclear_is_refused_with_what_there_is(job: Job, asked: tuple[str, str, str], said: list[str]) -> None:
    with pytest.raises(Unclear) as refused:
        choose_shown(job, *asked, TYPED)
    lines = list(map(str, refused.value.said))
    assert len(lines) == len(said)
    for line, beginning in zip(lines, said, strict=True):
        assert line.startswith(beginning)


def test_directories_are_those_of_programs() -> None:
    job = build_job(OUT, command="python train.py --log_dir=/a --lr 1 --vdl-dir /b --log_dir", env=[NAMED])
    assert list_named(job) == ["/out/run", "/a", "/b"]


def test_the_claim_for_outputs_is_shown_at_the_directory_of_the_run() -> None:
    job = replace(build_job(), outputs="results")
    assert choose_shown(job, "", "", "", TYPED) == Shown(
        ClaimMount("results", "/paddock/output", "train/u"), "/paddock/output"
    )
