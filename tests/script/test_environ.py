"""Which variables of its environment a Python program reads by name, and which it sets first."""

from __future__ import annotations

import ast

import pytest

from paddock.script.environ import read_uses
from paddock.script.nodes import Nodes
from paddock.script.source import read_source
from support.steps import count_steps

ROWS = [
    ("os.environ['LR']", "LR", ""),
    ("environ['LR']; getenv('N', 3)", "LR N", ""),
    ("os.environ.get('LR', '1')", "LR", ""),
    ("os.getenv(key)", "", ""),
    ("if 'LR' in os.environ: pass", "LR", ""),
    ("if 'LR' not in os.environ.keys(): pass", "LR", ""),
    ("if 'LR' in names: pass", "", ""),
    ("os.path.expandvars('$DATA/${SPLIT}/x')", "DATA SPLIT", ""),
    ("@click.option('--lr', envvar='LR')\ndef f(): pass", "LR", ""),
    ("x: float = typer.Option(1, envvar=['LR', 'RATE'])", "LR RATE", ""),
    ("os.environ.setdefault('LR', '1')", "LR", ""),
    ("os.environ['LR'] = '1'", "", "LR"),
    ("os.environ['LR'] = '1'\nprint(os.environ['LR'])", "", "LR"),
    ("print(os.environ['LR'])\nos.environ['LR'] = '1'", "LR", ""),
    ("os.environ['LR'] = os.environ.get('LR', '1')", "LR", ""),
    ("os.environ['LR'] = (\n    os.environ.get('LR', '1')\n)", "LR", ""),
    ("os.environ['PATHS'] += ':more'", "PATHS", ""),
    ("os.environ.update(LR='1', N='2')", "", "LR N"),
    ("os.environ.update({'LR': '1', **more})", "", "LR"),
    ("os.putenv('LR', '1')", "", "LR"),
    ("os.environ.pop('LR', None)", "", "LR"),
    ("del os.environ['LR']", "", "LR"),
    ("settings['LR']; settings.get('LR')", "", ""),
]


@pytest.mark.parametrize(("text", "asked", "sets"), ROWS)
def test_what_a_program_reads_and_what_it_sets_first(text: str, asked: str, sets: str) -> None:
    uses = read_uses(Nodes(ast.parse(text)))
    assert (sorted(uses.asked), sorted(uses.sets)) == (asked.split(), sets.split())
    assert read_source(text.encode()).uses == uses


def test_the_cost_is_that_of_the_lines() -> None:
    few, many = (Nodes(ast.parse("x = os.environ['A']\n" * lines)) for lines in (100, 400))
    assert count_steps(lambda: read_uses(many)) < 4.2 * count_steps(lambda: read_uses(few))
