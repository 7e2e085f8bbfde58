"""What a new job begins with: a manifest for each type, with comments that say what to change. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.script.paddle_job import COLLECTIVE_IMAGE
from paddock.script.pytorch_job import IMAGE
from paddock.words.phrases import Phrase, phrase, render


@dataclass(frozen=True, slots=True)
class Template:
    """A text to begin with."""

    title: Phrase  # the type's name, as the platform's dialog has it
    about: Phrase
    text: str
    """With its comments in English."""
    comments: tuple[Phrase, ...] = ()  # those of its text

    on_laptop: str = ""
    """The text where jobs run on this machine; empty where it is the same."""

    def write(self, language: str, *, on_laptop: bool = False) -> str:
        """The text with its comments in a language."""
        text = self.on_laptop if on_laptop and self.on_laptop else self.text
        for each in self.comments:
            text = text.replace(f"# {each}\n", f"# {render(each, language)}\n")
        return text


_SEVERAL = phrase("with two or more: command [python, -m, paddle.distributed.launch, train.py]")
_PADDLE = f"""\
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata:
  name: paddle-job
spec:
  worker:
    replicas: 1  # {_SEVERAL}
    template:
      spec:
        containers:
          - name: paddle
            image: {COLLECTIVE_IMAGE}
            command: [python, -c]
            args:
              - |
                import paddle

                paddle.utils.run_check()
            resources:
              requests: {{cpu: 1, memory: 2Gi}}
"""

_SCRIPT = """\
import os

                    print("rank", os.environ.get("RANK"), "of", os.environ.get("WORLD_SIZE"))"""


def _write_pytorch(name: str, *roles: str) -> str:
    return f"""\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: {name}
spec:
  pytorchReplicaSpecs:
""" + "".join(roles)


def _write_role(name: str, replicas: int, about: Phrase) -> str:
    return f"""\
    {name}:
      replicas: {replicas}  # {about}
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: pytorch
              image: {IMAGE}
              command: [python, -c]
              args:
                - |
                    {_SCRIPT}
              resources:
                requests: {{cpu: 500m, memory: 1Gi}}
"""


_OTHERS = phrase("with Worker beside it: ranks that train together")
_AGAIN = phrase("OnFailure: starts again what fails")
_DIRECTORY = phrase("where train.py lies: in the image, or where a volume is mounted")
_OWN_DIRECTORY = phrase("where train.py lies on this machine")
_SCRIPT_JOB = f"""\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1  # {_OTHERS}
      restartPolicy: Never  # {_AGAIN}
      template:
        spec:
          containers:
            - name: pytorch
              image: {IMAGE}
              command: [python, train.py]
              args: [--epochs=3]
              workingDir: /path/to/your/code  # {_DIRECTORY}
              resources:
                requests: {{cpu: 1, memory: 2Gi}}
"""

_OWN_SCRIPT_JOB = _SCRIPT_JOB.replace(f"              workingDir: /path/to/your/code  # {_DIRECTORY}\n", "").replace(
    "  name: train\n",
    f"  name: train\n  annotations:\n    {WORKING_DIRECTORY_ANNOTATION}: /path/to/your/code  # {_OWN_DIRECTORY}\n",
)

_ONE = phrase("one pod trains")
_FIRST, _OTHER_RANKS = phrase("rank 0, always one"), phrase("ranks 1 and 2")
_PASTE = phrase("Paste a manifest here.")

TEMPLATES: Mapping[str, Template] = {
    "paddle": Template(
        phrase("PaddlePaddle"), phrase("a PaddleJob: workers that train together"), _PADDLE, (_SEVERAL,)
    ),
    "pytorch-single": Template(
        phrase("PyTorch, single"),
        phrase("a PyTorchJob of one Master"),
        _write_pytorch("pytorch-single", _write_role("Master", 1, _ONE)),
        (_ONE,),
    ),
    "pytorch-distributed": Template(
        phrase("PyTorch, distributed"),
        phrase("a PyTorchJob of a Master and Workers"),
        _write_pytorch(
            "pytorch-distributed",
            _write_role("Master", 1, _FIRST),
            _write_role("Worker", 2, _OTHER_RANKS),
        ),
        (_FIRST, _OTHER_RANKS),
    ),
    "script": Template(
        phrase("Your own script"),
        phrase("python train.py, where its files are"),
        _SCRIPT_JOB,
        (_OTHERS, _AGAIN, _DIRECTORY, _OWN_DIRECTORY),
        _OWN_SCRIPT_JOB,
    ),
    "manifest": Template(
        phrase("A manifest"), phrase("YAML or JSON that you have already: paste it"), f"# {_PASTE}\n", (_PASTE,)
    ),
}
