"""Where the logs of a pod lie: names on the disk, which a version before has written and one after must find."""

from __future__ import annotations

from paddock.kube.pod_logs import LogDirectory, begin_names, find_directory, list_beginnings, read_directory

POD = {"metadata": {"name": "demo-worker-0", "namespace": "team", "uid": "f00-1"}}


def test_the_log_of_a_container_lies_where_every_version_has_looked_for_it() -> None:
    directory = find_directory(POD)
    assert directory.log("paddle") == "team_demo-worker-0_f00-1/paddle/0.log"
    assert directory.log("paddle", 3) == "team_demo-worker-0_f00-1/paddle/3.log"
    assert directory.owner == "team_demo-worker-0_f00-1/.owner.json"


def test_the_name_of_a_directory_says_whose_it_is() -> None:
    assert read_directory(find_directory(POD).name) == find_directory(POD)


def test_a_long_name_is_cut_and_found_by_its_job() -> None:
    directory = LogDirectory("team", "x" * 200 + "-worker-0", "f00-1")
    assert len(directory.name) < 255 and directory.name.startswith(begin_names("team", "x" * 200))
    assert read_directory(directory.name).uid == "f00-1"


def test_what_somebody_else_put_there_is_the_log_of_nobody() -> None:
    assert read_directory("junk") == LogDirectory("junk", "", "")


def test_each_job_that_may_have_a_pod_is_listed() -> None:
    for job in ("demo", "my-demo", "a.b", "x" * 200, "x" * 127, "y" * 60 + "-" + "y" * 66 + "-y"):
        name = LogDirectory("team", f"{job}-worker-0", "f00-1").name
        assert begin_names("team", job) in list_beginnings(name), job
    assert list(list_beginnings("team_my-demo-worker-0_f00-1")) == [
        "team_my", "team_my-demo", "team_my-demo-worker", "team_my-demo-worker-0",
    ]  # fmt: skip
    assert list(list_beginnings("junk")) == ["junk_"]
