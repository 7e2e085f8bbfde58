"""Modules of Python and packages of PyPI, by what they stand for: PaddlePaddle, PyTorch, JAX, or none of them. Pure.

A module of a framework itself decides. A library that is built on one (Hugging Face's Trainer on PyTorch) stands for it
only where no framework is named. What is in none of these tables is not known: it may bring a framework with it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tables:
    """The modules of one framework."""

    own: frozenset[str]
    """The framework itself, and packages of its project."""
    built_on: frozenset[str] = frozenset()
    """Libraries that import it in any case."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


MODULES: Mapping[str, Tables] = {
    "paddle": Tables(
        _names("paddle"),
        _names(
            "paddle3d paddlefleet paddleformers paddlehub paddlemix paddlenlp paddleocr paddlerec paddleseg "
            "paddleslim paddlespeech paddlets paddlevideo paddlex parl pgl ppcls ppdet ppdiffusers ppocr pprndr "
            "ppsci"
        ),
    ),
    "pytorch": Tables(
        _names("torch torchvision torchaudio functorch"),
        _names(
            "accelerate allennlp axolotl bitsandbytes botorch clip colossalai composer deepspeed detectron2 "
            "diffusers easyocr effdet espnet espnet2 fairseq fairseq2 fastai fla flair flash_attn gpytorch ignite "
            "kornia lightly lightning lightning_fabric litgpt llamafactory lpips megatron mmaction mmcls mmcv mmdet "
            "mmdet3d mmengine mmocr mmpose mmpretrain mmrotate mmseg mmyolo modelscope monai nemo nnunetv2 "
            "open_clip openrlhf peft pl_bolts pyannote pyro pytorch3d pytorch_forecasting pytorch_lightning "
            "pytorch_metric_learning pytorch_msssim pytorch_tabnet ray_lightning recbole "
            "segmentation_models_pytorch sentence_transformers simpletransformers skorch speechbrain "
            "stable_baselines3 streaming swift tianshou timm torch_geometric torch_scatter torch_sparse torch_xla "
            "torchao torchdata torchdiffeq torcheval torchinfo torchio torchmetrics torchrec torchrl torchsde "
            "torchsummary torchtext torchtitan torchtune transformers trl ultralytics unsloth verl vllm whisper "
            "xformers yolov5 yolox"
        ),
    ),
    "jax": Tables(
        _names("jax jaxlib"),
        _names(
            "blackjax brax chex clu diffrax distrax equinox flax grain haiku jaxopt levanter maxtext numpyro objax "
            "optax orbax paxml praxis t5x trax"
        ),
    ),
}
"""By the key of `script.kinds.SCRIPT_KINDS`."""

OF_NONE = _names(
    "absl albumentations anthropic attr attrs bokeh boto3 bs4 cachetools catboost category_encoders click "
    "cloudpickle comet_ml Crypto cupy cv2 cython dask datasets dateutil decord dill dotenv duckdb einops ensurepip "
    "evaluate faiss feature_engine filelock fire fsspec gensim gin git google graphviz gym gymnasium h5py "
    "huggingface_hub hydra imageio imblearn imgaug ipdb IPython ipywidgets jieba jittor joblib jsonlines keras "
    "keras_cv keras_hub keras_nlp keras_tuner lightgbm lmdb loguru lxml matplotlib mindspore ml_collections mlflow "
    "mlxtend more_itertools mpi4py msgpack multiprocess munch mxnet natsort neptune networkx nibabel nltk numba "
    "numexpr numpy nvidia_smi omegaconf oneflow onnx onnxruntime openai openpyxl optuna orjson packaging paddock "
    "pandas patsy PIL pip pkg_resources plotly polars prettytable prophet psutil pyarrow pycocotools pydantic "
    "pydicom pynvml pyspark pytest pytz rasterio ray regex requests rich ruamel sacrebleu safetensors scikitplot "
    "scipy seaborn sentencepiece setuptools shap shapely SimpleITK simplejson six skimage sklearn sklearnex skopt "
    "soundfile spacy sqlalchemy statsmodels swanlab tabulate tensorboard tensorboardX tensorflow "
    "tensorflow_datasets tensorflow_hub tensorflow_probability termcolor textdistance tifffile tiktoken tinygrad "
    "tokenizers toml tomli toolz tqdm trimesh tsfresh typer typing_extensions ujson umap unidecode visualdl wandb "
    "wheel xarray xgboost xlrd xlsxwriter yacs yaml yapf zarr zmq zstandard"
)
"""Modules that need none of the frameworks; some (datasets, einops, wandb, ray) work with any, and some (TensorFlow,
MindSpore) are frameworks of which no job is made here."""

_OF_GROUPS = _names(
    "dask jittor keras keras_cv keras_hub keras_nlp keras_tuner lightgbm mindspore mpi4py mxnet oneflow pyspark ray "
    "tensorflow tinygrad xgboost"
)
"""Of those, some make groups of their own."""


@dataclass(frozen=True, slots=True)
class Reads:
    """The variables by which a library finds the other ranks of a program that no launcher of its own starts."""

    rank: tuple[str, ...] = ()
    """Its own number among all processes; empty where it is counted from the others."""
    node: tuple[str, ...] = ()
    """The number of its machine, or pod."""
    local: tuple[str, ...] = ()
    """Its number, and how many there are, on its machine."""
    world: tuple[str, ...] = ()
    """How many processes there are."""
    place: tuple[str, ...] = ("MASTER_ADDR", "MASTER_PORT")
    """Where they meet."""

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.rank, *self.node, *self.local, *self.world, *self.place)


_TORCH = Reads(("RANK",), world=("WORLD_SIZE",))
_LIGHTNING = Reads(node=("NODE_RANK", "GROUP_RANK"), local=("LOCAL_RANK",))
_ACCELERATE = Reads(("RANK",), local=("LOCAL_RANK",), world=("WORLD_SIZE",))
READS: Mapping[str, Reads] = {
    "torch": _TORCH,
    "lightning": _LIGHTNING,
    "lightning_fabric": _LIGHTNING,
    "pytorch_lightning": _LIGHTNING,
    "accelerate": _ACCELERATE,
    "transformers": _ACCELERATE,
    "deepspeed": _ACCELERATE,
    "composer": Reads(("RANK",), ("NODE_RANK",), ("LOCAL_RANK", "LOCAL_WORLD_SIZE"), ("WORLD_SIZE",)),
    "horovod": Reads(("HOROVOD_RANK",), local=("HOROVOD_LOCAL_RANK",), world=("HOROVOD_SIZE",), place=()),
    "tensorflow": Reads(place=("TF_CONFIG",)),
}
"""Module -> what it reads. Sources, read on 2026-11-27: lightning_fabric 2.6, plugins/environments/lightning.py (the
num_nodes and devices of its Trainer say how many there are); accelerate 1.15, state.py; transformers 5.24,
training_args.py; deepspeed 0.19, comm/comm.py; composer 0.32, utils/dist.py; of torch, Horovod and TensorFlow their
documents.
`jax.distributed.initialize` reads none and is handed what it needs (`script.jax_job`)."""
SET_FOR_SEVERAL = frozenset(
    ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "GROUP_RANK", "NODE_RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"]
)
"""What each of several workers of a PyTorchJob of a typed command has."""

ON_ACCELERATE = _names(
    "accelerate axolotl diffusers llamafactory peft sentence_transformers swift transformers trl unsloth"
)
"""Libraries whose training finds the other ranks by accelerate."""

COMMANDS: Mapping[str, str] = {
    "axolotl": "axolotl", "colossalai": "colossalai", "lightning": "lightning", "litgpt": "litgpt",
    "llamafactory-cli": "llamafactory", "megatron": "swift", "mim": "mmengine",
    "nnUNetv2_train": "nnunetv2", "paddleocr": "paddleocr",
    "paddlex": "paddlex", "swift": "swift", "torchfrtrace": "torch", "transformers": "transformers",
    "trl": "trl", "tune": "torchtune", "vllm": "vllm", "whisper": "whisper", "yolo": "ultralytics",
}  # fmt: skip
"""Programs that packages bring -> the module that is behind them. `megatron` is ms-swift's."""

START_TORCHRUN = _names("llamafactory-cli megatron swift")
"""Those that start torchrun by themselves, with NNODES, NODE_RANK, NPROC_PER_NODE, MASTER_ADDR and MASTER_PORT as its
options; without NNODES for one machine (LLaMA-Factory, launcher.py; ms-swift, cli/main.py)."""

BRING_NOTHING = _names(
    "[ awk basename cat cd chmod clear cp curl cut date df dirname du echo env exit export false find free getconf "
    "git grep gunzip gzip head hostname htop id kill killall ln ls lscpu lsof md5sum mkdir mktemp mv nproc nvcc "
    "nvidia-smi pip pip3 pkill printenv printf ps pwd read rm rmdir rsync sed seq set sha256sum sleep sort "
    "ssh-keygen stat sync tail tar tee test top touch tr true type ulimit umask uname uniq unset unzip wait wc wget "
    "which whoami xargs zip"
)
"""Programs of a shell script that train nothing."""

_STANDARD = frozenset(sys.stdlib_module_names)

_MODULE_OF = {
    "paddlepaddle": "paddle", "paddlepaddle-gpu": "paddle", "paddlepaddle-xpu": "paddle", "paddlepaddle-dcu": "paddle",
    "paddledet": "ppdet", "paddleclas": "ppcls", "paddlesci": "ppsci", "scikit-learn": "sklearn",
    "opencv-python": "cv2", "opencv-python-headless": "cv2", "opencv-contrib-python": "cv2", "pillow": "PIL",
    "pyyaml": "yaml", "scikit-image": "skimage", "python-dotenv": "dotenv", "python-dateutil": "dateutil",
    "beautifulsoup4": "bs4", "mosaicml": "composer", "mosaicml-streaming": "streaming", "open-clip-torch": "open_clip",
    "openai-whisper": "whisper", "pytorch-ignite": "ignite", "hydra-core": "hydra", "imbalanced-learn": "imblearn",
    "faiss-cpu": "faiss", "faiss-gpu": "faiss", "absl-py": "absl", "umap-learn": "umap", "dm-haiku": "haiku",
    "pyro-ppl": "pyro", "torch-geometric": "torch_geometric", "nvidia-ml-py": "pynvml", "pyzmq": "zmq",
    "keras-core": "keras", "tensorflow-cpu": "tensorflow", "tf-nightly": "tensorflow", "nemo-toolkit": "nemo",
    "scikit-optimize": "skopt", "protobuf": "google", "attrs": "attr", "gitpython": "git", "pycryptodome": "Crypto",
    "orbax-checkpoint": "orbax", "jax-cuda12-plugin": "jax", "megatron-core": "megatron", "mmcv-full": "mmcv",
}  # fmt: skip
"""Packages whose module has another name, in the form of `environments.requirements.requirement_name`."""


def find_module(package: str) -> str:
    """The module of a package: `scikit-learn` -> `sklearn`. `package`: in lower case with dashes."""
    return _MODULE_OF.get(package) or package.replace("-", "_")


def is_known(module: str, requirements: Set[str]) -> bool:
    """Whether it is known of a module that is no file of the user's what it stands for. `requirements`: in the form of
    `write_plain`, the modules of the packages that the user names, which bring no framework that they do not name."""
    listed = any(module in each.own or module in each.built_on for each in MODULES.values())
    return module in _STANDARD or module in OF_NONE or listed or write_plain(module) in requirements


def is_alone(module: str) -> bool:
    """Whether it is known of a module that it makes no group of processes by itself. A library that is built on a
    framework may: Lightning, accelerate, Hugging Face's Trainer."""
    own = any(module in each.own for each in MODULES.values())
    return module in _STANDARD or own or module in OF_NONE - _OF_GROUPS


def find_frameworks(modules: Collection[str]) -> tuple[str, ...]:
    """The frameworks of these modules, in the order of `MODULES`: those that are imported themselves, else those on
    which a library is built. TensorFlow beside such a library is what that library works with."""
    found = tuple(name for name, each in MODULES.items() if not each.own.isdisjoint(modules))
    if found or "tensorflow" in modules:
        return found
    return tuple(name for name, each in MODULES.items() if not each.built_on.isdisjoint(modules))


def write_plain(name: str) -> str:
    """The form in which a package and its module are often the same: `My-Trees` and `my_trees` -> `mytrees`."""
    return re.sub(r"[-_.]+", "", name).lower()
