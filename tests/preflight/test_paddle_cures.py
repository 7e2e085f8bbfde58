"""What is written in place of an option that PaddlePaddle's launcher does not know may be typed as it is printed."""

from __future__ import annotations

import re

import pytest

from paddock.launches.launch import Launch
from paddock.launches.launchers import ACCELERATE, DEEPSPEED, OLD_PADDLE, PADDLE, TORCH_LAUNCH
from paddock.launches.reading import read_script
from paddock.preflight.command_words import explain_typed
from paddock.preflight.paddle_cures import DROPPED, OLD_DEVICES, OLD_PLACES
from paddock.preflight.paddle_options import explain_launch, is_paddle

STARTS = ("python -m paddle.distributed.launch", "python -m paddle.distributed.launch --master 10.0.0.1:6170",
          "python -m paddle.distributed.fleet.launch")  # fmt: skip
LAUNCHERS = (OLD_PADDLE, TORCH_LAUNCH, ACCELERATE, DEEPSPEED, PADDLE)
NAMES = sorted({*OLD_DEVICES, *OLD_PLACES, *DROPPED, *(name for each in LAUNCHERS for name in each.options)} - {"help"})
WRITTEN = re.compile(r"write ((?:--\w+ [\w.:/,]+ ?)+)")


def read(command: str) -> Launch:
    (launch,) = filter(is_paddle, read_script(command).launches)
    return launch


def explain(command: str) -> list[str]:
    return [str(each.said) for each in explain_launch(read(command))]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", [*NAMES, "log-dir", "max-restart", "batch-size", "nproc-per-nod", "my_option"])
@pytest.mark.parametrize("form", ["--{}=1", "--{} 1", "--{}"])
def test_a_cure_that_is_typed_again_is_none_of_the_launcher_s_mistakes(start: str, name: str, form: str) -> None:
    option = form.format(name)
    for text in explain(f"{start} {option} t.py"):
        assert not re.search(r"write *(;|$|in place)", text), text
        for words in WRITTEN.findall(text):
            again = explain(f"{STARTS[0]} {words} t.py")
            assert [each for each in again if f"--{name} " in each or "does not know" in each] == [], (text, again)
            assert [each for each in again if "old launcher" in each and "--heter_devices" not in each] == []


def test_an_option_of_the_program_stands_behind_it() -> None:
    assert explain("fleetrun --devices 0,1 t.py --my_option 1") == []


def test_a_module_is_a_program_with_words_behind_it() -> None:
    """Run with PaddlePaddle 3.3.1: `-m pkg.train` ends with exit code 1, and `python -m pkg.train` trains."""
    assert explain("fleetrun --gpus 0,1 python -m pkg.train -c x.yml") == []
    (said,) = explain("fleetrun --gpus 0,1 -m pkg.train -c x.yml")
    assert "-c " not in said


def test_what_is_typed_is_told_as_a_manifest_is() -> None:
    words = ["fleetrun", "--selected_gpus=0,1", "t.py"]
    assert any("write --devices 0,1" in str(said) for said in explain_typed(words))
    assert list(explain_typed(["fleetrun", "--devices", "0,1", "t.py"])) == []
