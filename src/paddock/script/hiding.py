"""Files beside a program that Python finds in place of a framework, or of a module that the framework imports. Pure.

Python looks first in the directory of the script: `import torch` takes a `torch.py` there, and the program fails later,
by a sentence that names no file (`module 'torch' has no attribute 'ones'`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from paddock.script.kinds import SCRIPT_KINDS
from paddock.script.libraries import find_frameworks
from paddock.words.phrases import Phrase, phrase

_PACKAGES: Mapping[str, frozenset[str]] = {
    "paddle": frozenset({"paddle"}),
    "pytorch": frozenset({"torch", "torchvision", "torchaudio"}),
}
_IMPORTED = (
    "argparse ast base64 bisect bz2 calendar collections concurrent contextlib contextvars copy copyreg csv ctypes "
    "dataclasses datetime dis email enum fnmatch functools gettext glob gzip hashlib heapq http importlib inspect "
    "ipaddress json keyword linecache locale logging lzma multiprocessing ntpath numbers numpy opcode operator "
    "pathlib pickle pkgutil platform pprint queue quopri random re reprlib selectors shutil signal socket ssl string "
    "struct subprocess tarfile tempfile textwrap threading timeit token tokenize traceback types typing urllib uuid "
    "warnings weakref zipfile"
)
"""What `import torch` (2.13) and `import paddle` (3.3) both import, and Python's start does not; without what some
Pythons have built in, which no file hides."""
_OF_ALL = frozenset(_IMPORTED.split())

NAMES = _OF_ALL | frozenset[str]().union(*_PACKAGES.values())
"""Modules whose files are looked for."""


def explain_hiding(script: str, imports: Set[str], found: Mapping[str, str]) -> Iterator[Phrase]:
    """`imports`: of the program, the first parts of modules; `found`: module of `NAMES` -> its file beside the script.

    A file that hides nothing imported has no sentence: of a program without a framework nothing is said."""
    kinds = [SCRIPT_KINDS[each] for each in find_frameworks(imports) if each in _PACKAGES]
    packages = frozenset[str]().union(*(_PACKAGES[each.framework] for each in kinds))
    for module, file in sorted(found.items()):
        if module in packages & imports:
            yield phrase(
                "warning: {file} hides the package {module}, which {script} imports: give it another name",
                file=file, module=module, script=script,
            )  # fmt: skip
        elif kinds and module in _OF_ALL:
            yield phrase(
                "warning: {file} hides the module {module}, which {title} imports: give it another name",
                file=file, module=module, title=kinds[0].title,
            )  # fmt: skip
