"""What environments with PyTorch need beside those of others.

    builds            which build of torch to install: for CPUs, or with CUDA (pure)
    resolution        resolves the versions of an environment, and keeps CUDA off a machine without a GPU
    hook              puts `paddock_torch` and `paddock_torchrun` into an environment
    paddock_torch     runs inside of environments: gloo in place of nccl where no GPU is
    paddock_torchrun  the same: tells torchrun the exception that ended one of its processes

PyTorch's packages among others are in `environments.packages.torch`.
"""
