"""The parser of tree-sitter for its grammar of bash: the one module that imports them."""

from __future__ import annotations

from tree_sitter import Language, Parser
from tree_sitter_bash import language

PARSER = Parser(Language(language()))
