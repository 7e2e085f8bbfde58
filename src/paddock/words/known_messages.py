"""Sentences that other programs write into events, pods, claims and conditions, as texts of the catalogues.

The API has their text alone. `words.messages` recognises a message by these texts, with any value in a placeholder, and
renders it in the reader's language. A sentence of `phrase` needs no row here: its text is in the catalogue by its call.
A message that is no such sentence, and in no table here or in `words.scheduler`, stays English.
"""

from __future__ import annotations


def _sentence(text: str) -> str:
    return text


KNOWN = (
    # a problem of a manifest, in status.cause and status.problem of a job
    _sentence("found {found}, {allowed} is allowed"),
    # kubelet
    _sentence("Created container {name}"),
    _sentence("Created container: {name}"),
    _sentence('Pulling image "{image}"'),
    _sentence('Successfully pulled image "{image}" in {time}'),
    _sentence('Container image "{image}" already present on machine'),
    _sentence('Failed to pull image "{image}": {why}'),
    _sentence('Back-off pulling image "{image}"'),
    # the operating system
    _sentence("Permission denied: {path}"),
    _sentence("No space left on device: {path}"),
    _sentence("exit code {code}"),
    # `kube.container_ends`, which knows no words; of what a probe or a hook has ended, a cause has the reason alone
    _sentence("used {used} of its limit of {most}"),
    _sentence("had {count} processes, and a container may have {most}"),
    _sentence("livenessProbe failed: {why}"),
    _sentence("livenessProbe failed {count} times in a row: {why}"),
    _sentence("startupProbe failed: {why}"),
    _sentence("startupProbe failed {count} times in a row: {why}"),
    _sentence("postStart hook failed: {why}"),
    _sentence("command {command} ended with exit code {code}"),
    # `kube.downward`, which knows no words
    _sentence("fieldPath {path} is not supported; supported are {names} and labels['…']"),
    _sentence("resourceFieldRef: container {name} is not one of the pod ({names})"),
    _sentence("resourceFieldRef: resource {name} is not supported (limits.cpu is)"),
    # `environments.distributions`, which is read before Paddock is installed
    _sentence("run `{command}` ({distribution})"),
    _sentence("install the package of {distribution} that has {thing}"),
    # the container that prepares a claim for outputs (`jobs.objects.outputs_program`)
    _sentence("resumes from the checkpoints of run {run}"),
    _sentence("nothing to resume: no earlier run of {job} has checkpoints in the claim {claim}"),
    _sentence("run {run} of {job} has no checkpoints in the claim {claim}"),
    _sentence("run {run} of {job} has no checkpoints in the claim {claim}; those that have some: {runs}"),
    _sentence("the claim {claim} is full ({why})"),
    _sentence("the claim {claim} cannot be prepared: {why}"),
    _sentence(
        "the image has no Python 3, which looks for the checkpoints of an earlier run in the claim {claim}: name an "
        "image that has it, or leave out --resume (the annotation paddock.dev/resume)"
    ),
    _sentence("the claim {claim} can be read only: name one that can be written to"),
    _sentence(
        "user {user} may not write into the claim {claim}, whose top directory is of user {owner} and group {group} "
        "with mode {mode}: set securityContext.fsGroup in the template of the job's pods, or let an administrator open "
        "the directory"
    ),
    # the operator
    _sentence("deleting pod {pod} by force: its grace is over, and its node {node} is gone"),
    _sentence("deleting pod {pod} by force: its grace is over, and its node {node} is lost: nothing is heard of it"),
    _sentence("the operator failed on this job, which is a bug of its own: {why}"),
    _sentence(
        "the API server drops {fields} of every {kind}: its CustomResourceDefinition is not the one of this operator. "
        "Nothing is done for this kind until that is installed: {command} installs the one of this operator"
    ),
    _sentence(
        "nothing is done for this job, as the CustomResourceDefinition of {kind} that is installed is somebody else's "
        "and drops what this operator records; {command} installs the one of this operator"
    ),
)
