"""States that a laptop has not: of nodes, schedulers, images and quotas of a cluster.

What an operator, a scheduler and kubelets would have written is written here, at fixed times (`support.demo`).
"""

from __future__ import annotations

from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.home import Home
from paddock.jobs.model import Phase
from support.demo import NOW, PADDLE, Clock, Written, build_manifest, write_job, write_nodes, write_steps

FLEET = (
    Written(
        "wants-a-scheduler",
        True,
        12,
        {"Master": 1, "Worker": 7},
        Phase.PENDING,
        "WaitingForScheduler",
        {"pods": 8, "wanted": 8, "message": "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."},
        ready=0,
        gpus=1,
    ),
    Written(
        "wants-its-image",
        False,
        5,
        {"worker": 2},
        Phase.PENDING,
        "ImageUnavailable",
        {"rank": "worker-0", "message": 'Back-off pulling image "registry.example.com/train:nightly"'},
        ready=0,
    ),
    Written(
        "wants-its-group",
        True,
        20,
        {"Master": 1, "Worker": 3},
        Phase.PENDING,
        "WaitingForPodGroup",
        {"pods": 4, "wanted": 4, "name": "wants-its-group", "phase": "Inqueue", "message": "queue gold is full"},
        ready=0,
    ),
    Written(
        "over-its-quota",
        False,
        7,
        {"worker": 2},
        Phase.PENDING,
        "QuotaExceeded",
        {
            "objects": ["Pod over-its-quota-worker-0"],
            "quota": "small",
            "pods": 2,
            "fits": 0,
            "never": False,
            "names": ["requests.cpu"],
            "asked": ["1"],
            "used": ["4"],
            "hard": ["4"],
            "message": "",
        },
        ready=0,
        pods=False,
    ),
    Written(
        "refused",
        False,
        7,
        {"worker": 2},
        Phase.PENDING,
        "ObjectsRefused",
        {"objects": ["Pod refused-worker-0"], "message": 'admission webhook "policy.example.com" denied the request'},
        ready=0,
        pods=False,
    ),
    Written(
        "fetches",
        False,
        3,
        {"worker": 1},
        Phase.PENDING,
        "WaitingForDataset",
        {"dataset": "imagenet", "percent": 41, "done": 3_200_000_000, "total": 7_800_000_000, "message": ""},
        ready=0,
        pods=False,
    ),
    Written(
        "lost-a-node",
        True,
        61,
        {"Master": 1, "Worker": 1},
        Phase.STARTING,
        "PodsLost",
        {"ranks": ["worker-0"], "why": "NodeLost", "loss": 2, "limit": 8, "delay": 20},
        attempt=2,
        ready=1,
    ),
    Written(
        "lost-a-pod",
        False,
        61,
        {"worker": 2},
        Phase.STARTING,
        "PodsDeleted",
        {"ranks": ["worker-1"]},
        attempt=1,
        ready=1,
    ),
    Written(
        "on-a-silent-node",
        False,
        44,
        {"worker": 2},
        Phase.RUNNING,
        "NodeSilent",
        {"ranks": ["worker-0"], "nodes": ["node-1"], "state": "Unknown", "moment": int(NOW - 90)},
    ),
    Written(
        "resized", True, 31, {"Master": 1, "Worker": 3}, Phase.STARTING, "Resized", {"wanted": 4}, attempt=1, ready=0
    ),
    Written(
        "shrunk",
        True,
        31,
        {"Master": 1, "Worker": 3},
        Phase.STARTING,
        "GangShrunk",
        {"role": "worker", "size": 2, "wanted": 4, "least": 2, "most": 4, "seconds": 60},
        attempt=1,
        ready=0,
    ),
    Written(
        "out-of-memory",
        False,
        90,
        {"worker": 2},
        Phase.FAILED,
        "RankFailed",
        {"ranks": ["worker-1"], "code": 137, "memory": True, "memory_used": "2.0 GiB", "memory_limit": "2.0 GiB"},
        ready=0,
        logs={("worker-0", 0): write_steps(0, 60), ("worker-1", 0): write_steps(0, 60)},
    ),
    Written(
        "evicted",
        False,
        90,
        {"worker": 2},
        Phase.FAILED,
        "RankFailed",
        {"ranks": ["worker-1"], "code": 137, "evicted": True, "message": "The node was low on resource: memory."},
        ready=0,
    ),
    Written(
        "hangs",
        True,
        90,
        {"Master": 1, "Worker": 1},
        Phase.FAILED,
        "JobSilent",
        {"seconds": 600, "who": ["master-0, worker-0"], "places": ["all_reduce, train.py:88"]},
        ready=0,
        logs={("master-0", 0): write_steps(0, 60)},
    ),
)
UNSEEN = Written("unseen", False, 10, {"worker": 1}, Phase.NONE)
"""No operator has written a status."""


async def write_fleet(api: LocalApi, home: Home) -> None:
    await write_nodes(api)
    for each in FLEET:
        await write_job(api, home, Clock(NOW), each)
    await api.create(PADDLE, build_manifest(UNSEEN))
