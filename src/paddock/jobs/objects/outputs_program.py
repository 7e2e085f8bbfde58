"""What the first container of a rank's pod runs where the job names a claim for its outputs: text, run by `sh` in the
job's own image.

It makes the directories of the run in the claim, with the job's own user, and decides with which checkpoints the run
begins, as `app.outputs` does on a laptop:

    <claim>/<job>/<UID>/              PADDOCK_OUTPUT_DIR, of all ranks and attempts of one run
    <claim>/<job>/<UID>/checkpoint    PADDOCK_CHECKPOINT_DIR
    <claim>/<job>/<UID>.json          which run it is, of which kind, when its job was created, what it resumed

Each rank runs it, on any node, at each attempt. Each step is one that several may do at once: a directory that is there
is left alone, checkpoints are moved by one rename(2), which never replaces a directory with files in it, and the record
of the rank that has moved them is the one that stays. It reads Python 3.6, as images of users do.
"""

from __future__ import annotations

from functools import cache

SHELL = """\
program=$1
shift
for python in python3 python; do
  if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 6))' 2>/dev/null; then
    exec "$python" -c "$program" "$@"
  fi
done
if [ -n "$6" ]; then
  echo "the image has no Python 3, which looks for the checkpoints of an earlier run in the claim $7: name an image \
that has it, or leave out --resume (the annotation paddock.dev/resume)" >&2
  exit 3
fi
for each in "$1/$2" "$1/$2/$3" "$1/$2/$3/checkpoint"; do
  [ -d "$each" ] || mkdir "$each" || [ -d "$each" ] || exit 3
done
"""
"""Arguments: the Python program, then its arguments. A directory that `mkdir` cannot make has its own words."""


@cache
def read_program() -> str:
    """The Python program. Its arguments: where the claim is mounted, the job's name and UID, its kind
    (`PaddleJob.batch.paddlepaddle.org`), when it was created (RFC 3339), what it resumes from (`true`, `3` or nothing),
    and the name of the claim. The exit code 3 has a sentence on standard error, which the kubelet puts into the pod's
    status."""
    from importlib.resources import files

    return files("paddock.jobs.objects").joinpath("paddock_outputs.py").read_text(encoding="utf-8")
