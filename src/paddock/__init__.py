"""Paddock: training jobs for PaddlePaddle, from one laptop to a Kubernetes fleet, from one YAML file."""

__version__ = "0.1.0"
