"""Programs behind `docker run` and `singularity exec`: what of the container a job has too."""

from __future__ import annotations

import pytest

from paddock.script.foreign.tools import read_foreign

TRAIN = "torchrun t.py"
WORDS = ("torchrun", "t.py")


def list_left(script: str) -> list[str]:
    return [str(each.said) for each in read_foreign(script).left]


@pytest.mark.parametrize("program", ["singularity", "apptainer"])
def test_an_image_of_a_registry_is_the_job_s(program: str) -> None:
    made = read_foreign(f"srun -N 2 {program} exec --nv --env LR=1 docker://nvcr.io/nvidia/pytorch:25.01 {TRAIN}")
    assert (made.words, made.workers, made.image) == (WORDS, 2, "nvcr.io/nvidia/pytorch:25.01")
    assert made.variables == (("LR", "1"),)
    assert [str(each.said) for each in made.left] == ["--nv: --gpus N says how many"]


def test_an_image_that_is_a_file_is_left_out_with_what_says_it() -> None:
    assert read_foreign(f"apptainer run img.sif {TRAIN}").image == ""
    assert list_left(f"apptainer run -B /a:/b --cleanenv img.sif {TRAIN}") == [
        "`apptainer run img.sif` is left out, as a cluster has no such image: --image IMAGE names the one of a "
        "registry",
        "of `apptainer run`, -B /a:/b is left out: fields of a manifest say it",
    ]


def test_another_container_is_a_place_of_which_nothing_is_carried() -> None:
    made = read_foreign(f"kubectl exec -it pod -c main -- {TRAIN}")
    assert made.words == WORDS
    assert [str(each.said) for each in made.left] == [
        "`kubectl exec -it pod -c main --` is left out: a job is started on its machines"
    ]


def test_what_a_shell_fills_in_is_never_carried_as_it_was_typed() -> None:
    made = read_foreign(f"docker run -e LR=$LR -e BS=${{BS:-8}} --env SEED=1 $IMAGE {TRAIN}")
    assert (made.image, made.variables) == ("", (("BS", "8"), ("SEED", "1")))
    assert [str(each.said) for each in made.left] == [
        "$IMAGE is left out: a shell fills it in, and its value does not stand here",
        "-e LR=$LR is left out: a shell fills it in, and its value does not stand here",
        "${BS:-8} is filled in by a shell: its default is taken, 8",
    ]
