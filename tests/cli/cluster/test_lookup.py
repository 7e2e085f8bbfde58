"""The job that a name on the command line refers to, and the name that is printed for a job."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.lookup import NoJob, fetch_all, fetch_job, read_job_word
from paddock.jobs.apis.registry import KINDS, KUBEFLOW_PYTORCH
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.meta import PODS, Manifest, Resource
from paddock.views.commands import list_commands, printed_name
from paddock.views.stored import read_stored

OURS, KUBEFLOW = (each for each in KINDS if each.kind == "PaddleJob")
BOTH = (OURS, KUBEFLOW)


@pytest.mark.parametrize(
    ("word", "groups", "name"),
    [
        ("demo", len(KINDS), "demo"),
        ("paddlejob/demo", 2, "demo"),
        ("pytorchjob/demo", 1, "demo"),
        ("PaddleJobs/demo", 2, "demo"),
        ("paddlejob.kubeflow.org/demo", 1, "demo"),
        ("paddlejobs.batch.paddlepaddle.org/demo", 1, "demo"),
    ],
)
def test_a_word_names_a_job_and_may_name_its_group(word: str, groups: int, name: str) -> None:
    resources, found = read_job_word(word)
    assert (len(resources), found) == (groups, name)


def test_an_unknown_kind_is_refused_with_the_known_kinds() -> None:
    with pytest.raises(UserError, match=r"'job' is no kind of job: demo, or paddlejob.batch.paddlepaddle.org/demo, "):
        read_job_word("job/demo")


@pytest.mark.parametrize("kind", ["pod", "pods", "po", "Pod"])
def test_a_pod_is_no_job_and_its_job_is_named(kind: str) -> None:
    """Commands that go into a pod take it (`NoJob`, and then `split_pod`); others say which job it is of."""
    with pytest.raises(NoJob, match=rf"{kind}/demo-worker-0 is a pod, and a job is wanted: demo$"):
        read_job_word(f"{kind}/demo-worker-0")
    with pytest.raises(NoJob, match="x is a pod, and a job is wanted: the pod's, by `paddock get pods`"):
        read_job_word(f"{kind}/x")


def test_what_is_printed_names_the_same_object() -> None:
    assert printed_name(OURS, "demo") == "paddlejob/demo"
    assert printed_name(KUBEFLOW, "demo") == "paddlejob.kubeflow.org/demo"
    assert printed_name(KUBEFLOW_PYTORCH.resource, "demo") == "pytorchjob/demo"
    assert printed_name(PODS, "demo-worker-0") == "pod/demo-worker-0"


class Jobs:
    """As much of an API as is asked: these jobs."""

    def __init__(self, *there: tuple[Resource, str]) -> None:
        self._there = there

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        if (resource, name) not in self._there:
            raise NotFound(f"{name} is not there")
        return {"metadata": {"name": name, "namespace": namespace}}


async def find(word: str) -> Resource:
    jobs: Any = Jobs((OURS, "both"), (KUBEFLOW, "both"), (KUBEFLOW, "one"))
    return (await fetch_job(cast(Any, jobs), "team", word)).resource


async def test_a_name_that_two_groups_have_must_say_which() -> None:
    with pytest.raises(UserError) as caught:
        await find("both")
    assert str(caught.value) == (
        "two jobs in namespace team are called 'both', paddlejob.batch.paddlepaddle.org/both and "
        "paddlejob.kubeflow.org/both: name one of them like this"
    )
    assert await find("paddlejob.kubeflow.org/both") is KUBEFLOW
    assert await find("paddlejob/both") is OURS
    assert await find("one") is KUBEFLOW


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.qualified)
async def test_a_button_s_command_finds_its_job_where_each_kind_has_the_name(kind: Resource) -> None:
    jobs: Any = Jobs(*((each, "both") for each in KINDS))
    manifest: Manifest = {"metadata": {"name": "both", "namespace": "team"}}
    typed = [shlex.split(each.paddock)[2] for each in list_commands(read_stored(kind, manifest)) if each.paddock]
    assert typed
    assert [(await fetch_job(cast(Any, jobs), "team", word)).resource for word in typed] == [kind] * len(typed)


class Answers:
    """An API that answers for each kind with these jobs, or with this refusal."""

    def __init__(self, answers: Mapping[Resource, Sequence[str] | ApiError]) -> None:
        self._answers = answers

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        if name not in self._read(resource):
            raise NotFound(f"{name} is not there")
        return {"metadata": {"name": name, "namespace": namespace}}

    async def list(self, resource: Resource, namespace: str, labels: str = "") -> Any:
        return SimpleNamespace(items=[{"metadata": {"name": name}} for name in self._read(resource)])

    def _read(self, resource: Resource) -> Sequence[str]:
        answer = self._answers.get(resource, UNSERVED)
        if isinstance(answer, ApiError):
            raise answer
        return answer


NO, NOR_THIS, UNSERVED = Forbidden("not ours"), Forbidden("not Kubeflow's"), NotFound("no such kind")


@pytest.mark.parametrize("other", [NO, UNSERVED])
async def test_a_kind_that_one_may_not_read_hides_no_other(other: ApiError) -> None:
    """A user without cluster-wide rights gets 403 for a group that is not installed."""
    for first, second, kind in ((["one"], other, OURS), (other, ["one"], KUBEFLOW)):
        api = cast(Any, Answers({OURS: first, KUBEFLOW: second}))
        assert [resource for resource, _ in await fetch_all(api, BOTH, "team")] == [kind]
        assert (await fetch_job(api, "team", "one")).resource is kind
        with pytest.raises(UserError, match="there is no job 'onee' in namespace team; did you mean 'one'"):
            await fetch_job(api, "team", "onee")


@pytest.mark.parametrize(("ours", "kubeflow", "raised"), [(NO, NOR_THIS, NO), (UNSERVED, NO, NO), (NO, UNSERVED, NO)])
async def test_if_nothing_can_be_read_the_first_403_is_raised(
    ours: ApiError, kubeflow: ApiError, raised: ApiError
) -> None:
    api = cast(Any, Answers({OURS: ours, KUBEFLOW: kubeflow}))
    for asked in (fetch_all(api, BOTH, "team"), fetch_job(api, "team", "one")):
        with pytest.raises(Forbidden) as caught:
            await asked
        assert caught.value is raised
