"""What a pod finds at the ports of the cluster that runs it: doors that are shut without a secret."""

from __future__ import annotations

import sys
from urllib.parse import urlsplit

from e2e.commands import Cluster
from e2e.manifests import build_light_job

KNOCK = """
import ssl, sys, urllib.error, urllib.request
open_to_all = ssl._create_unverified_context()
for address in sys.argv[1:]:
    for method, path in (("GET", "/"), ("GET", "/api/v1/secrets"), ("GET", "/jobs/default/paddlejobs/knock"),
                         ("POST", "/new"), ("POST", "/s/guessed/new"), ("GET", "/sign-in?token=guessed")):
        request = urllib.request.Request(address + path, b"text=x" if method == "POST" else None, {
            "Cookie": "paddock-session=guessed", "Authorization": "Bearer guessed",
            "Sec-Fetch-Site": "same-origin"}, method=method)
        try:
            code = urllib.request.urlopen(request, context=open_to_all, timeout=60).status
        except urllib.error.HTTPError as error:
            code = error.code
        print("knocked", method, code)
"""


def test_a_pod_without_a_secret_gets_in_nowhere(shared: Cluster) -> None:
    console, api = urlsplit(shared.link()), urlsplit(shared.record["url"])
    doors = [f"{each.scheme}://{each.netloc}" for each in (console, api)]
    job = build_light_job("knock", "true")
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    container["command"] = [sys.executable, "-c", KNOCK, *doors]
    ended = shared.paddock("run", shared.write(job))
    assert ended.code == 0, str(ended)
    said = [line.partition("knocked ")[2] for line in ended.out.splitlines() if "knocked" in line]
    assert len(said) == 12, str(ended)
    assert {line.split()[1] for line in said} <= {"401", "403", "404", "405"}, said
