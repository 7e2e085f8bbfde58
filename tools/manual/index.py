"""docs/README.md: every page of the documentation, by section, in both languages. Pure.

A page that no section names comes last, under "Further pages": so a new one is in the index at once, and somebody gives
it a better place here. A page that is named and not there is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from manual.markup import read_title
from manual.pages import find_text, list_pages
from manual.reference.markdown import join
from manual.reference.reader import Reader

SECTIONS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Start",
        (
            ("start", "from nothing to a job of your own, changed and stopped"),
            ("your-own-script", "packages, data, results, checkpoints, restarts, GPUs, CI"),
            ("rehearse", "a job of a cluster, here, for two steps"),
            ("python", "`paddock.run` and `paddock.train`"),
            ("console", "every job in the browser"),
            ("upgrade-and-uninstall", "what a new version does to jobs, disk space, and how all of it goes"),
        ),
    ),
    (
        "When something is wrong",
        (
            ("reference/causes", "why a job waits, restarts or has ended, and what to do"),
            ("doctor", "the questions that are asked most, as a command"),
            ("doctor-host", "this machine and its peers"),
        ),
    ),
    (
        "Jobs and places",
        (
            ("kubeflow", "PyTorchJob, PaddleJob and JAXJob"),
            ("elastic", "jobs that train on when nodes go, and grow when they come"),
            ("datasets", "data that is fetched once and shared"),
            ("devices", "CPU, GPU, XPU, DCU, NPU"),
            ("places/README", "bare machines, Docker and the clouds, one page each"),
            ("clients", "which clients of Kubernetes are tested against a laptop's API, and with what"),
        ),
    ),
    (
        "On a cluster",
        (
            ("kubernetes", "install, edit, take over from paddle-operator"),
            ("operator", "its flags, metrics and gangs"),
            ("gangs", "what each scheduler promises, and what is written for it"),
            ("kueue", "jobs in a queue, with its integration and without"),
            ("gitops", "how they show a job, and what they find to differ"),
            ("rights", "each right with the request that needs it"),
            ("operations/security", "for a platform team"),
            ("operations/tenants", "many teams on one cluster"),
            ("operations/webhook", "wrong jobs are refused before they are stored"),
            ("operations/console", "one console for all readers"),
            ("operations/monitoring", "alerts and a dashboard"),
            ("operations/upgrade", "what happens to jobs, and the way back"),
            ("operations/backup", "what has to be kept, and how it comes back"),
        ),
    ),
    (
        "Reference",
        (("reference/README", "every command, field, cause, label and variable; made from the code"),),
    ),
    (
        "How it is built",
        (
            ("architecture", "the rooms, the way of a job, the rules"),
            ("security", "what a pod can do on a laptop"),
            ("differences", "the requests that every client makes, asked of the API of a laptop and of a real one"),
            ("benchmarks", "figures, measured"),
            ("decisions/README", "what was chosen, what else there was, what it costs"),
        ),
    ),
)
LAST = "Further pages"


def build_index(texts: Mapping[str, str], reader: Reader) -> str:
    """`texts`: of all pages, by path below docs."""
    say, other = reader.say, "README.zh-CN.md" if reader.language == "en" else "README.md"
    head = [
        f"# {say('Documentation of Paddock')}",
        f"[{'中文' if reader.language == 'en' else 'English'}]({other})",
        say("Training jobs for PaddlePaddle and PyTorch, from one laptop to a Kubernetes fleet."),
        say("`make docs` builds these pages as a site, with a search that needs no server."),
    ]
    return join([*head, *_build_sections(texts, reader)])


def _build_sections(texts: Mapping[str, str], reader: Reader) -> Iterator[str]:
    for caption, rows in (*SECTIONS, (LAST, tuple((base, "") for base in find_unnamed(texts)))):
        title = reader.say(caption)
        told = [(base, reader.say(about)) for base, about in rows]  # also of pages that are not there: they may come
        lines = [_build_line(base, about, texts, reader) for base, about in told if f"{base}.md" in texts]
        if lines:
            yield f"## {title}"
            yield "\n".join(lines)


def find_unnamed(texts: Mapping[str, str]) -> list[str]:
    """The pages that no section names and that are in no folder whose README is named."""
    named = {base for _, rows in SECTIONS for base, _ in rows}
    folders = tuple(f"{base.removesuffix('README')}" for base in named if base.endswith("/README"))
    return [
        base for base in list_pages(texts) if base not in named and base != "README" and not base.startswith(folders)
    ]


def _build_line(base: str, about: str, texts: Mapping[str, str], reader: Reader) -> str:
    path = find_text(base, texts, reader.language)
    mark = "" if reader.language == "en" or path.endswith(".zh-CN.md") else "（英文）"
    colon = ": " if reader.language == "en" else "："
    return f"- [{read_title(texts[path])}]({path}){mark}{colon if about else ''}{about}"
