"""The file that uv installs: each hash of the user's own is behind its package, however that is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.environments.definition import Definition
from paddock.environments.failures import BuildFailed
from paddock.environments.requirement_inputs import add_to_exact

A, B = "--hash=sha256:aa", "--hash=sha256:bb"


@pytest.mark.parametrize(
    ("requirements", "resolved", "exact"),
    [
        ([f"six==1.16.0 {A} {B}"], "six==1.16.0", f"six==1.16.0 {A} {B}"),
        ([f'six==1.16.0 ; python_version >= "3.8" {A}'], "six==1.16.0", f"six==1.16.0 {A}"),
        ([f"Typing.Extensions == 4.0 {A}"], "typing-extensions==4.0.0", f"typing-extensions==4.0.0 {A}"),
        ([f"uvicorn[standard]==0.30.0 {A}"], "h11==0.14\nuvicorn==0.30.0", f"h11==0.14\nuvicorn==0.30.0 {A}"),
        ([f"six>=1 {A}"], "six==1.17.0", f"six==1.17.0 {A}"),
        ([f"torch==2.1.0 {A}"], "torch==2.1.0+cpu", f"torch==2.1.0+cpu {A}"),
        ([f"my_lib @ https://x.example/my_lib-1.0.zip {A}"], "my-lib @ https://x.example/my_lib-1.0.zip",
         f"my-lib @ https://x.example/my_lib-1.0.zip {A}"),
        ([f"/w/my_lib-1.0-py3-none-any.whl {A}"], "my-lib @ file:///w/my_lib-1.0-py3-none-any.whl",
         f"my-lib @ file:///w/my_lib-1.0-py3-none-any.whl {A}"),
        # of another platform
        ([f"six==1.15 ; python_version < '3' {A}", f"six==1.16 ; python_version > '3' {B}"], "six==1.16.0",
         f"six==1.16.0 {B}"),
        ([f"pywin32==306 ; sys_platform == 'win32' {A}", "six"], "six==1.16.0", "six==1.16.0"),
        # not surely another version
        ([f"six==1.16.0rc1 ; python_version > '3' {A}"], "six==1.16.0rc1", f"six==1.16.0rc1 {A}"),
        ([f"six==1.* ; python_version > '3' {A}"], "six==1.16.0", f"six==1.16.0 {A}"),
        ([f"tiny==2024.01.0 ; python_version > '3' {A}"], "tiny==2024.1", f"tiny==2024.1 {A}"),
    ],
)  # fmt: skip
def test_a_hash_follows_its_package(requirements: list[str], resolved: str, exact: str, tmp_path: Path) -> None:
    assert write_exact(tmp_path, resolved, Definition("mine", requirements=tuple(requirements))) == exact


def test_a_hash_of_a_constraint_counts_where_its_package_is_installed(tmp_path: Path) -> None:
    limited = Definition("mine", requirements=("six",), options=(f"-c Six==1.16.0 {A}", f"-c tiny==1 {B}"))
    assert write_exact(tmp_path, "six==1.16.0", limited) == f"six==1.16.0 {A}"


def test_a_hash_of_nothing_that_is_installed_fails_the_build(tmp_path: Path) -> None:
    lost = Definition("mine", requirements=(f"https://me:secret@x.example/main.zip {A}",))
    with pytest.raises(BuildFailed, match=r"^https://x\.example has a hash, and no package of that name is"):
        write_exact(tmp_path, "my-lib @ https://x.example/main.zip", lost)


def write_exact(directory: Path, resolved: str, definition: Definition) -> str:
    file = directory / "exact.txt"
    file.write_text(f"{resolved}\n")
    add_to_exact(file, definition)
    return file.read_text().rstrip()
