"""Where the programs of pods are: the stacks of their Pythons, taken when somebody asks. Linux only.

processes   which processes a container has, and which of them are Python
dumps       the two ways to a stack: py-spy, which looks from outside, and faulthandler, which the program has by
            Paddock's own module (`environments.stacks`)
taking      the stacks of a pod, for the API (`kube.pod_stacks`)
"""
