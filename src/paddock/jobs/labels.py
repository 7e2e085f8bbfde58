"""Labels and annotations of ours, on jobs, their pods and ConfigMaps, and the operators' Lease: one place for each.

Those that an API group brought (`paddle-res-name`, `training.kubeflow.org/…`) are with that group (`jobs.apis`).
"""

from __future__ import annotations

# Labels and annotations of ours. On pods; selectors and other tools may rely on them.
JOB_LABEL = "paddock.dev/job"
ROLE_LABEL = "paddock.dev/role"
INDEX_LABEL = "paddock.dev/index"
ATTEMPT_LABEL = "paddock.dev/attempt"
PORT_ANNOTATION = "paddock.dev/port"
"""On pods: first of the block of ports that the operator chose for the job (`PORTS_IN_BLOCK` of them)."""
WOKEN_ANNOTATION = "paddock.dev/woken"
"""On pods: the ConfigMap that a kubelet was told of, as it had looked for it too early (`policies.wake`)."""
ADDRESSES_ANNOTATION = "paddock.dev/addresses"
"""On ConfigMaps: a mark of the addresses that it was made from (`jobs.objects`)."""

# Annotations that a job may carry.
SUBSTITUTE_ANNOTATION = "paddock.dev/substitute"
"""`"false"`: what is written is run, also where something else would do what was meant (`jobs.substitutions`)."""
HALTED_ANNOTATION = "paddock.dev/halted"
"""Written by the operator: why it does nothing for this job, where the status has no room for it."""
WORKING_DIRECTORY_ANNOTATION = "paddock.dev/working-directory"
"""On a laptop: the directory, by its absolute path, in which the job's programs start (`jobs.pods`)."""

# Annotations of the Lease, by whoever leads.
VERSION_ANNOTATION = "paddock.dev/version"
SETTINGS_ANNOTATION = "paddock.dev/settings"
"""JSON of how it was started (`app.cluster.build_notes`)."""

ENVIRONMENT_ANNOTATION = "paddock.dev/environment"
"""On a laptop: the Environment that the job's pods run in, whatever their images. The annotation of this name in a pod
template wins for its role (`jobs.pods`)."""
