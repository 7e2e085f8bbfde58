"""`--hold`: a rank that has failed stays open for a shell, in both sandboxes, until its time is over."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from e2e.commands import Cluster, until
from e2e.manifests import build_light_job
from support.printed import take_printed, type_printed

FAILS = 'echo kept > here; echo kept > "$TMPDIR/there"; echo kept > "$PLACE/inside"; export LATER=1; exit 3'
SHELL = "paddock shell ** --rank *"


def build(name: str, place: Path, script: str = FAILS, clean: str = "Always", **more: int) -> dict[str, object]:
    """A job whose ranks have an emptyDir at `place`."""
    job = build_light_job(name, script, clean=clean, **more)
    job["spec"]["runPolicy"] = {"backoffLimit": 0}
    spec = job["spec"]["worker"]["template"]["spec"]
    spec["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    (container,) = spec["containers"]
    container["volumeMounts"] = [{"name": "scratch", "mountPath": str(place)}]
    container["env"] = [{"name": "PLACE", "value": str(place)}, {"name": "LEARNING_RATE", "value": "0.1"}]
    return job


def count_pods(cluster: Cluster) -> int:
    return len(json.loads(cluster.paddock("get", "pods", "-o", "json").out or "{}").get("items", []))


def test_a_rank_that_failed_is_entered_where_its_run_says_so(cluster: Cluster) -> None:
    script = f'if [ "$PADDLE_TRAINER_ID" = 1 ]; then PLACE=.; {FAILS}; fi; exec sleep 1000'
    job = build_light_job("fails", script, workers=2, clean="Always")
    job["spec"]["runPolicy"] = {"backoffLimit": 0}
    ended = cluster.paddock("run", "--hold", "30m", "--env", "LEARNING_RATE=0.1", cluster.write(job))
    assert ended.code == 1
    assert re.search(r"^worker-1 is held until \d\d:\d\d: `paddock shell fails --rank worker-1`$", ended.err, re.M), (
        ended.err
    )
    typed = type_printed(cluster, take_printed(ended.err, SHELL))
    assert typed.code == 0
    assert re.search(
        r"^worker-1 ended with exit code 3 and is held until \d\d:\d\d: its files are there", typed.err, re.M
    )
    assert "; `exit` ends" not in typed.err, "nobody types"
    asked = 'cat here "$TMPDIR/there" inside; echo $LEARNING_RATE ${LATER-none} $PADDLE_TRAINER_ID'
    inside = cluster.paddock("exec", "fails", "--", "sh", "-c", asked)
    assert (inside.code, inside.out) == (0, "kept\nkept\nkept\n0.1 none 1\n"), inside.err
    until("the clean-up of the other", lambda: count_pods(cluster) == 1)
    other = cluster.paddock("exec", "fails", "--rank", "0", "--", "true")
    assert (other.code, "worker-0 is not held" in other.err) == (1, True)
    assert take_printed(other.err, SHELL)
    assert count_pods(cluster) == 1, "the clean-up of what is held waits"
    for command in (("describe", "fails"), ("get", "pods"), ("explain", "fails")):
        assert "held until" in cluster.paddock(*command).out, command
    assert cluster.paddock("delete", "fails").code == 0
    until("the pod is gone", lambda: not count_pods(cluster))
    # The files go beside it, and `walk` passes by what goes while it looks.
    until("its files are gone", lambda: not any("there" in names for *_, names in os.walk(cluster.directory)))


@pytest.mark.slow
def test_what_is_held_outlives_the_cluster_and_ends_with_its_time(cluster: Cluster, tmp_path: Path) -> None:
    place = tmp_path / "scratch"
    assert cluster.paddock("run", "--hold", "1h", cluster.write(build("long", place))).code == 1
    assert cluster.paddock("run", "--hold", "5s", cluster.write(build("short", place))).code == 1
    until("the short one is over", lambda: count_pods(cluster) == 1)
    gone = cluster.paddock("exec", "short", "--", "true")
    assert (gone.code, "has ended, so nothing runs in it" in gone.err) == (1, True)
    assert cluster.paddock("down").code == 0
    assert cluster.up().code == 0
    inside = cluster.paddock("exec", "long", "--", "sh", "-c", 'cat here "$PLACE/inside"')
    assert (inside.code, inside.out) == (0, "kept\nkept\n"), inside.err
    again = cluster.paddock("run", cluster.write(build("long", place, "true")))
    assert again.code == 0, "a second run takes its name and its place"
    assert "held" not in again.err


def test_a_held_job_of_a_manifest_is_read_out_and_kubectl_declines_by_itself(
    shared: Cluster, kubectl: None, tmp_path: Path
) -> None:
    job = build("held", tmp_path / "scratch", clean="Never")
    job["metadata"] = {"name": "held", "annotations": {"paddock.dev/hold": "30m"}}
    assert shared.paddock("submit", shared.write(job)).code == 0
    until("it has failed", lambda: shared.phase("held") == "Failed")
    copied = shared.paddock("exec", "held-worker-0", "--", "tar", "c", "here")
    assert (copied.code, "kept\n" in copied.out) == (0, True), copied.err
    everywhere = shared.paddock("exec", "held", "--all", "--", "cat", "here")
    assert (everywhere.code, "kept" in everywhere.out) == (0, True), everywhere.err
    left = shared.paddock("exec", "held", "--", "sh", "-c", "sleep 1000 & exit 5")
    assert left.code == 5
    declined = shared.kubectl("exec", "held-worker-0", "--", "true")
    assert (declined.code, "cannot exec into a container in a completed pod" in declined.err) == (1, True)
    assert shared.paddock("delete", "held").code == 0


def test_what_is_not_held_says_how_it_could_have_been(shared: Cluster, tmp_path: Path) -> None:
    assert shared.paddock("run", shared.write(build("plain", tmp_path / "scratch", clean="Never"))).code == 1
    ended = shared.paddock("shell", "plain")
    assert (ended.code, "`--hold 30m` of paddock run and submit keeps a rank that fails" in ended.err) == (1, True)
    good = shared.paddock("run", "--hold", "30m", shared.write(build("good", tmp_path / "other", "true")))
    assert (good.code, "held" in good.err) == (0, False)


@pytest.mark.parametrize("time", ["0", "x", "-1m", "25h", "1.5h"])
def test_a_time_that_is_none_is_refused(shared: Cluster, time: str) -> None:
    ended = shared.paddock("run", "--hold", time, "--", "true")
    assert ended.code == 2
    assert "from 1 s to 24 h is allowed" in ended.err
