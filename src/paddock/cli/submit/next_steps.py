"""What to type after a job was submitted and is not followed."""

from __future__ import annotations

from paddock.kube.meta import Manifest, name_of, namespace_of
from paddock.views.flags import Flags
from paddock.words.phrases import Phrase, phrase


def explain_following(job: Manifest, flags: Flags) -> Phrase:
    """The commands that follow and describe a created job."""
    where = flags.of(namespace_of(job))
    follow, describe = f"paddock logs {name_of(job)} -f{where}", f"paddock describe {name_of(job)}{where}"
    return phrase("`{follow}` follows it, `{describe}` tells all about it", follow=follow, describe=describe)
