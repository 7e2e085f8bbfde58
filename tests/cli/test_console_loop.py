"""In which event loop the consoles serve, asked of processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import asyncio, logging, os, signal, sys
from pathlib import Path
from paddock.app.health import Address
from paddock.app.home import Home
from paddock.cli.cluster import consoles, fleets
from paddock.cli.cluster.places import build_cluster
from paddock.client.kubeconfig import read_config

class Ended(Exception): ...

def show(_):
    print(type(asyncio.get_running_loop()).__module__)
    raise Ended

class Telling(logging.Handler):
    def emit(self, record):
        if "the console of" in record.getMessage():
            print(type(asyncio.get_running_loop()).__module__)
            os.kill(os.getpid(), signal.SIGTERM)

kubeconfig, home = sys.argv[1], Home(Path(sys.argv[2]), Path(sys.argv[2]))
"""
ONE_USER = """
place = build_cluster(read_config(kubeconfig, "a"), "a", kubeconfig)
try:
    consoles.serve_user(place, "/", 0, show)
except Ended:
    pass
"""
SEVERAL = """
try:
    fleets.serve_fleet(["a"], kubeconfig, home, 0, "/", show)
except Ended:
    pass
"""
READERS = """
logging.getLogger("paddock.console").addHandler(Telling())
assert consoles.serve_readers(kubeconfig, "a", consoles.Serving(Address("127.0.0.1", 0))) == 0
"""


@pytest.mark.parametrize(
    "serve",
    [ONE_USER, *(pytest.param(each, marks=pytest.mark.slow) for each in (SEVERAL, READERS))],
    ids=["one user", "several clusters", "readers"],
)
@pytest.mark.slow
def test_it_is_the_one_in_which_a_half_handshake_takes_little_memory(serve: str, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    clusters = [{"name": "one", "cluster": {"server": "http://127.0.0.1:1"}}]
    contexts = [{"name": "a", "context": {"cluster": "one"}}]
    kubeconfig.write_text(json.dumps({"clusters": clusters, "contexts": contexts}))
    words = [sys.executable, "-c", BEGIN + serve, str(kubeconfig), str(tmp_path)]
    environment = {**os.environ, "PADDOCK_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    ended = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert (ended.returncode, ended.stdout) == (0, "uvloop\n"), ended.stderr
