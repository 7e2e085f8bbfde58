"""The module that a program misses: which package has it, and the one command."""

from __future__ import annotations

import pytest

from paddock.logs.complaints import find_complaint
from paddock.logs.modules import advise_module, find_package, read_missing_module


@pytest.mark.parametrize(
    ("complaint", "module"),
    [
        ("ModuleNotFoundError: No module named 'cv2'", "cv2"),
        ("ImportError: No module named yaml", "yaml"),
        ("ModuleNotFoundError: No module named 'paddle.fluid'", "paddle.fluid"),
        ("ModuleNotFoundError: No module named 'a.b'; 'a' is not a package", "a.b"),
        ("/env/bin/python: No module named visualdl", "visualdl"),
        (
            "/env/bin/python3: Error while finding module specification for 'mine.train' "
            "(ModuleNotFoundError: No module named 'mine')",
            "mine",
        ),
        ("ImportError: cannot import name 'x' from 'cv2'", ""),
        ("ValueError: No module named 'cv2'", ""),
        ("", ""),
    ],
)
def test_the_module_is_read_from_pythons_line(complaint: str, module: str) -> None:
    assert read_missing_module(complaint) == module


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("cv2", "opencv-python"),
        ("sklearn", "scikit-learn"),
        ("PIL", "pillow"),
        ("yaml", "pyyaml"),
        ("google.protobuf", "protobuf"),
        ("pandas", "pandas"),
        ("sentence_transformers", "sentence-transformers"),
        ("paddle.fluid", ""),  # PaddlePaddle is there, this part of it is not
    ],
)
def test_a_module_comes_from_a_package(module: str, package: str) -> None:
    assert find_package(module) == package


CV2 = "ModuleNotFoundError: No module named 'cv2'"


@pytest.mark.parametrize(
    ("complaint", "environment", "file", "own", "lines"),
    [
        (CV2, "paddle", "", "", [
            "cv2 is not in environment paddle: it comes from the package opencv-python",
            "next: paddock env update paddle --add opencv-python",
        ]),
        (CV2, "mnist-0123abcd", "/home/a b/requirements.txt", "", [
            "cv2 is not in environment mnist-0123abcd: it comes from the package opencv-python",
            "next: echo opencv-python >> '/home/a b/requirements.txt'",
        ]),
        ("ModuleNotFoundError: No module named 'pandas'", "mine", "", "", [
            "pandas is not in environment mine", "next: paddock env update mine --add pandas",
        ]),
        (CV2, "", "", "", ["cv2 is not in the image: it comes from the package opencv-python"]),
        ("ModuleNotFoundError: No module named 'mylib'", "paddle", "", "/home/me/my project", [
            "mylib is your own, in /home/me/my project, and Python does not look there: set PYTHONPATH to it, as in "
            "`paddock run --env PYTHONPATH='/home/me/my project' -- …`"
        ]),
        ("ModuleNotFoundError: No module named 'pkg_resources'", "mine", "", "", [
            "pkg_resources is not in environment mine: it comes from the package setuptools<81",
            "next: paddock env update mine --add 'setuptools<81'",
        ]),
        (CV2, "paddle", "new/requirements.txt", "", [
            "cv2 is not in environment paddle: it comes from the package opencv-python",
            "next: echo opencv-python >> new/requirements.txt  # and run the job again with -r new/requirements.txt",
        ]),
        (CV2, "mine", "pyproject.toml", "", [
            "cv2 is not in environment mine: it comes from the package opencv-python",
            "next: write opencv-python into pyproject.toml, and run the job again",
        ]),
        ("ModuleNotFoundError: No module named 'paddle.fluid'", "paddle", "", "", []),
        ("ValueError: 3", "paddle", "", "", []),
    ],
)  # fmt: skip
def test_one_command_puts_it_there(complaint: str, environment: str, file: str, own: str, lines: list[str]) -> None:
    advice = advise_module(complaint, environment, file, own, is_new=file.startswith("new/"))
    assert [str(each) for each in advice] == lines


def test_the_end_of_a_traceback_is_such_a_complaint() -> None:
    found = find_complaint(['  File "train.py", line 1, in <module>', "    import cv2", CV2])
    assert found is not None and read_missing_module(found.text) == "cv2"
