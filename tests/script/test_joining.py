"""Whether a program joins a process group without asking first for the variables of ranks: read from its text."""

from __future__ import annotations

import textwrap

import pytest

from paddock.script.joining import Joins, judge
from paddock.script.source import read_source

PROGRAMS: list[tuple[str, Joins, str]] = [
    ("it has nothing of a group", Joins.NEVER, "import torch\ntorch.ones(1)"),
    ("it joins at once", Joins.ALWAYS, "import torch.distributed as dist\ndist.init_process_group('gloo')"),
    (
        "as nanoGPT does",
        Joins.ASKS,
        """
        ddp = int(os.environ.get('RANK', -1)) != -1
        if ddp:
            init_process_group(backend=backend)
            local = int(os.environ['LOCAL_RANK'])
        else:
            world = 1
        """,
    ),
    (
        "in a method of a class, by a field that asked",
        Joins.ASKS,
        """
        class Trainer:
            def __init__(self):
                self.setup()
            def setup(self):
                self.several = int(os.environ.get('WORLD_SIZE', 1)) > 1
                if self.several:
                    init_process_group('nccl')
        Trainer()
        """,
    ),
    (
        "as torchvision's references do: a way out before it",
        Joins.ASKS,
        """
        def init_distributed_mode(args):
            if 'RANK' in os.environ and 'WORLD_SIZE' in os.environ:
                args.rank = int(os.environ['RANK'])
                args.gpu = int(os.environ['LOCAL_RANK'])
            elif hasattr(args, 'rank'):
                pass
            else:
                print('Not using distributed mode')
                return
            torch.distributed.init_process_group('nccl', args.url, world_size=args.size, rank=args.rank)
        def main(args):
            init_distributed_mode(args)
        if __name__ == '__main__':
            main(None)
        """,
    ),
    (
        "a function that is called under the condition",
        Joins.ASKS,
        "def setup():\n    dist.init_process_group()\nif int(os.getenv('WORLD_SIZE', '1')) > 1:\n    setup()",
    ),
    ("under `and`", Joins.ASKS, "'RANK' in os.environ and dist.init_process_group()"),
    ("under a ternary", Joins.ASKS, "x = dist.init_process_group() if 'RANK' in os.environ else None"),
    (
        "torch's own question",
        Joins.ASKS,
        "if torch.distributed.is_torchelastic_launched():\n    torch.distributed.init_process_group()",
    ),
    (
        "it asks, and one way joins without",
        Joins.ALWAYS,
        "r = os.environ.get('RANK')\ndef setup():\n    dist.init_process_group()\nif r:\n    setup()\nsetup()",
    ),
    (
        "a default for LOCAL_RANK is no question",
        Joins.ALWAYS,
        "local = int(os.environ.get('LOCAL_RANK', 0))\ndist.init_process_group('gloo')",
    ),
    (
        "whether a group is there already is no question",
        Joins.ALWAYS,
        "r = os.getenv('RANK')\nif not dist.is_initialized():\n    dist.init_process_group()",
    ),
    (
        "whether there is a GPU is no question",
        Joins.ALWAYS,
        "r = os.getenv('RANK')\nif not torch.cuda.is_available():\n    raise SystemExit\ndist.init_process_group()",
    ),
    (
        "main guard is no condition",
        Joins.ALWAYS,
        "r = os.getenv('RANK')\nif __name__ == '__main__':\n    dist.init_process_group()",
    ),
    ("an option that nobody asked", Joins.ALWAYS, "if args.distributed:\n    dist.init_process_group()"),
    (
        "what a decorator does with it is not known",
        Joins.ALWAYS,
        "r = os.getenv('RANK')\n@hydra.main()\ndef main(cfg):\n    dist.init_process_group()",
    ),
    (
        "handed on as a function",
        Joins.ALWAYS,
        "r = os.getenv('RANK')\ndef work(i):\n    dist.init_process_group()\nfire.Fire(work)",
    ),
    ("a read that fails without it", Joins.ALWAYS, "rank = int(os.environ['RANK'])"),
    ("a mesh joins a group", Joins.ALWAYS, "mesh = init_device_mesh('cpu', (1,))"),
    (
        "it sets the variables itself",
        Joins.NEVER,
        "os.environ.setdefault('RANK', '0')\nos.environ['WORLD_SIZE'] = '1'\ndist.init_process_group()",
    ),
    (
        "it says who it is and where they meet",
        Joins.NEVER,
        "os.environ['MASTER_ADDR'] = 'localhost'\ndist.init_process_group('gloo', rank=r, world_size=n)",
    ),
    (
        "at an address of its own",
        Joins.NEVER,
        "dist.init_process_group('gloo', init_method='tcp://127.0.0.1:2345', rank=0, world_size=1)",
    ),
    ("it says who it is, and MASTER_ADDR where", Joins.ALWAYS, "dist.init_process_group('gloo', rank=0, world_size=1)"),
]


@pytest.mark.parametrize(("case", "joins", "text"), PROGRAMS, ids=[case for case, _, _ in PROGRAMS])
def test_a_program_joins_a_group(case: str, joins: Joins, text: str) -> None:
    assert judge([read_source(textwrap.dedent(text).encode()).steps]) is joins


def test_what_one_file_asks_and_another_does_is_one_program() -> None:
    main = read_source(b"import setup\nif 'RANK' in os.environ:\n    setup.join()").steps
    other = read_source(b"def join():\n    dist.init_process_group()").steps
    assert judge([main, other]) is judge([other, main]) is Joins.ASKS
    assert judge([read_source(b"import setup\nsetup.join()").steps, other]) is Joins.ALWAYS


def test_a_program_that_is_too_deep_to_follow_may_join() -> None:
    deep = "if 'RANK' in e:\n    pass\n" + "elif x:\n    pass\n" * 5000
    source = read_source(deep.encode())
    assert not source.is_read or judge([source.steps]) is Joins.ALWAYS


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        ("import torch\nmodel = torch.nn.DataParallel(torch.nn.Linear(1, 1))\nmodel.eval()", False),
        ("import paddle\nnet = paddle.nn.Linear(1, 1)\n'trains a distributed system'", False),
        ("import torch.distributed as dist", True),
        ("from torch import distributed", True),
        ("import torch\nif torch.distributed.is_initialized(): pass", True),
        ("from torch.nn.parallel import DistributedDataParallel as DDP", True),
        ("import paddle.distributed as dist", True),
        ("import paddle\npaddle.Model(net).fit(data)", True),
        ("from paddle.distributed import fleet", True),
        ("import importlib\nimportlib.import_module(name)", True),
        ("getattr(torch, 'distributed')", True),
        ("exec(open('train.py').read())", True),
        ("import os\nrank = int(os.environ.get('RANK', 0))", True),
        ("import subprocess\nsubprocess.run(['torchrun', 'a.py'])", True),
    ],
)
def test_a_program_speaks_of_groups(text: str, speaks: bool) -> None:
    assert read_source(text.encode()).steps.speaks == speaks
