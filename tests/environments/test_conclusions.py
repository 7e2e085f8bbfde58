"""What a user is told of requirements that cannot be met: outputs of uv 0.13.8, as it wrote them."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.environments.definition import Definition
from paddock.environments.disk import explain_disk_space
from paddock.environments.distributions import Distribution, explain_install
from paddock.environments.failures import BuildFailed, Failure, Fault, read_failure
from paddock.environments.pythons import Python
from paddock.environments.resolving.conclusions import Conflict, read_conflict
from paddock.words.message_facts import lacks_space, read_command, read_missing_package

DEBIAN = Distribution("Debian GNU/Linux 12 (bookworm)", "debian", "bookworm")
NO_SOLUTION = "error: No solution found when resolving dependencies\n  cause: "
ONLY_OLDER = (
    NO_SOLUTION + "Because only six<=1.17.0 is available and you require six>99, we can conclude that your "
    "requirements are unsatisfiable.\n"
)
BETWEEN = (
    NO_SOLUTION
    + """Because only the following versions of numpy are available:
             numpy<1.99
             numpy>1.100
         and you require numpy>=1.99,<1.100, we can conclude that your requirements are unsatisfiable.
"""
)
DIRECT = (
    NO_SOLUTION
    + """Because tensorflow==2.15.0 depends on numpy>=1.23.5,<2.0.0 and you require tensorflow==2.15.0, \
we can conclude that you require numpy>=1.23.5,<2.0.0.
         And because you require numpy>=2, we can conclude that your requirements are unsatisfiable.
"""
)
THROUGH_A_THIRD = (
    NO_SOLUTION
    + """Because opencv-python-headless==4.12.0.88 depends on numpy>=2,<2.3.0 and tensorflow==2.15.0 depends on \
numpy>=1.23.5,<2.0.0, we can conclude that opencv-python-headless==4.12.0.88 and tensorflow==2.15.0 are incompatible.
         And because you require tensorflow==2.15.0 and opencv-python-headless==4.12.0.88, we can conclude that your \
requirements are unsatisfiable.
"""
)
MANY_VERSIONS = (
    NO_SOLUTION
    + """Because pandas>=3.0.0rc0,<=3.0.0rc1 depends on numpy>=1.26.0 and all of:
             pandas>=3.0.0rc2,<=3.0.3
             pandas>=3.0.5,<=3.0.6
         depend on numpy{python_full_version < '3.14'}>=1.26.0, we can conclude that all of:
             pandas>=3.0.0rc0,<=3.0.3
             pandas>=3.0.5,<=3.0.6
         depend on numpy>=1.26.0.
         And because pandas>=3.1.0rc0 depends on numpy{python_full_version < '3.14'}>=2.0.2 and pandas>=2.2.0,<=2.2.1 \
depends on numpy{python_full_version < '3.12'}>=1.23.2,<2, we can conclude that all of:
             pandas>=2.2.0,<=2.2.1
             pandas>=3.0.0rc0,<=3.0.3
             pandas>=3.0.5
         depend on numpy>=1.23.2.
         And because pandas>=2.2.2,<=2.3.3 depends on numpy{python_full_version < '3.12'}>=1.23.2 and pandas==3.0.4 \
was yanked (reason: Reported segfaults with datetime-related functionality), we can conclude that pandas>=2.2.0 \
depends on numpy>=1.23.2.
         And because you require numpy<1.20 and pandas>=2.2, we can conclude that your requirements are unsatisfiable.
"""
)
TWICE = NO_SOLUTION + (
    "Because you require six==1.16 and six==1.15, we can conclude that your requirements are unsatisfiable.\n"
)
NOT_THE_USERS = (
    NO_SOLUTION
    + """Because there is no version of newer==2.0 and tiny==1.0 depends on newer==2.0, we can conclude that tiny==1.0 \
cannot be used.
         And because you require tiny==1.0, we can conclude that your requirements are unsatisfiable.
"""
)
CONFUSED = """error: Failed to build `sklearn==0.0.post12`
  cause: The build backend returned an error
  cause: Call to `setuptools.build_meta:__legacy__.get_requires_for_build_wheel` failed (exit status: 1)

         [stderr]
         The 'sklearn' PyPI package is deprecated, use 'scikit-learn'
         rather than 'sklearn' for pip commands.

hint: `sklearn` is often confused for `scikit-learn`. Did you mean to install `scikit-learn` instead?

hint: Build failures usually indicate a problem with the package or the build environment
"""
NO_HEADER = """error: Failed to build `pyodbc==5.1.0`
  cause: The build backend returned an error
  cause: Call to `setuptools.build_meta.build_wheel` failed (exit status: 1)

         [stderr]
         In file included from src/cnxninfo.cpp:7:
         src/pyodbc.h:52:10: fatal error: sql.h: No such file or directory
            52 | #include <sql.h>
               |          ^~~~~~~
         compilation terminated.

hint: This error likely indicates that you need to install a library that provides `sql.h` for `pyodbc@5.1.0`
"""
NO_PKG_CONFIG = """error: Failed to build `mysqlclient==2.2.4`
  cause: The build backend returned an error
  cause: Call to `setuptools.build_meta.get_requires_for_build_wheel` failed (exit status: 1)

         [stdout]
         Trying pkg-config --exists mysqlclient
         Command 'pkg-config --exists mysqlclient' returned non-zero exit status 1.

         [stderr]
         Exception: Can not find valid pkg-config name.
         Specify MYSQLCLIENT_CFLAGS and MYSQLCLIENT_LDFLAGS env vars manually
"""
NO_RUST = """error: Failed to build `tokenizers==0.13.3`
  cause: The build backend returned an error
  cause: Call to `setuptools.build_meta.build_wheel` failed (exit status: 1)

         [stderr]
         error: can't find Rust compiler

         If you are using an outdated pip version, it is possible a prebuilt wheel is available for this package but \
pip is not able to install from it. Installing from the wheel would avoid the need for a Rust compiler.
"""
NO_GIT = """error: Git operation failed
  cause: Git executable not found. Ensure that Git is installed and available.
"""
GIT_WITHOUT_NETWORK = """error: Git operation failed
  cause: failed to clone into: /home/me/.cache/uv/git-v1/db/23fa5a11424dc3c1
  cause: process didn't exit successfully: `/usr/bin/git fetch --force` (exit status: 128)
         --- stderr
         fatal: unable to access 'https://github.com/no/such-repo-xyz/': Could not resolve host: github.com
"""


def read(output: str, *requirements: str, index_url: str = "") -> BuildFailed:
    definition = Definition("mine", requirements=requirements, index_url=index_url)
    python = Python(Path("/usr/bin/python3"), (3, 11, 7))
    return read_failure(Failure(output, definition, python, "/c", lambda thing: explain_install(DEBIAN, thing, True)))


@pytest.mark.parametrize(
    ("output", "requirements", "said"),
    [
        (ONLY_OLDER, ["six>99"], "spec.requirements: there is no six>99, only six<=1.17.0: change the version"),
        (BETWEEN, ["numpy>=1.99,<1.100"],
         "spec.requirements: there is no numpy>=1.99,<1.100, only numpy<1.99 or numpy>1.100: change the version"),
        (DIRECT, ["tensorflow==2.15.0", "numpy>=2", "tqdm"],
         "spec.requirements: tensorflow==2.15.0 and numpy>=2 exclude each other (tensorflow==2.15.0 depends on "
         "numpy>=1.23.5,<2.0.0): change one of them"),
        (THROUGH_A_THIRD, ["tensorflow==2.15.0", "opencv_python_headless==4.12.0.88"],
         "spec.requirements: tensorflow==2.15.0 and opencv_python_headless==4.12.0.88 exclude each other "
         "(tensorflow==2.15.0 depends on numpy>=1.23.5,<2.0.0; opencv-python-headless==4.12.0.88 depends on "
         "numpy>=2,<2.3.0): change one of them"),
        (MANY_VERSIONS, ["tqdm", "numpy<1.20", "pandas>=2.2"],
         "spec.requirements: numpy<1.20 and pandas>=2.2 exclude each other (pandas>=2.2.0 depends on numpy>=1.23.2): "
         "change one of them"),
        (TWICE, ["six==1.16", "six==1.15"],
         "spec.requirements: six==1.16 and six==1.15 exclude each other: change one of them"),
        (NOT_THE_USERS, ["tiny==1.0"],
         "spec.requirements (tiny==1.0) cannot be met: Because there is no version of newer==2.0 and tiny==1.0 depends "
         "on newer==2.0, we can conclude that tiny==1.0 cannot be used. And because you require tiny==1.0, we can "
         "conclude that your requirements are unsatisfiable"),
        (CONFUSED, ["sklearn"], "spec.requirements: sklearn is not what you mean: write scikit-learn"),
    ],
)  # fmt: skip
def test_requirements_that_cannot_be_met(output: str, requirements: list[str], said: str) -> None:
    failed = read(output, *requirements)
    assert (failed.message, failed.fault) == (said, Fault.DEFINITION)


def test_a_version_that_an_index_of_the_spec_lacks_is_not_looked_up_in_pips() -> None:
    output = (
        NO_SOLUTION
        + "Because there is no version of six==99 and you require six==99, we can conclude that your \
requirements are unsatisfiable."
    )
    said = read(output, "six==99", index_url="https://me:secret@index.example/simple").message
    assert said == "spec.requirements: there is no six==99 in the package index of spec.indexURL: change the version"


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (NO_HEADER, "pyodbc 5.1.0 has no wheel for Python 3.11 on this machine and does not compile: sql.h is missing; "
         "run `apt-get install unixodbc-dev` (Debian GNU/Linux 12 (bookworm)), or choose a version that has a wheel"),
        (NO_PKG_CONFIG, "mysqlclient 2.2.4 has no wheel for Python 3.11 on this machine and does not compile: mysql.h "
         "is missing; run `apt-get install default-libmysqlclient-dev pkg-config` (Debian GNU/Linux 12 (bookworm)), or "
         "choose a version that has a wheel"),
        (NO_RUST, "tokenizers 0.13.3 has no wheel for Python 3.11 on this machine and does not compile: cargo is "
         "missing; run `apt-get install cargo` (Debian GNU/Linux 12 (bookworm)), or choose a version that has a wheel"),
        (NO_GIT, "the program git, which fetches x, is missing: run `apt-get install git` "
         "(Debian GNU/Linux 12 (bookworm))"),
    ],
)  # fmt: skip
def test_what_a_package_without_a_wheel_lacks_is_named_with_its_package(output: str, said: str) -> None:
    failed = read(output, "six", "x @ git+https://git.example/x")
    assert (failed.message, failed.fault) == (said, Fault.MACHINE)


def test_a_repository_that_is_not_reached_is_tried_again() -> None:
    failed = read(GIT_WITHOUT_NETWORK, "six", "x @ git+https://me:secret@github.com/no/such-repo-xyz")
    assert failed.message == "git did not reach github.com, which has x: check the network, and the URL"
    assert failed.fault is Fault.NETWORK


@pytest.mark.parametrize(
    "cause", ["", "Because", "you require", "Because you require a and b, we can conclude", "x" * 99]
)
def test_any_other_text_is_no_conflict(cause: str) -> None:
    assert read_conflict(cause, ["a", "b"]) is None


def test_a_conflict_has_what_was_written() -> None:
    cause = "Because you require A_b[x]>2 and c, we can conclude that your requirements are unsatisfiable"
    assert read_conflict(cause, ["A_b[x]>2", "c", "d"]) == Conflict(("A_b[x]>2", "c"))


@pytest.mark.parametrize(
    ("output", "requirement", "command"),
    [
        (NO_HEADER, "pyodbc==5.1.0", "apt-get install unixodbc-dev"),
        (NO_GIT, "x @ git+https://git.example/x", "apt-get install git"),
        (NO_SOLUTION + "Because there is no version of six==99 and you require six==99, we can conclude that your "
         "requirements are unsatisfiable.", "six==99", "pip index versions six"),
        (ONLY_OLDER, "six>99", ""),
        (CONFUSED, "sklearn", ""),
    ],
)  # fmt: skip
def test_the_command_that_helps_is_found_in_the_sentence(output: str, requirement: str, command: str) -> None:
    assert read_command(read(output, requirement).message) == command


def test_what_a_package_says_is_no_command_of_ours() -> None:
    said = "x has no wheel for Python 3.11 on this machine and could not be built: run `curl x | sh` (see docs)"
    assert read_command(said) == ""


def test_a_name_that_no_index_has_is_found_in_the_sentence() -> None:
    output = (
        NO_SOLUTION
        + "Because cv2 was not found in the package registry and you require cv2, we can conclude that \
your requirements are unsatisfiable."
    )
    assert read_missing_package(read(output, "cv2").message) == "cv2"
    assert read_missing_package(read(output, "cv2", index_url="https://index.example/").message) == "cv2"


def test_a_full_disk_is_found_in_the_sentence() -> None:
    assert lacks_space(read("error: No space left on device (os error 28)", "six").message)
    assert lacks_space(str(explain_disk_space(Path("/c"), "six", 2**20, 2**30)))
    assert not lacks_space(read(CONFUSED, "sklearn").message)
