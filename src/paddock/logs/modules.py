"""ModuleNotFoundError -> which package the module comes from, and one command that puts it into the environment. Pure.

The name of a module is often not that of its package: cv2 comes from opencv-python. A module that Python looks for and
that is a file of the user's own directories is no package: Python looks beside the script, and in PYTHONPATH.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from paddock.words.phrases import Phrase, phrase

_MISSING = re.compile(
    r"(?:ModuleNotFoundError|ImportError): No module named '?(?P<name>[A-Za-z_][\w.]*)'?"
    r"|\S*python[\d.]*: (?:Error while finding module specification for '\S+' \(ModuleNotFoundError: )?"
    r"No module named '?(?P<started>[A-Za-z_][\w.]*)'?\)?"
)

PACKAGES: Mapping[str, str] = {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "Cython": "cython",
    "IPython": "ipython",
    "Levenshtein": "levenshtein",
    "MySQLdb": "mysqlclient",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "distutils": "setuptools",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "fitz": "pymupdf",
    "git": "gitpython",
    "google.protobuf": "protobuf",
    "hydra": "hydra-core",
    "imblearn": "imbalanced-learn",
    "jwt": "pyjwt",
    "magic": "python-magic",
    "mpl_toolkits": "matplotlib",
    "nacl": "pynacl",
    "osgeo": "gdal",
    "paddle": "paddlepaddle",
    "pkg_resources": "setuptools<81",
    "ppdet": "paddledet",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pywt": "pywavelets",
    "ruamel": "ruamel.yaml",
    "ruamel.yaml": "ruamel.yaml",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "snappy": "python-snappy",
    "socks": "pysocks",
    "umap": "umap-learn",
    "usb": "pyusb",
    "websocket": "websocket-client",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
"""Module -> package, where their names differ otherwise than in dashes. setuptools lost pkg_resources in 81."""


def read_missing_module(complaint: str) -> str:
    """The module that Python has not found, with its parents: `cv2`, `google.protobuf`; empty for any other error."""
    found = _MISSING.match(complaint.strip())
    return (found["name"] or found["started"] or "") if found else ""


def find_package(module: str) -> str:
    """The package that brings a module; empty for a part of a package that is there: a parent is imported first, so
    Python would miss the parent otherwise."""
    if module in PACKAGES:
        return PACKAGES[module]
    return "" if "." in module else module.replace("_", "-")


def advise_module(
    complaint: str, environment: str, file: str = "", own: str = "", image: str = "", *, is_new: bool = False
) -> list[Phrase]:
    """What is missing, and one command. Empty for any other error, and where the reason is not a missing package.

    `environment`: empty on a cluster, where an image has the packages; `file`: the requirements file in which a package
    belongs, `is_new` where the environment was made of none; `own`: the directory of the user's own file or package of
    this name, which is not beside the script; `image`: of a job that runs by the programs of this machine, to which no
    package is added.
    """
    module = read_missing_module(complaint)
    package = find_package(module)
    if module and own:
        return [_explain_own(module, own)]
    if not package:
        return []
    if not environment:
        return [phrase("{module} is not in the image: it comes from the package {package}", module=module,
                       package=package)]  # fmt: skip
    command = f"paddock env update {environment} --add {shlex.quote(package)}"
    said: Phrase | str = command
    if file:
        said = _write(package, file, is_new=is_new)
    if image:
        said = f"paddock env create NAME -r requirements.txt --image '{image}'"
    return [_explain(module, environment, package), phrase("next: {step}", step=said)]


def _write(package: str, file: str, *, is_new: bool) -> Phrase | str:
    if file.endswith(".toml"):
        return phrase("write {package} into {file}, and run the job again", package=package, file=file)
    command = f"echo {shlex.quote(package)} >> {shlex.quote(file)}"
    again = phrase("{command}  # and run the job again with -r {file}", command=command, file=shlex.quote(file))
    return again if is_new else command


def _explain_own(module: str, directory: str) -> Phrase:
    return phrase(
        "{module} is your own, in {directory}, and Python does not look there: set PYTHONPATH to it, as in `{command}`",
        module=module, directory=directory, command=f"paddock run --env PYTHONPATH={shlex.quote(directory)} -- …",
    )  # fmt: skip


def _explain(module: str, environment: str, package: str) -> Phrase:
    if module.partition(".")[0].lower() == package:
        return phrase("{module} is not in environment {environment}", module=module, environment=environment)
    return phrase("{module} is not in environment {environment}: it comes from the package {package}", module=module,
                  environment=environment, package=package)  # fmt: skip
