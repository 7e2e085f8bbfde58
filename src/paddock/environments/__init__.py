"""Image -> Python environment and start command, on a machine without a container engine.

    definition   an Environment object as a value, its content key (pure)
    images       image names against patterns (pure)
    indexes      pip's settings as uv's (pure)
    pythons      which interpreter suits; the search for them
    managed_pythons  the interpreter that uv fetches where none suits
    libraries    what the packages load from the system and a bare machine lacks, from a wheel
    distributions  the command that installs what a machine lacks, by distribution (pure)
    circumstances  what a failed build may have depended on
    disk         whether a download will fit
    progress     uv's terminal output as per cent (pure)
    failures     uv's errors as sentences, and what they depend on (pure)
    uv           runs uv, again where the network failed
    terminal     one child process on a terminal of its own
    directories  what lies on disk
    builder      builds once, by content, shared by all clusters of a user
    states       what is known of one Environment, as its status and as an answer (pure)
    library      `Environments`: answers the kubelet, follows the objects    <- start reading here
    crd, defaults, seeding   the kind, and the environments of the documents' images

The node's question is `paddock.node.images`; `paddock.app.images` joins the two.
"""
