"""Into a pod that runs here: a program beside its own (exec), what its own prints (attach), its ports (port-forward).

node_streams   what a client asks for, what stands in the way, how many there may be
programs       a program of exec: how it is started, its end, what is left when its client goes
enter          the start program, which enters the container's namespaces; it runs in a process of its own
channels       the pipes or the terminal of a program, and how long what it wrote is waited for
attached       the log of a container from now on
listeners      who listens on a port, and whether a connection would reach the pod
connections    connections to a port of a pod
"""
