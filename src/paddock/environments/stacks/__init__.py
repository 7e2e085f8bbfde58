"""What lets a program of any environment tell where it is, where the system lets nobody look into it.

    hook            puts `paddock_stacks` into an environment
    paddock_stacks  runs inside of environments: faulthandler, by a signal, into a file in memory

`node.stacks.dumps` sends the signal and reads the file (docs/decisions/0051-stacks.md).
"""
