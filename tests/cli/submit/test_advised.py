"""What `paddock init` advises to type."""

from __future__ import annotations

from paddock.cli.submit.script.options import ScriptOptions
from paddock.cli.verbs.init import advise


def test_the_advised_command_is_quoted_for_a_shell() -> None:
    options = ScriptOptions(env_files=("my settings.env",), secrets=("TOKEN",))
    assert advise(options, "a b.yaml") == "paddock run --env-file 'my settings.env' --secret TOKEN 'a b.yaml'"
