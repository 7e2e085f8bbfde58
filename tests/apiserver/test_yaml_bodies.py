"""A PyYAML that was built without libyaml reads bodies too."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import yaml
if hasattr(yaml, "CSafeLoader"):
    del yaml.CSafeLoader
from paddock.apiserver.http.yaml_bodies import read_yaml
print(read_yaml(b"a: [1, two]"))
"""


def test_bodies_are_read_without_libyaml() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("{'a': [1, 'two']}\n", "")
