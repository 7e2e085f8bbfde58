"""A name that no package index has -> the package that was probably meant. Pure.

A package index cannot be asked for names that are near, so these are known here: packages that training scripts often
use, and those of modules with another name (`logs.modules`).
"""

from __future__ import annotations

import re

from paddock.kube.nearness import nearest
from paddock.logs.modules import PACKAGES

_OFTEN_USED = (
    "absl-py", "accelerate", "aiohttp", "albumentations", "boto3", "catboost", "click", "cloudpickle", "cupy",
    "datasets", "einops", "evaluate", "fastapi", "filelock", "flask", "fsspec", "gensim", "h5py", "httpx",
    "huggingface-hub", "imageio", "ipykernel", "jax", "jieba", "joblib", "jupyter", "keras", "librosa", "lightgbm",
    "lmdb", "matplotlib", "mlflow", "modelscope", "moviepy", "networkx", "nltk", "numba", "numpy", "nvidia-ml-py",
    "onnx", "onnxruntime", "openpyxl", "optuna", "orjson", "packaging", "paddle2onnx", "paddleclas", "paddlehub",
    "paddlenlp", "paddleocr", "paddlepaddle", "paddlepaddle-gpu", "paddleseg", "paddlespeech", "paddlex", "pandas",
    "peft", "plotly", "polars", "protobuf", "psutil", "pyarrow", "pycocotools", "pydantic", "pydub", "pymongo",
    "pymysql", "pytest", "pytorch-lightning", "ray", "redis", "regex", "requests", "rich", "safetensors", "scipy",
    "seaborn", "sentence-transformers", "sentencepiece", "seqeval", "setuptools", "shapely", "simplejson", "six",
    "soundfile", "spacy", "sqlalchemy", "statsmodels", "sympy", "tabulate", "tensorboard", "tensorboardx",
    "tensorflow", "termcolor", "tiktoken", "timm", "tokenizers", "torch", "torchaudio", "torchmetrics", "torchvision",
    "tqdm", "transformers", "ujson", "visualdl", "wandb", "wheel", "xgboost", "xlrd",
)  # fmt: skip


_LIKENESS = 0.8
"""Of a package that is meant: less would name another real one, as flask for flax."""


def find_meant(name: str) -> str:
    """`cv2` -> `opencv-python`, `numpyy` -> `numpy`; empty where nothing is near, and for a name that is known."""
    by_module = {module.casefold(): re.split("[<>=]", package)[0] for module, package in PACKAGES.items()}
    if package := by_module.get(name.casefold()):
        return package
    known = {*_OFTEN_USED, *by_module.values()}
    return "" if name.casefold() in known else nearest(name, sorted(known), least=_LIKENESS)
