"""Pods as processes of this machine: a scheduler and a kubelet that know no training jobs and use only `kube`."""
