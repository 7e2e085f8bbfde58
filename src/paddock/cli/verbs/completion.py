"""paddock completion"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from paddock.cli.output.streams import print_line
from paddock.cli.verb import Verb


@click.command(name="completion", cls=Verb)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    source <(paddock completion bash)        # in ~/.bashrc
    source <(paddock completion zsh)         # in ~/.zshrc
    paddock completion fish | source         # in ~/.config/fish/config.fish
    """
    complete = get_completion_class(shell)
    assert complete is not None  # the choice above names only shells that click knows
    print_line(complete(context.find_root().command, {}, "paddock", "_PADDOCK_COMPLETE").source())
