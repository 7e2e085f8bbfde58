"""Image -> Python environment and start command, on a machine without a container engine.

    definition   an Environment object as a value, its content key (pure)
    manifests, changes   what somebody says of a new Environment, or of one that is there (pure)
    needed, sources, from_files   what it becomes by the requirements files that it is made of
    images       matches image names against patterns (pure)
    indexes      translates pip's settings to uv's (pure)
    pythons      finds and chooses the interpreter
    managed_pythons  downloads an interpreter with uv if none of the machine suits
    libraries    takes system libraries that the machine lacks from a wheel
    distributions  install commands by Linux distribution (pure)
    circumstances  the state of the machine that a failed build may depend on
    disk         checks the free disk space during a download
    progress     uv's terminal output as a percentage (pure)
    failures     uv's errors as sentences, and what each depends on (pure)
    uv           runs uv, with retries after network errors
    terminal     runs one child process on its own pseudo-terminal
    directories  the files of a built environment
    builder      builds each environment once by content, for all clusters of a user
    packages     the packages of PaddlePaddle and PyTorch (pure)
    pytorch      which build of torch, and what environments with it need
    states       the state of one Environment, as its status and as an answer (pure)
    library      `Environments`: watches the objects, answers the kubelet    <- start reading here
    crd, defaults, seeding   the kind, and the environments of the documents' images

The kubelet's interface is `paddock.node.runtime.images`; `paddock.app.images` connects it to this package.
"""
