"""The options that name a cluster: added to each command that a sentence advises."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.views.steps import Step


@dataclass(frozen=True, slots=True)
class Flags:
    """Options by which an advised command reaches the same cluster: ` --context prod -n training`."""

    options: str = ""
    namespace: str = "default"
    kubectl: str = "KUBECONFIG=$(paddock kubeconfig) kubectl"

    @property
    def local(self) -> bool:
        """Whether they name the local cluster."""
        return not self.options

    def of(self, namespace: str) -> str:
        """The options, with `-n` if the namespace is not the default one."""
        return self.options + ("" if namespace in ("", self.namespace) else f" -n {namespace}")

    def fill(self, step: Step) -> Phrase | str:
        """The step's command or sentence, with these options."""
        from paddock.views.steps import Reach  # late: only what gives advice needs it

        return Reach(self.options, self.namespace, self.kubectl).fill(step)


LOCAL = Flags()


def build_next(steps: Iterable[Step], flags: Flags) -> list[Phrase]:
    """Prefixes the first step with `next:`, the others with `then:`."""
    return [
        phrase("then: {step}", step=step) if index else phrase("next: {step}", step=step)
        for index, step in enumerate(map(flags.fill, steps))
    ]
