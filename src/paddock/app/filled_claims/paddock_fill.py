"""Runs in a pod of a cluster that fills a claim, by the Python of the job's image, as old as 3.6, and with nothing of
Paddock's beside it: the text of this file is the argument of `python3 -c`.

    python3 -c TEXT install DIRECTORY
    python3 -c TEXT hold DIRECTORY SECONDS
    python3 -c TEXT receive DIRECTORY BYTES SHA256

`install` makes a virtual environment in DIRECTORY/env over the packages of the image, and installs what the variable
PADDOCK_REQUIREMENTS says: what the image has is not installed again. `hold` waits until the claim is filled, and
`receive` fills it: with the tar.gz of so many bytes that comes by standard input.

What it has to tell is a line of `paddock-fill` and JSON; everything else is what uv or pip printed. Exit codes: 0
filled, 2 the program itself was called wrongly, 3 it failed and has told why, 4 nothing came within SECONDS.
"""
# ruff: noqa: UP006, UP035, UP045 - Python 3.6

import errno
import hashlib
import json
import os
import re
import shutil
import site
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import IO, Any, Dict, List, Optional, Sequence

MARK = "paddock-fill "
FILLED = ".paddock-filled"
SCRATCH = Path(os.environ.get("PADDOCK_SCRATCH") or "/tmp")  # noqa: S108 - a volume of the pod's
FAILED, NOTHING_CAME = 3, 4
STEP_SECONDS = 1.0
FULL = (errno.ENOSPC, errno.EDQUOT)


class Trouble(Exception):
    """Why it failed: a word, and what is told with it."""

    def __init__(self, reason: str, **more: Any) -> None:
        super().__init__(reason)
        self.told = dict(more, reason=reason)


def tell(**what: Any) -> None:
    sys.stdout.write(MARK + json.dumps(what, sort_keys=True) + "\n")
    sys.stdout.flush()


def read_mark(directory: str) -> Optional[Dict[str, Any]]:
    try:
        found: Dict[str, Any] = json.loads((Path(directory) / FILLED).read_text())
        return found
    except (OSError, ValueError):
        return None


def write_mark(directory: str, report: Dict[str, Any]) -> None:
    """Last of all: a claim without it is filled again from the beginning."""
    part = Path(directory) / f"{FILLED}.{os.getpid()}"
    with part.open("w") as file:
        json.dump(report, file)
        file.flush()
        os.fsync(file.fileno())
    part.rename(Path(directory) / FILLED)


def measure(directory: Path) -> int:
    """Bytes of all files below it. Links are not followed."""
    return sum((Path(place) / name).lstat().st_size for place, _, names in os.walk(str(directory)) for name in names)


# Packages


def install(directory: str) -> Dict[str, Any]:
    place = Path(directory) / "env"
    shutil.rmtree(str(place), ignore_errors=True)
    python = make_environment(place)
    requirements = SCRATCH / "requirements.txt"
    requirements.write_text(os.environ["PADDOCK_REQUIREMENTS"])
    before = set(list_packages(place))
    uv = find_uv()
    if uv is not None:
        install_by_uv(uv, python, requirements)
    else:
        install_by_pip(python, requirements)
    installed = sorted(set(list_packages(place)) - before)
    return {
        "python": "{}.{}".format(*sys.version_info[:2]),
        "path": os.environ.get("PATH", os.defpath),
        "pythonpath": os.environ.get("PYTHONPATH", ""),
        "packages": len(installed),
        "bytes": measure(place),
    }


def make_environment(place: Path) -> str:
    """A virtual environment that sees the packages of the image, also where the image's own Python is in one. Its
    `packages` is a link to site-packages, so that PYTHONPATH need not know the version. Returns its Python."""
    try:
        import venv
    except ImportError:
        raise Trouble("no-venv", python=sys.executable) from None
    tell(step="make", python="{}.{}.{}".format(*sys.version_info[:3]))
    venv.EnvBuilder(system_site_packages=True, with_pip=False, symlinks=True).create(str(place))
    packages = place / "packages"
    packages.symlink_to("lib/python{}.{}/site-packages".format(*sys.version_info[:2]))
    settings = Path(sys.prefix) / "pip.conf"
    if settings.exists():
        shutil.copy(str(settings), str(place / "pip.conf"))
    (packages / "paddock_image.pth").write_text("".join(each + "\n" for each in site.getsitepackages()))
    return str(place / "bin" / "python")


def list_packages(place: Path) -> List[str]:
    return [each.name for each in (place / "packages").iterdir() if each.suffix in (".dist-info", ".egg-info")]


def find_uv() -> Optional[List[str]]:
    found = shutil.which("uv")
    if found:
        return [found]
    return [sys.executable, "-m", "uv"] if has_module(sys.executable, "uv") else None


def has_module(python: str, name: str) -> bool:
    words = [python, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)", name]
    return subprocess.call(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


def install_by_uv(uv: Sequence[str], python: str, requirements: Path) -> None:
    """uv does not count what a virtual environment sees of the image (0.13), so it is asked first what the image's own
    Python lacks."""
    settings = {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"}
    environment = dict(os.environ, UV_CACHE_DIR=str(SCRATCH / "uv"), UV_LINK_MODE="copy")
    settings.update(read_pip_indexes(requirements))
    for name, value in settings.items():
        environment.setdefault(name, value)
    tell(step="resolve", tool="uv")
    ask = [
        "pip",
        "install",
        "--dry-run",
        "--break-system-packages",
        "--python",
        sys.executable,
        "-r",
        str(requirements),
    ]
    output = run_tool([*uv, *ask], environment, "uv")
    lacking = read_lacking(output)
    if not lacking:
        return
    tell(step="install", tool="uv", count=len(lacking))
    options = [line for line in requirements.read_text().splitlines() if line.startswith("-")]
    chosen = SCRATCH / "lacking.txt"
    chosen.write_text("".join(each + "\n" for each in [*options, *lacking]))
    run_tool([*uv, "pip", "install", "--no-deps", "--python", python, "-r", str(chosen)], environment, "uv")


def read_pip_indexes(requirements: Path) -> Dict[str, str]:
    """Where pip would look for packages (its files, PIP_INDEX_URL), as variables of uv, which reads none of them: an
    image of a company names its mirror there. Empty where uv or the requirements name an index themselves."""
    own = [name for name in os.environ if re.match(r"UV_(DEFAULT_|EXTRA_)?INDEX(_URL)?$", name)]
    if own or "--index-url" in requirements.read_text() or not has_module(sys.executable, "pip"):
        return {}
    words = [sys.executable, "-m", "pip", "config", "list"]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return translate_pip(done.stdout.decode(errors="replace"))


def translate_pip(text: str) -> Dict[str, str]:
    """`global.index-url='https://…'` of `pip config list` as variables of uv. What `install` says stands above
    `global`, and a variable above both."""
    found: Dict[str, str] = {}
    for section in ("global", "install", ":env:"):
        lines = re.findall(r"^" + section + r"\.([\w-]+)='(.*)'$", text, re.MULTILINE)
        found.update({name: " ".join(value.replace("\\n", " ").split()) for name, value in lines})
    names = {
        "index-url": "UV_DEFAULT_INDEX",
        "extra-index-url": "UV_INDEX",
        "find-links": "UV_FIND_LINKS",
        "trusted-host": "UV_INSECURE_HOST",
        "cert": "SSL_CERT_FILE",
    }
    result = {variable: found[name] for name, variable in names.items() if found.get(name)}
    if "UV_FIND_LINKS" in result:
        result["UV_FIND_LINKS"] = ",".join(result["UV_FIND_LINKS"].split())
    return result


def read_lacking(output: str) -> List[str]:
    """The lines ` + six==1.17.0` and ` + mine==1.0 (from https://…)` of a dry run of uv, as requirements."""
    found = re.findall(r"^ \+ ([^=\s]+)==(\S+)(?: \(from (\S+)\))?\s*$", output, re.MULTILINE)
    return [f"{name} @ {url}" if url else f"{name}=={version}" for name, version, url in found]


def install_by_pip(python: str, requirements: Path) -> None:
    if not has_module(python, "pip"):
        raise Trouble("no-installer", python=sys.executable)
    tell(step="install", tool="pip")
    options = ["--no-input", "--disable-pip-version-check", "--no-cache-dir", "--no-warn-script-location"]
    run_tool(
        [python, "-m", "pip", "install", *options, "--progress-bar", "off", "-r", str(requirements)],
        dict(os.environ, PIP_ROOT_USER_ACTION="ignore", PIP_USER="0"),
        "pip",
    )


def run_tool(words: Sequence[str], environment: Dict[str, str], tool: str) -> str:
    """What it printed, which is printed here as it comes."""
    process = subprocess.Popen(
        words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        universal_newlines=True, errors="replace",
    )  # fmt: skip
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        sys.stdout.write(line)
        sys.stdout.flush()
        lines.append(line)
        del lines[:-2000]
    if process.wait() != 0:
        raise Trouble("tool", tool=tool, code=process.returncode, python="{}.{}".format(*sys.version_info[:2]))
    return "".join(lines)


# A directory


def hold(directory: str, seconds: float) -> Dict[str, Any]:
    tell(step="hold")
    probe = Path(directory) / ".paddock-probe"
    probe.write_text("")
    probe.unlink()
    tell(step="ready")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = read_mark(directory)
        if found is not None:
            return found
        time.sleep(STEP_SECONDS)
    tell(failed={"reason": "nothing-came"})
    sys.exit(NOTHING_CAME)


class Incoming:
    """Standard input, of so many bytes, with their digest."""

    def __init__(self, source: IO[bytes], size: int) -> None:
        self._source, self.left, self.digest = source, size, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(min(self.left, size if size >= 0 else self.left))
        self.left -= len(data)
        self.digest.update(data)
        return data

    def drain(self) -> None:
        while self.read(1 << 16):
            pass


def receive(directory: str, size: int, digest: str) -> Dict[str, Any]:
    """Unpacks into a directory of its own, which gets its name when all has come and is right."""
    content, part = Path(directory) / "content", Path(directory) / f".incoming-{os.getpid()}-{time.time()}"
    incoming = Incoming(sys.stdin.buffer, size)
    try:
        part.mkdir()
        files = unpack(incoming, part)
        incoming.drain()
        if incoming.left or incoming.digest.hexdigest() != digest:
            raise Trouble("cut")
        report = {"files": files, "bytes": measure(part)}
        try:
            part.rename(content)
        except OSError:
            found = read_mark(directory)  # another command was faster: its content is the same
            if found is None:
                replace_directory(part, content)
            else:
                report = found
        return report
    except (EOFError, tarfile.TarError, ValueError) as error:
        raise Trouble("cut", why=str(error)) from None
    finally:
        shutil.rmtree(str(part), ignore_errors=True)


def replace_directory(new: Path, old: Path) -> None:
    """What was there goes last: as it is removed the pod may end, for another command has just filled the claim."""
    aside = Path(str(new) + "-old")
    old.rename(aside)
    new.rename(old)
    shutil.rmtree(str(aside), ignore_errors=True)


def unpack(incoming: Incoming, place: Path) -> int:
    count = 0
    with tarfile.open(fileobj=incoming, mode="r|gz") as archive:  # type: ignore[call-overload, unused-ignore]
        for member in archive:
            parts = member.name.split("/")
            if not member.isreg() or member.name.startswith("/") or ".." in parts:
                raise Trouble("cut", why="not a plain file: " + repr(member.name))
            target = place.joinpath(*parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            source = archive.extractfile(member)
            assert source is not None
            with target.open("wb") as file:
                shutil.copyfileobj(source, file, 1 << 20)
            target.chmod(0o755 if member.mode & 0o100 else 0o644)
            count += 1
    return count


def explain_os_error(error: OSError, directory: str) -> Dict[str, Any]:
    name = str(error.filename or directory)
    if error.errno in FULL:
        return {"reason": "full", "where": "claim" if name.startswith(directory) else "node"}
    return {"reason": "os", "why": error.strerror or str(error), "file": name}


def main(words: Sequence[str]) -> int:
    os.umask(0o022)
    if len(words) < 2 or words[0] not in ("install", "hold", "receive"):
        return 2
    verb, directory, more = words[0], words[1], words[2:]
    found = None if verb == "receive" else read_mark(directory)
    try:
        if found is None and verb == "hold":
            found = hold(directory, float(more[0]))
        elif found is None:
            found = install(directory) if verb == "install" else receive(directory, int(more[0]), more[1])
            write_mark(directory, found)
    except Trouble as trouble:
        tell(failed=trouble.told)
        return FAILED
    except OSError as error:
        tell(failed=explain_os_error(error, directory))
        return FAILED
    tell(filled=found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
