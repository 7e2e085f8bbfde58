"""What somebody says of a new Environment, checked: the same for the command line and for the console."""

from __future__ import annotations

import pytest

from paddock.environments.manifests import Settings, find_problems
from paddock.environments.requirement_files import Requirements


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Settings(python="newest"), '--python: "newest" is no version specifier'),
        (Settings(variables=("3x=1",)), "--env: found '3x=1'; NAME=VALUE is wanted"),
        (Settings(extra=("ftp://u:secret@x",)), "--extra-index-url: an address that begins with https://"),
        (Settings(torch_backend="cuda"), "--torch-backend: found 'cuda'; wanted is one of auto, cpu and default"),
    ],
)
def test_a_setting_that_cannot_be_is_named_with_its_option_and_without_a_password(
    settings: Settings, said: str
) -> None:
    (problem,) = find_problems([Requirements(["tiny"])], settings)
    assert str(problem).startswith(said) and "secret" not in str(problem)


def test_what_is_not_said_is_no_problem() -> None:
    assert find_problems([Requirements(["tiny"])], Settings()) == []
