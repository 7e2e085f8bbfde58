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
        "img.sif is a file of apptainer; --image IMAGE names one of a registry",
        "of `apptainer run`, -B /a:/b is left out: fields of a manifest say it",
    ]


@pytest.mark.parametrize(
    ("image", "meant"),
    [
        ("nvcr.io#nvidia/pytorch:24.01-py3", "nvcr.io/nvidia/pytorch:24.01-py3"),
        ("docker://nvcr.io#nvidia/pytorch:24.01-py3", "nvcr.io/nvidia/pytorch:24.01-py3"),
        ("docker://ann@nvcr.io#nvidia/pytorch:24.01", "nvcr.io/nvidia/pytorch:24.01"),
        ("pytorch/pytorch", "pytorch/pytorch"),
        ("pytorch@sha256:0a", "pytorch@sha256:0a"),
    ],
)
def test_an_image_as_enroot_spells_it_is_one_of_a_registry(image: str, meant: str) -> None:
    assert read_foreign(f"srun --container-image {image} {TRAIN}").image == meant
    escaped = image.replace("#", "\\#")  # as what stands behind # is a comment for sbatch
    assert read_foreign(f"#SBATCH --container-image={escaped}\nsrun {TRAIN}").image == meant


@pytest.mark.parametrize("image", ["/x/y.sqsh", "./y.sqsh", "y.sqsh"])
def test_a_file_of_enroot_is_left_out_with_what_says_it(image: str) -> None:
    said = f"{image} is a file of enroot; --image IMAGE names one of a registry"
    for script in (f"srun --container-image {image} {TRAIN}", f"#SBATCH --container-image={image}\nsrun {TRAIN}"):
        assert (read_foreign(script).image, list_left(script)) == ("", [said])


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("srun --container-image=$DIR/y.sqsh", "$DIR/y.sqsh is a file of enroot; --image IMAGE names"),
        ("srun --container-image=${IMG:-/x/y.sqsh}", "/x/y.sqsh is a file of enroot; --image IMAGE names"),
        ("srun --container-image=$IMG", "--container-image $IMG is left out: a shell fills it in"),
        ("apptainer exec $DIR/y.sif", "$DIR/y.sif is a file of apptainer; --image IMAGE names"),
        ("apptainer exec $IMG", "apptainer exec $IMG is left out: a shell fills it in"),
        ("singularity run library://u/c/i", "library://u/c/i is an image of singularity alone; --image IMAGE names"),
    ],
)
def test_an_image_that_is_not_known_is_no_image_of_the_job(command: str, said: str) -> None:
    assert read_foreign(f"{command} {TRAIN}").image == ""
    assert [each.startswith(said) for each in list_left(f"{command} {TRAIN}")] == [True]


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
