"""Where a script may lie, for pods that have a /tmp of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from paddock.cli.cluster.errors import UserError
from paddock.cli.submit.script.files import Machine, check_script
from paddock.words.phrases import render


@pytest.fixture
def directory() -> Iterator[Path]:
    """Below /tmp itself, whatever TMPDIR says."""
    with TemporaryDirectory(dir="/tmp") as made:
        path = Path(made)
        (path / "here").mkdir()
        for name in ("beside.py", "here/train.py"):
            (path / name).write_text("print(1)\n")
        yield path


def check(script: str, machine: Machine) -> None:
    check_script(["python", script], machine, servers=False, notify=lambda _: None)


@pytest.mark.parametrize("script", ["../beside.py", "{directory}/beside.py", "../here/../beside.py"])
def test_a_script_beside_the_directory_is_not_seen_by_pods_with_a_tmp_of_their_own(
    directory: Path, script: str
) -> None:
    typed = script.format(directory=directory)
    with pytest.raises(UserError, match=f"does not see this one; --workdir {directory} shows it"):
        check(typed, Machine(directory / "here", None, own_tmp=True))
    check(typed, Machine(directory / "here", None, own_tmp=True, shown=(directory,)))
    check(typed, Machine(directory / "here", None))


@pytest.mark.parametrize("script", ["train.py", "../here/train.py", "{directory}/here/train.py"])
def test_a_script_in_the_directory_is_seen_however_it_is_named(directory: Path, script: str) -> None:
    check(script.format(directory=directory), Machine(directory / "here", None, own_tmp=True))


def test_an_absolute_path_that_is_not_there_is_said_without_the_directory(directory: Path) -> None:
    with pytest.raises(UserError) as caught:
        check(f"{directory}/here/trian.py", Machine(directory, None))
    expected = f"there is no file {directory}/here/trian.py on this machine; did you mean {directory}/here/train.py?"
    assert [render(each) for each in caught.value.said] == [expected]
    with pytest.raises(UserError) as caught:
        check("trian.py", Machine(directory / "here", None))
    assert "trian.py is not in " in render(caught.value.said[0])


def test_a_text_for_a_shell_without_c_is_no_file_that_is_missing(directory: Path) -> None:
    with pytest.raises(UserError) as caught:
        check_script(["bash", "torchrun t.py"], Machine(directory, None), servers=False, notify=lambda _: None)
    (said,) = map(render, caught.value.said)
    assert said.endswith('write -c before a text for a shell, bash -c "torchrun t.py"')
