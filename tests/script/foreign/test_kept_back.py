"""No secret of a file comes into its job, nor into what is said of it, whatever sets it."""

from __future__ import annotations

import pytest

from paddock.script.foreign.job import NoProgram, Place
from paddock.script.foreign.tools import read_foreign

SETS = [
    ("run.sh", "export HF_TOKEN=s3cr3t\npython t.py", "HF_TOKEN", 1),
    ("run.sh", "python a.py\nMYSQL_PWD=s3cr3t python t.py", "MYSQL_PWD", 2),
    ("run.sh", "export DB=redis://:s3cr3t@host\npython t.py", "DB", 1),
    ("run.sh", "mpirun -np 2 -x HF_TOKEN=s3cr3t python t.py", "HF_TOKEN", 1),
    ("run.sh", "cd a\ndocker run -e WANDB_KEY=s3cr3t image:1 python t.py", "WANDB_KEY", 2),
    ("run.sh", "export HF_TOKEN=${T:-s3cr3t}\npython t.py", "HF_TOKEN", 1),
    ("run.sh", "export HF_TOKEN=s3cr3t\npython t.py --token $HF_TOKEN", "HF_TOKEN", 1),
    ("run.sh", "export HF_TOKEN=s3cr3t\npython t.py --token=$HF_TOKEN", "HF_TOKEN", 1),
    ("a.sh", "#!/bin/bash\n#SBATCH --export=ALL,WANDB_API_KEY=s3cr3t\nsrun python t.py", "WANDB_API_KEY", 2),
    ("a.sh", "#SBATCH --export=HOME,WANDB_API_KEY=s3cr3t\npython t.py", "WANDB_API_KEY", 1),
    ("", "arena submit pytorchjob --env GITHUB_PAT=s3cr3t 'python t.py --key $GITHUB_PAT'", "GITHUB_PAT", 1),
    ("t.yaml", "type: task\nresources: {gpu: 1}\nenv:\n- HF_TOKEN=s3cr3t\ncommands:\n- python t.py", "HF_TOKEN", 4),
    ("t.yaml", "num_nodes: 2\nenvs:\n  HF_TOKEN: s3cr3t\nrun: python t.py --key $HF_TOKEN", "HF_TOKEN", 3),
]


@pytest.mark.parametrize(("name", "text", "variable", "line"), SETS)
def test_a_secret_is_kept_back_and_told_where_it_stands(name: str, text: str, variable: str, line: int) -> None:
    made = read_foreign(text, Place(name))
    assert "s3cr3t" not in repr(made)
    assert not made.variables and made.words[:1] == ("python",)
    assert [each.line for each in made.left if f"add --secret {variable}" in str(each.said)] == [line]


@pytest.mark.parametrize(
    "line",
    [
        "wandb login s3cr3t",
        "huggingface-cli login --token s3cr3t",
        "pip install --index-url https://me:s3cr3t@host/simple x",
        "curl -H 'Authorization: Bearer s3cr3t' host",
        "sudo -E env HF_TOKEN=s3cr3t wget x",
        "ssh host wandb login s3cr3t",
        "a | ) TOKEN=s3cr3t",
        "make data TOKEN=s3cr3t",
    ],
)
def test_no_line_shows_a_secret(line: str) -> None:
    assert "s3cr3t" not in repr(read_foreign(f"{line}\npython t.py", Place("run.sh")))


def test_an_option_of_srun_is_left_out_without_its_secret() -> None:
    made = read_foreign("srun --export=ALL,HF_TOKEN=s3cr3t python t.py", Place("a.sh"))
    assert "--export=ALL,HF_TOKEN=***: left out, as Paddock starts the ranks" in [str(each.said) for each in made.left]


def test_what_a_batch_script_exports_is_known_to_it() -> None:
    made = read_foreign("#SBATCH --export=ALL,LR=0.1\npython t.py --lr $LR", Place("a.sh"))
    assert (made.words, made.variables) == (("python", "t.py", "--lr", "0.1"), (("LR", "0.1"),))


def test_an_argument_that_is_a_secret_is_left_out_with_its_option() -> None:
    made = read_foreign("export HF_TOKEN=s3cr3t\npython t.py --token $HF_TOKEN --lr 1", Place("run.sh"))
    assert made.words == ("python", "t.py", "--lr", "1")
    said = "--token *** is left out, as the file would show HF_TOKEN: let the program read the variable itself"
    assert said in [str(each.said) for each in made.left]


def test_of_a_script_that_cannot_be_read_no_secret_is_shown() -> None:
    with pytest.raises(NoProgram) as error:
        read_foreign('export TOKEN="s3cr3t\npython t.py', Place("run.sh"))
    assert error.value.left and "s3cr3t" not in repr(error.value.left)
