#!/usr/bin/env python3
"""Lays out the operator's image as a folder, for machines where no image can be pulled or built.

    rootfs.py DIR      what deploy/Dockerfile makes: an interpreter, deploy/operator.lock, this package, its programs

The interpreter, its standard library and the shared libraries that they need are this machine's; the packages are those
of the environment that runs this program (.venv/bin/python), and must have the versions of the lock. `node.py image`
makes an image of the folder. Prints its size. What the operator imports is what the lock names: a package that is
missing there is missing here too, so the operator that starts in this image starts in the other.
"""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

from processes import Failure

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "deploy/operator.lock"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
_UNUSED = ("test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data", "distutils")
_KEPT_OUT = shutil.ignore_patterns(
    "__pycache__", "site-packages", "dist-packages", "config-*", "_test*", "_tk*", *_UNUSED
)
_PROGRAMS = {"deploy/entrypoint.py": "usr/local/bin/paddock", "deploy/manager.py": "manager"}
_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n",
    "etc/group": "root:x:0:\nnonroot:x:65532:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}


def read_lock(text: str) -> dict[str, str]:
    """Package -> version, of a file that `uv pip compile` wrote; those that only other Pythons need are left out."""
    found = re.findall(r"^([\w.-]+)==([\w.]+)(?: ; python_full_version < '(\d+)\.(\d+)')?", text, re.MULTILINE)
    return {
        name: version for name, version, *below in found if not below[0] or sys.version_info < tuple(map(int, below))
    }


def lay_out(folder: Path) -> None:
    """Writes the root file system below `folder`, which must be empty or new."""
    site = folder / f"usr/local/lib/python{VERSION}/site-packages"
    (folder / "usr/local/bin").mkdir(parents=True)
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)
    for path, text in _FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    _copy_interpreter(folder)
    _copy_packages(site)
    shutil.copytree(ROOT / "src/paddock", site / "paddock", ignore=shutil.ignore_patterns("__pycache__"))
    for source, program in _PROGRAMS.items():
        shutil.copy(ROOT / source, folder / program)
    _compile(site.parent)
    _copy_libraries(folder)


def _copy_interpreter(folder: Path) -> None:
    program = Path(sys.executable).resolve()
    shutil.copy(program, folder / f"usr/local/bin/python{VERSION}")
    (folder / "usr/local/bin/python3").symlink_to(f"python{VERSION}")
    shutil.copytree(sysconfig.get_path("stdlib"), folder / f"usr/local/lib/python{VERSION}", ignore=_KEPT_OUT)


def _copy_packages(site: Path) -> None:
    for name, version in read_lock(LOCK.read_text()).items():
        try:
            package = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            raise Failure(f"{name} is not installed beside {sys.executable}; `make lock`, then `make test`") from None
        if package.version != version:
            raise Failure(f"{LOCK} says {name} {version}, and {package.version} is installed; say `make lock`")
        for file in package.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(package.locate_file(file)), site / file)


def _compile(library: Path) -> None:
    words = ("-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "-s", library.parents[2])
    subprocess.run([sys.executable, *map(str, words), str(library)], check=True)


def _copy_libraries(folder: Path) -> None:
    """What the loader would find for the interpreter and for every extension module, at the loader's own places."""
    programs = [*folder.glob("usr/local/bin/python3.*"), *folder.glob("usr/local/lib/**/*.so")]
    needed = set(find_libraries(programs))
    home = next(path.parent for path in needed if path.name.startswith("libc.so"))
    for path in sorted(needed):
        if path.is_relative_to(folder):
            continue
        place = path if path.is_relative_to("/lib") or path.is_relative_to("/lib64") else home / path.name
        target = folder / place.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def find_libraries(programs: Iterable[Path]) -> Iterator[Path]:
    """The shared libraries of these files, as `ldd` finds them."""
    said = subprocess.run(["ldd", *programs], capture_output=True, text=True).stdout
    yield from (Path(found) for found in re.findall(r"^\s*(?:\S+ => )?(/\S+) \(0x", said, re.MULTILINE))


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = Path(sys.argv[1]).resolve()
    try:
        lay_out(folder)
    except (Failure, OSError, StopIteration) as failure:
        sys.exit(f"rootfs.py: {failure}")
    size = sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())
    print(f"{folder}: {size / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
