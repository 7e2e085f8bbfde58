"""The documentation site, in build/docs (`make docs`). A warning of Sphinx is an error.

Sphinx and what it needs are installed in build/docs-tools, beside .venv, from requirements-docs.lock. `--check` builds
nothing, and says with exit code 1 that the site is older than the pages.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection
from functools import partial
from pathlib import Path

from bootstrap_pip import Pip, say
from bootstrap_python import Missing, ask_python
from manual.site.stage import list_translated, stage
from reference import DOCS, read_texts

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements-docs.lock"
BUILD = ROOT / "build"
TOOLS, STAGED, SITE = BUILD / "docs-tools", BUILD / "docs-source", BUILD / "docs"
CONF = ROOT / "tools/manual/site"
LANGUAGES = ("en", "zh")
FRONT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Paddock</title>
<style>body { font: 1.25rem/2 system-ui, sans-serif; margin: 4rem auto; max-width: 30rem; padding: 0 1rem; }</style>
<h1>Paddock</h1>
<p><a href="en/index.html" hreflang="en">Documentation</a><br>
<a href="zh/index.html" hreflang="zh-CN" lang="zh-CN">中文文档</a></p>
"""


def install() -> None:
    """Sphinx, once for each content of the lock and version of Python. Raises `Missing`."""
    base = ask_python(sys.executable)
    assert base is not None
    key = hashlib.sha256(LOCK.read_bytes()).hexdigest() + f" {base.version[:2]}\n"
    stamp = TOOLS / ".ready"
    if stamp.exists() and stamp.read_text() == key:
        return
    shutil.rmtree(TOOLS, ignore_errors=True)
    TOOLS.mkdir(parents=True)
    packages = len(re.findall(r"^[a-z]", LOCK.read_text(), re.MULTILINE))
    say(f"installing {packages} packages of {LOCK.name} in {TOOLS.relative_to(ROOT)}, up to 20 MB to download")
    pip = Pip(ROOT / ".venv", base)
    pip.install(["--target", str(TOOLS), "-r", str(LOCK)], packages)
    pip.clean()
    stamp.write_text(key)


def find_left(folder: Path, end: str, pages: Collection[str]) -> list[Path]:
    """Files of pages that there are no more. `pages`: as they are called in the source."""
    return [
        path for path in folder.rglob(f"*{end}") if f"{path.relative_to(folder)}".removesuffix(end) + ".md" not in pages
    ]


def write_source(texts: dict[str, str], language: str) -> None:
    """The pages as Sphinx reads them. What has not changed is left, so that it builds only what has."""
    folder = STAGED / language
    pages = stage(texts, language)
    for path in [*find_left(folder, ".md", pages), *find_left(SITE / language, ".html", {*pages, "search.md"})]:
        path.unlink()
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    shutil.copytree(DOCS / "images", folder / "images", dirs_exist_ok=True)


def build(language: str, translated: list[str]) -> int:
    environment = os.environ | {
        "PYTHONPATH": str(TOOLS),
        "MANUAL_LANGUAGE": language,
        "MANUAL_TRANSLATED": json.dumps(translated),
    }
    options = ["-q", "-W", "--keep-going", "-n", "-c", str(CONF), "-d", str(STAGED / f"{language}.trees")]
    command = [sys.executable, "-m", "sphinx", *options, str(STAGED / language), str(SITE / language)]
    return subprocess.run(command, env=environment).returncode


def digest(texts: dict[str, str]) -> str:
    """What the site was built from."""
    settings = [path.read_text() for path in sorted(CONF.rglob("*.*")) if path.suffix in (".py", ".css", ".html")]
    return hashlib.sha256(json.dumps([texts, settings], sort_keys=True).encode()).hexdigest() + "\n"


def is_built() -> bool:
    """Whether the site is there, of the pages as they are."""
    stamp = SITE / ".built"
    return stamp.exists() and stamp.read_text() == digest(read_texts())


def main() -> int:
    texts, stamp = read_texts(), SITE / ".built"
    if "--check" in sys.argv:
        return int(not is_built())
    try:
        install()
    except Missing as missing:
        say(str(missing))
        return 2
    stamp.unlink(missing_ok=True)
    for language in LANGUAGES:
        write_source(texts, language)
    if any(list(map(partial(build, translated=list_translated(texts)), LANGUAGES))):  # both, to see all that is wrong
        return 1
    (SITE / "index.html").write_text(FRONT, encoding="utf-8")
    stamp.write_text(digest(texts))
    print(SITE / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
