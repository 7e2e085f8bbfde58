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

MOST_RUNS = 10_000
"""Entries of a job's directory that are looked at."""

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

PYTHON = (
    """\
import errno, itertools, json, os, sys
claim, job, uid, kind, created, resume, name = sys.argv[1:8]
top = os.path.join(claim, job)
run = os.path.join(top, uid)
checkpoints = os.path.join(run, "checkpoint")

def end(said):
    sys.stderr.write(said + "\\n")
    sys.exit(3)

def tell(said):
    print(said)
    try:
        with open("/dev/termination-log", "w") as file:
            file.write(said)
    except OSError:
        pass

def make(path):
    try:
        os.mkdir(path)
    except FileExistsError:
        return
    try:  # as a kubelet makes a subPath: who may write into the claim may write here
        os.chmod(path, os.stat(claim).st_mode & 0o2777)
    except OSError:
        pass

def read(path):
    try:
        with open(path) as file:
            found = json.loads(file.read(65536))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}

def has_files(path):
    return not os.path.islink(path) and any(files for _, _, files in os.walk(path))

def list_runs():  # the others, the newest first: started, number, UID, kind
    found = []
    with os.scandir(top) as entries:
        for each in itertools.islice(entries, """
    + str(MOST_RUNS)
    + """):
            other, end = os.path.splitext(each.name)
            if end == ".json" and other != uid:
                facts = read(each.path)
                number, started = facts.get("run"), facts.get("started")
                number = number if isinstance(number, int) else 0
                found.append((str(started or ""), number, other, facts.get("kind")))
    return sorted(found, key=lambda each: each[:3], reverse=True)

def move(runs):
    for _, number, other, _ in runs:
        source = os.path.join(top, other, "checkpoint")
        if os.path.lexists(checkpoints):  # another rank was first
            return None
        if has_files(source):
            try:
                os.rename(source, checkpoints)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                    continue
                raise
            tell("resumes from the checkpoints of run %s" % (number or other))
            return number or other
    return None

def begin(runs):
    runs = [each for each in runs if each[3] == kind]
    if resume == "true":
        resumed = move(runs)
        if resumed is None and not os.path.lexists(checkpoints):
            tell("nothing to resume: no earlier run of %s has checkpoints in the claim %s" % (job, name))
        return resumed
    resumed = move([each for each in runs if str(each[1]) == resume])
    if resumed is None and not os.path.lexists(checkpoints):
        others = [str(each[1]) for each in runs if each[1] and has_files(os.path.join(top, each[2], "checkpoint"))]
        there = "; those that have some: " + ", ".join(sorted(others, key=int)[-8:]) if others else ""
        end("run %s of %s has no checkpoints in the claim %s%s" % (resume, job, name, there))
    return resumed

def record(runs, resumed):
    path = os.path.join(top, uid + ".json")
    facts = {"run": 1 + max([each[1] for each in runs] or [0]), "kind": kind, "started": created, "resumed": resumed}
    fresh = "%s.%s-%d" % (path, os.uname()[1], os.getpid())
    with open(fresh, "w") as file:
        file.write(json.dumps(facts) + "\\n")
    if resumed is None:  # the rank that has moved checkpoints knows better, whenever it comes
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not os.path.lexists(path):
                os.rename(fresh, path)
                return
        os.unlink(fresh)
    else:
        os.rename(fresh, path)

def explain(error):
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the claim %s is full (%s)" % (name, error.strerror)
    if error.errno == errno.EROFS:
        return "the claim %s can be read only: name one that can be written to" % name
    if error.errno in (errno.EACCES, errno.EPERM):
        top = os.stat(claim)
        return (
            "user %d may not write into the claim %s, whose top directory is of user %d and group %d with mode %o: set "
            "securityContext.fsGroup in the template of the job's pods, or let an administrator open the directory"
            % (os.getuid(), name, top.st_uid, top.st_gid, top.st_mode & 0o7777)
        )
    return "the claim %s cannot be prepared: %s" % (name, error)

try:
    make(top)
    make(run)
    runs = list_runs()
    if not os.path.lexists(run + ".json"):
        record(runs, begin(runs) if resume and not os.path.lexists(checkpoints) else None)
    make(checkpoints)
except OSError as error:
    end(explain(error))
"""
)
"""Arguments: where the claim is mounted, the job's name and UID, its kind (`PaddleJob.batch.paddlepaddle.org`), when it
was created (RFC 3339), what it resumes from (`true`, `3` or nothing), and the name of the claim. The exit code 3 has a
sentence on standard error, which the kubelet puts into the pod's status."""
