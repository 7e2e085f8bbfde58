"""`paddock bundle` of a job on the local cluster, read with none."""

from __future__ import annotations

import json
import re
import stat
import tarfile

from e2e.commands import Cluster
from e2e.manifests import build_light_job
from support.printed import take_printed, type_printed
from support.sandboxes import ONE_SANDBOX

pytestmark = [ONE_SANDBOX]
AGE = re.compile(r" \S+ ago")


def test_a_job_that_failed_is_explained_from_its_bundle(shared: Cluster) -> None:
    job = build_light_job("bundled", "echo token=hunter2; echo 'RuntimeError: broken' >&2; exit 3")
    ended = shared.paddock("run", shared.write(job))
    assert ended.code != 0
    file = shared.directory / "bundled.tar.gz"
    made = shared.paddock("bundle", "bundled", "-o", str(file))
    assert made.code == 0 and made.out.startswith(f"{file}: "), str(made)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with tarfile.open(file) as tar:
        logs = [tar.extractfile(each) for each in tar.getmembers() if each.name.startswith("logs/")]
        texts = [each.read() for each in logs if each is not None]
    assert texts and b"hunter2" not in b"".join(texts)
    for verb in ("explain", "doctor"):
        there, here = shared.paddock(verb, "bundled"), shared.paddock(verb, "--bundle", str(file))
        assert AGE.sub("", here.out) == AGE.sub("", there.out) and here.code == there.code, str(here)
    log = shared.directory / "no.tar.gz"
    log.write_text("no bundle")
    refused = shared.paddock("explain", "--bundle", str(log))
    (shared.directory / "typed").mkdir()
    asked = take_printed(refused.err, "paddock bundle JOB")
    typed = type_printed(shared, asked, {"JOB": "bundled"}, shared.directory / "typed")
    assert typed.code == 0 and (shared.directory / "typed" / "bundled.bundle.tar.gz").is_file(), str(typed)
    again = shared.paddock("bundle", "bundled", "-o", str(file))
    assert again.code == 2 and "is there already" in again.err
    format_ = shared.paddock("bundle", "bundled", "-o", "json")
    assert format_.code == 2 and "json is a format" in format_.err, str(format_)
    typed = type_printed(shared, take_printed(format_.err, "paddock get job {job} -o json"))
    assert typed.code == 0 and json.loads(typed.out)["metadata"]["name"] == "bundled", str(typed)
