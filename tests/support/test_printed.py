"""Commands in outputs, by a table of the forms in which Paddock prints them."""

from __future__ import annotations

import pytest

from support.printed import fill_in, find_printed, is_of, take_printed


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("it waits: `paddock explain demo` says why, `-o` more", ["paddock explain demo"]),
        ("next: echo pyyaml >> requirements.txt", ["echo pyyaml >> requirements.txt"]),
        ("then: paddock run a.yaml  # after b.txt is mended: it is read again", ["paddock run a.yaml"]),
        ("logs: paddock logs demo      outputs: /tmp/x", ["paddock logs demo"]),
        ("what it printed is kept: paddock logs demo", ["paddock logs demo"]),
        ("  do: look\n    paddock logs demo --raw\n", ["paddock logs demo --raw"]),
        (
            "paddock logs demo -f     follows it; paddock describe demo",
            ["paddock logs demo -f", "paddock describe demo"],
        ),
        ("`KUBECONFIG=$(paddock kubeconfig) kubectl get pods`", ["KUBECONFIG=$(paddock kubeconfig) kubectl get pods"]),
        ("Usage: paddock run [OPTIONS] [FILE]", []),
        ("`paddock get` and again `paddock get`", ["paddock get"]),
    ],
)
def test_the_commands_of_an_output_are_found(said: str, found: list[str]) -> None:
    assert find_printed(said) == found


@pytest.mark.parametrize(
    ("command", "template", "expected"),
    [
        ("paddock resume demo -n team", "paddock resume {word}{where}", True),
        ("paddock resume demo", "paddock resume **", True),
        ("paddock get", "paddock get*", True),
        ("paddock suspend demo", "paddock resume **", False),
        ("paddock manifests crd | kubectl apply -f -", "paddock manifests crd", True),
    ],
)
def test_a_command_is_of_its_template(command: str, template: str, expected: bool) -> None:
    assert is_of(command, template) is expected


def test_one_command_is_taken_and_no_placeholder_is_left() -> None:
    assert take_printed("`paddock get` or `paddock env list`", "paddock get*") == "paddock get"
    with pytest.raises(AssertionError, match="paddock queue"):
        take_printed("`paddock get`", "paddock queue")
    assert (
        fill_in("paddock dataset create NAME --from URL", {"NAME": "a", "URL": "b"})
        == "paddock dataset create a --from b"
    )
    assert fill_in("KUBECONFIG=x kubectl get pods", {}) == "KUBECONFIG=x kubectl get pods"
    with pytest.raises(AssertionError, match="URL"):
        fill_in("paddock dataset create a --from URL", {})
