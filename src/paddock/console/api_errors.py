"""Why the cluster's API did not do what a reader asked for, as a sentence. Pure."""

from __future__ import annotations

from paddock.kube.errors import ApiError, Forbidden, Unavailable
from paddock.words.phrases import Foreign, Phrase, phrase


def say_error(error: ApiError) -> Phrase:
    why = Foreign(error.message)
    if isinstance(error, Forbidden):
        return phrase("your rights on the cluster do not allow this: {why}", why=why)
    if isinstance(error, Unavailable) and not error.message:
        return phrase("the cluster's API does not answer, so nothing is known yet: this page looks again")
    return phrase("the cluster's API answered: {why}", why=why)
