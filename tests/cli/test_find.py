"""Which job a word on the command line means, and the word that is printed for one."""

from __future__ import annotations

from typing import Any, cast

import pytest

from paddock.cli.errors import UserError
from paddock.cli.find import fetch_job, printed_name, read_job_word
from paddock.jobs.apis.registry import KINDS
from paddock.kube.errors import NotFound
from paddock.kube.meta import PODS, Manifest, Resource

OURS, KUBEFLOW = KINDS


@pytest.mark.parametrize(
    ("word", "groups", "name"),
    [
        ("demo", 2, "demo"),
        ("paddlejob/demo", 2, "demo"),
        ("PaddleJobs/demo", 2, "demo"),
        ("paddlejob.kubeflow.org/demo", 1, "demo"),
        ("paddlejobs.batch.paddlepaddle.org/demo", 1, "demo"),
    ],
)
def test_a_word_names_a_job_and_may_name_its_group(word: str, groups: int, name: str) -> None:
    resources, found = read_job_word(word)
    assert (len(resources), found) == (groups, name)


def test_another_kind_is_told_what_there_is() -> None:
    with pytest.raises(UserError, match=r"'pod' is no kind of job: demo, or paddlejob.batch.paddlepaddle.org/demo or "):
        read_job_word("pod/demo")


def test_what_is_printed_names_the_same_object() -> None:
    assert printed_name(OURS, "demo") == "paddlejob/demo"
    assert printed_name(KUBEFLOW, "demo") == "paddlejob.kubeflow.org/demo"
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
    return (await fetch_job(cast(Any, jobs), "team", word))[0]


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
