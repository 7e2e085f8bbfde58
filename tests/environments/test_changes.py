"""Of which files a changed Environment is made."""

from __future__ import annotations

import pytest

from paddock.environments.changes import choose_source
from paddock.environments.manifests import build_request, with_request
from paddock.environments.sources import Source
from paddock.kube.meta import Manifest

MADE_OF = Source(("/p/requirements.txt",), paddle=True, added=("six",), own_index=True)
OTHER = Source(("/q/requirements.txt",))


@pytest.mark.parametrize(
    ("recorded", "named", "names_files", "chosen"),
    [
        (MADE_OF, None, False, MADE_OF),
        (None, None, False, None),
        (MADE_OF, OTHER, True, Source(OTHER.files, paddle=True, own_index=True)),
        (None, OTHER, True, OTHER),
        (MADE_OF, None, True, None),
    ],
    ids=["its own", "of no file", "other files: what was added is gone", "the first files", "standard input"],
)
def test_the_files_of_a_change(
    recorded: Source | None, named: Source | None, names_files: bool, chosen: Source | None
) -> None:
    assert choose_source(recorded, named, names_files=names_files) == chosen


def test_the_request_for_a_build_keeps_the_other_annotations() -> None:
    before: Manifest = {"metadata": {"name": "tiny", "annotations": {"mine": "1"}}, "spec": {}}
    asked = build_request(12.5)["metadata"]["annotations"]
    assert with_request(before, 12.5)["metadata"]["annotations"] == {"mine": "1", **asked}
    assert before["metadata"]["annotations"] == {"mine": "1"}
