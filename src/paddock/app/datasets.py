"""Datasets of the local cluster: where they lie, and the Python environments that have the hubs' libraries.

A hub is read by its own library, which Paddock does not have: an environment of it is built as that of an image is,
when the first dataset of the hub is fetched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from paddock.app.home import Home
from paddock.datasets.fetching import HUB_PYTHON_VARIABLE, Fault
from paddock.datasets.local import CannotPrepare, LocalSupplier
from paddock.datasets.sources import Kind
from paddock.environments.builder import Builder
from paddock.environments.definition import Definition
from paddock.environments.failures import BuildFailed
from paddock.environments.failures import Fault as BuildFault
from paddock.environments.uv import find_uv
from paddock.kube.api import Api
from paddock.words.phrases import phrase

HUBS: Mapping[Kind, Definition] = {
    Kind.HUGGING_FACE: Definition("huggingface", requirements=("huggingface_hub>=1,<3",), python=">=3.10"),
    Kind.MODELSCOPE: Definition("modelscope", requirements=("modelscope>=1.40,<2",), python=">=3.10"),
}
"""What is built for each hub."""

_FAULTS = {BuildFault.NETWORK: Fault.NETWORK}


def build_supplier(api: Api, home: Home, environ: Mapping[str, str] | None = None) -> LocalSupplier:
    """The datasets of one home. `environ`: of the child processes."""
    return LocalSupplier(
        api, home.datasets, environ=environ, surroundings=Hubs(home, os.environ if environ is None else environ).prepare
    )


class Hubs:
    """The environments of hubs' libraries, in the user's cache."""

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self._builder = Builder(home.cache / "environments", dict(environ), find_uv())

    async def prepare(self, kind: Kind, tell: Callable[[str], None]) -> Mapping[str, str]:
        """The variables of a child process that reads this kind of source; none for other sources than hubs."""
        definition = HUBS.get(kind)
        if definition is None:
            return {}
        try:
            python = await self._builder.find_python(definition)
            built = self._builder.read_built(definition, python) if python is not None else None
            if built is None:
                built = await self._builder.build(definition, lambda progress: tell(progress.explain()))
        except BuildFailed as failure:
            said = phrase("the library of the hub cannot be installed: {why}", why=failure.message)
            raise CannotPrepare(said, _FAULTS.get(failure.fault, Fault.MACHINE)) from failure
        return {HUB_PYTHON_VARIABLE: f"{built.path}/bin/python"}
