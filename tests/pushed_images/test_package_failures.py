"""uv's words about packages for another machine, as one sentence."""

from __future__ import annotations

import pytest

from paddock.images.package_failures import explain_packages
from paddock.images.platforms import Platform, Wheels
from paddock.words.phrases import render

NO_SOLUTION = "error: No solution found when resolving dependencies\n  cause: "
END = "we can conclude that your requirements are unsatisfiable."
NO_WHEEL = (
    "r.txt: {package} has no wheel for Python 3.12 on linux/arm64 (glibc 2.36){others}, and nothing is compiled here "
    "for other machines: choose a version that has one, or a base image that has the package"
)


def explain(output: str, *packages: str) -> str:
    wheels = Wheels(Platform("arm64"), glibc=(2, 36))
    return str(explain_packages(output, "r.txt", packages, "3.12", wheels, "the disk is full"))


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (
            f"{NO_SOLUTION}Because pyspark==3.5.0 has no usable wheels and you require pyspark==3.5.0, {END}\n\nhint: "
            "Wheels are required for `pyspark` because building from source is disabled for all packages",
            NO_WHEEL.format(package="pyspark 3.5.0", others=""),
        ),
        (
            "error: Distribution `machine==1.0 @ registry+x` can't be installed because it doesn't have a wheel\n"
            "hint: You're on CPython 3.12 (`cp312`), but wheels for `machine` (v1.0) only has wheels with the\n"
            "following Python ABI tag: `cp39`, and none with a matching Python ABI tag",
            NO_WHEEL.format(package="machine 1.0", others=" (it has for Python 3.9)"),
        ),
        (
            f"{NO_SOLUTION}Because tool==1.0 has no wheels with a matching platform tag (e.g., "
            "`manylinux_2_36_aarch64`)\n hint: Wheels are available for `tool` (v1.0) on the following platform: "
            "`manylinux_2_17_x86_64`",
            NO_WHEEL.format(package="tool 1.0", others=" (it has for Linux x86_64)"),
        ),
        (
            f"{NO_SOLUTION}Because gone was not found in the package registry and you require gone, {END}",
            "r.txt: no package index here has gone: check the name, or --index-url in the file",
        ),
        (
            f"{NO_SOLUTION}Because only six<=1.17.0 is available and you require six>99, {END}",
            "r.txt asks for six>99, and there is only six<=1.17.0: change the version",
        ),
        (
            f"{NO_SOLUTION}Because there is no version of p==2.0.0 and you require p==2.0.0, {END}",
            "r.txt asks for p==2.0.0, and there is none for Python 3.12: change the version",
        ),
        (
            f"{NO_SOLUTION}Because you require a==1 and b==2, {END}",
            "r.txt: change one of a==1 and b==2: they exclude each other",
        ),
        (
            f"{NO_SOLUTION}Because x from https://me:hush@index.example/simple is odd, {END}",
            "r.txt cannot be met for Python 3.12 on linux/arm64 (glibc 2.36): Because x from https://index.example is "
            "odd, we can conclude that your requirements are unsatisfiable",
        ),
        ("error: No space left on device", "r.txt: the disk is full"),
    ],
)
def test_uvs_words_are_one_sentence(output: str, said: str) -> None:
    assert explain(output, "a==1", "b==2") == said


def test_the_sentence_is_also_in_chinese() -> None:
    wheels = Wheels(Platform(), musl=True)
    output = "Because x==1 has no usable wheels and you require x==1, we can conclude"
    said = render(explain_packages(output, "r.txt", ["x==1"], "3.12", wheels, ""), "zh")
    assert said.startswith("r.txt：x 1 没有适用于 linux/amd64 (musl) 上 Python 3.12 的 wheel，而这里不为其他机器编译")
