"""Puts the commit of the clone into the archives that are built from it, so that an installed Paddock knows its own."""

import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    """hatchling's own kind of hook: no plug-in is installed for it."""

    def initialize(self, version, build_data):
        package = Path(self.root, "src/paddock")
        # An archive of the source has the file; what is installed for working on it reads the clone.
        if version == "editable" or (package / "COMMIT").exists():
            return
        sys.path.insert(0, str(package.parent))
        from paddock.build import read_commit

        if commit := read_commit(package):
            self._directory = tempfile.TemporaryDirectory()
            written = Path(self._directory.name, "COMMIT")
            written.write_text(f"{commit}\n")
            build_data["force_include"][str(written)] = {"wheel": "paddock/COMMIT"}.get(
                self.target_name, "src/paddock/COMMIT"
            )
