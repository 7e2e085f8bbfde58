"""What goes wrong before a request is answered: the kubeconfig, or the credential plug-in that it names. PURE.

A `Said` is a sentence as a value, so that the command line says it in the reader's language; the texts stand in the
catalogues (`tools/catalogues.py` finds them by the names `said` and `ConfigError`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from paddock.kube.errors import Unauthorized

Place: TypeAlias = "str | Said"


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence: its English template and the values of its places. `str` is English."""

    text: str
    places: Mapping[str, Place]

    def __str__(self) -> str:
        return self.text.format_map({name: str(value) for name, value in self.places.items()})


def said(text: str, /, **places: Place) -> Said:
    """`said("{file} has {count} users", file=…, count=…)`. `text` is a literal."""
    return Said(text, places)


class ConfigError(Exception):
    """The kubeconfig cannot be used. The message names the file, the value found and what to do."""

    def __init__(self, text: str, **places: Place) -> None:
        self.said = Said(text, places)
        super().__init__(str(self.said))


class PluginError(Unauthorized):
    """A credential plug-in gave no credential, so the request was not sent. The message names the kubeconfig, the user,
    the command, what was found and what to do; it never has a part of a credential.

    It is an `Unauthorized`: a follower that has just begun ends with it, one that has worked tries again. `missing`:
    the program is not there, which the user can mend.
    """

    def __init__(self, said: Said, *, missing: bool = False) -> None:
        super().__init__(str(said))
        self.said, self.missing = said, missing
