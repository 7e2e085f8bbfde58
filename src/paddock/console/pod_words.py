"""What a page says of a pod in its row."""

from __future__ import annotations

import time

from paddock.console.page_context import PageContext
from paddock.views.pods import PodRow
from paddock.words.phrases import Foreign, phrase


def say_why(page: PageContext, pod: PodRow) -> str:
    """Why it is as it is, and until when it is held for a shell: in UTC, as a sentence is no place that a
    script writes in the reader's zone."""
    why = page.say(pod.said or phrase("{said}", said=Foreign(pod.message))) if pod.message else ""
    if pod.held is None or pod.held <= page.now:
        return why
    until = time.strftime("%H:%M UTC", time.gmtime(pod.held))
    return page.say(phrase("{why}; held until {time}", why=why, time=until))
