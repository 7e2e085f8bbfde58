"""Sentences that other parts of a cluster write into events, pods, claims and conditions, as texts of the catalogues.

The node of the local cluster may not know this room, and the API has their text alone. `words.messages` recognises
a message by these texts, with any value in a placeholder, and renders it in the reader's language. A message that is in
no table here or in `words.scheduler`, and is no sentence of `phrase`, stays English.

Sources: kubelet and kube-scheduler; `paddock.node` (kubelet, runtime, volumes), `paddock.operator`,
`paddock.environments`.
"""

from __future__ import annotations


def _sentence(text: str) -> str:
    return text


KNOWN = (
    # kube-scheduler and kubelet, in the words of both worlds
    _sentence("Successfully assigned {pod} to {node}"),
    _sentence("Started container {name}"),
    _sentence("Created container {name}"),
    _sentence("Created container: {name}"),
    _sentence("Stopping container {name}"),
    _sentence('Pulling image "{image}"'),
    _sentence('Successfully pulled image "{image}" in {time}'),
    _sentence('Container image "{image}" already present on machine'),
    _sentence('Failed to pull image "{image}": {why}'),
    _sentence('Back-off pulling image "{image}"'),
    _sentence("Back-off restarting failed container {name} in pod {pod}"),
    _sentence("back-off {time} restarting failed container={name} pod={pod}"),
    _sentence("Pod was active on the node longer than the specified deadline"),
    _sentence("Error: {failure}"),
    _sentence('container "{name}" in pod "{pod}" is waiting to start: {why}'),
    # the local cluster's kubelet
    _sentence("the cluster was stopped while the pod was running"),
    _sentence("the machine or the cluster was stopped while the pod was running, so nobody saw how it ended"),
    _sentence("how it ended cannot be read: {why}"),
    _sentence("waiting for the address of {names}"),
    _sentence("{message} (a bug of Paddock; see cluster.log)"),
    _sentence(
        "no command: the container has neither command nor args, and image {image} brings none; set "
        "spec.containers[].command"
    ),
    _sentence('{kind} "{name}" not found'),
    _sentence("couldn't find key {key} in {kind} {name}"),
    _sentence("fieldPath {path} is not supported; supported are {names} and labels['…']"),
    _sentence("Permission denied: {path}"),
    _sentence("No space left on device: {path}"),
    # a fault of the machine (`node.runtime.machine_faults`)
    _sentence("the disk of {path} is full: make room on it; it is tried again by itself"),
    _sentence("the quota of the disk of {path} is used up: make room or raise it; it is tried again by itself"),
    _sentence(
        "{path} is on a disk that is mounted read-only: mount it writable (see dmesg for why); it is tried again by "
        "itself"
    ),
    _sentence("the disk of {path} fails with an input/output error: see dmesg; it is tried again by itself"),
    _sentence(
        "the cluster has as many files open as it may: raise the limit (ulimit -n) and restart it; it is tried again "
        "by itself"
    ),
    _sentence("this machine has as many files open as it may: raise fs.file-max (sysctl); it is tried again by itself"),
    _sentence(
        "the machine or the cluster was stopped while the pod was running, so nobody saw how it ended; the disk of "
        "{path} is full, which may be why its end is not in that file"
    ),
    _sentence("{path} cannot be written"),
    _sentence(
        "readOnly is not enforced without a sandbox: container {name} can write to {path} all the same; install "
        "bubblewrap to have it"
    ),
    # volumes
    _sentence("volumeMounts: volume {name} is not in spec.volumes ({names})"),
    _sentence("volume {name}: {kind} is not supported on this machine ({names} are); {hint}"),
    _sentence("a hostPath names a directory of this machine"),
    _sentence("volume {name}: hostPath type check failed: {path} is not a directory"),
    _sentence("volume {name}: hostPath type check failed: {path} is not a file"),
    _sentence(
        "volume {name}: the directory {path} of persistentvolumeclaim {claim} does not exist; make it: {command}"
    ),
    _sentence("{source} is not mounted on a laptop; the claim uses the directory {path}; put files for its pods there"),
    _sentence(
        "no PersistentVolume fits, so one was made; the claim uses the directory {path}; put files for its pods there"
    ),
    _sentence("bound to PersistentVolume {name}; the claim uses the directory {path}; put files for its pods there"),
    _sentence("no PersistentVolume fits ({refusals}), {why}"),
    _sentence("cannot be bound as it is written: {why}"),
    _sentence("cannot be placed as it is written: {why}"),
    _sentence('PersistentVolume "{name}", which volumeName names, does not exist (there is {names})'),
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
    # environments, beside `ENVIRONMENTS`
    _sentence("building ({subject}), {phase}, {percent} %"),
    _sentence("building ({subject}), {phase}, {percent} %, {speed}, {seconds} s left"),
    _sentence("building ({subject}), {percent} %"),
    _sentence("building ({subject}), {percent} %, {speed}, {seconds} s left"),
    _sentence("resolving"),
    _sentence("installing"),
    _sentence("verifying"),
    _sentence("retrying"),
    _sentence("downloading"),
    _sentence("building"),
    _sentence("the environments of this machine are being read"),
    _sentence('annotation {name}: no Environment "{wanted}" exists; did you mean {near}?'),
    _sentence('annotation {name}: no Environment "{wanted}" exists; there are: {names}'),
    _sentence("building failed, by a fault of Paddock: {why}"),
    _sentence("the program uv, which builds environments, was not found: {command}"),
    _sentence("this machine is on no network, and {subject} has to be fetched once: connect it, then ask again"),
    _sentence(
        "{subject} needs at least {needed} on the disk, and {free} are free where {path} is: free some space, or set "
        "XDG_CACHE_HOME to a directory with more"
    ),
    _sentence("no Python was found for {subject}"),
    _sentence("no Python here suits {subject}, found {names}"),
    _sentence("Python {version} is too new for {subject}"),
    _sentence("Python {version} is too old for {subject}"),
    _sentence("Python {version} or later"),
    _sentence("any Python"),
    _sentence("it ended without a word"),
    _sentence("{unsuitable}, and uv knows no {allowed} for this machine: check spec.python"),
    _sentence("{unsuitable}, and {name} could not be fetched from {host} ({why}): {remedy}"),
    _sentence("{unsuitable}, and uv does not find the {name} that it fetched"),
    _sentence(
        "install {allowed} ({how}), or set UV_PYTHON_INSTALL_MIRROR to a mirror of uv's Pythons that can be reached "
        "from here"
    ),
    _sentence("{command}, or pyenv"),
    _sentence("with your system's packages, or pyenv"),
    _sentence(
        "{subject} needs the library {library}, which this machine lacks, and no wheel with it was fetched ({why}): "
        "{remedy}"
    ),
    _sentence("run `{command}` ({distribution})"),
    _sentence("install the package of {distribution} that has {thing}"),
    _sentence("{subject} has no wheel for this machine's platform: {why}"),
    _sentence("{subject} has no wheel for Python {version} (it has for {others}): install another Python"),
    _sentence("its own build script failed"),
    _sentence("{machine} with musl (Alpine)"),
    _sentence(
        'image "{image}" stands for no environment on this machine; environments here: none. Add an Environment whose '
        "spec.images match it (kubectl create -f), or name one in the pod's annotation paddock.dev/environment"
    ),
    # the machine and its sandbox
    _sentence("{cpus} CPUs, {memory}, no GPU"),
    _sentence("{cpus} CPU, {memory}, no GPU"),
    _sentence("bubblewrap (bwrap) is not installed"),
    _sentence("bubblewrap does not start: {why}"),
    _sentence("exit code {code}"),
)

ENVIRONMENTS = (
    # while it is built
    _sentence("waiting for another build of {subject}"),
    _sentence("{subject}, the network failed: try {count} of {most}"),
    _sentence("building {subject} failed: {why}"),
    _sentence("building ({subject})"),
    _sentence("fetching {subject}"),
    _sentence("{subject} is built when a pod needs it"),
    _sentence("the programs of this machine; nothing to build"),
    _sentence("torch {version} for CPUs, from {place}, Python {python}, {size}"),
    _sentence("torch {version} for CPUs, Python {python}, {size}"),
    _sentence("torch {version} for GPUs, from {place}, Python {python}, {size}"),
    _sentence("torch {version} for GPUs, Python {python}, {size}"),
    _sentence("torch {version} for CPUs, from {place}"),
    _sentence("torch {version} for GPUs, from {place}"),
    _sentence("torch {version} for CPUs"),
    _sentence("torch {version} for GPUs"),
    # why it cannot be built
    _sentence("the disk is full: free some space where {path} is, or set XDG_CACHE_HOME to a directory with more"),
    _sentence(
        "cannot write {file}: {why}; environments are kept under {path}: make it writable, or set XDG_CACHE_HOME to a "
        "directory that is"
    ),
    _sentence(
        "permission denied: {why}; make {path} and uv's cache (UV_CACHE_DIR) writable, or set XDG_CACHE_HOME to a "
        "directory that is"
    ),
    _sentence(
        "the proxy does not let the package index through: check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or the proxy "
        "of pip's settings (`pip config list`)"
    ),
    _sentence(
        "torch {version} of the package index is built for CUDA, {size} to download, and this machine has no GPU; no "
        "build for CPUs was found (asked: {places}): set PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS to a place that has "
        "one, or ask for CUDA: `{command}`"
    ),
    _sentence(
        "{package} of the package index does not work with torch {version} ({why}), and {build} was not found: set "
        "PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS to a place that has it, or ask for CUDA, {size} to download: `{command}`"
    ),
    _sentence("{place} has a build of torch for CPUs, and none for Python {version}"),
    _sentence(
        "{place}, which has the build {name} of PyTorch, did not answer: check the network, or ask for what the "
        "package index has: `{command}`"
    ),
    _sentence("the package index of spec.indexURL{where} did not answer: check the network, and the URL"),
    _sentence(
        "the package index did not answer{where}: check the network, or set UV_DEFAULT_INDEX or PIP_INDEX_URL to an "
        "index that can be reached from here"
    ),
    _sentence(
        "the package index's certificate is not trusted here: set PIP_CERT or SSL_CERT_FILE to a file with your "
        "organisation's certificates"
    ),
    _sentence(
        "the package index refused access: check the user name and password in its URL (UV_DEFAULT_INDEX, "
        "PIP_INDEX_URL), in ~/.netrc, or in the Environment's spec.indexURL"
    ),
    _sentence("git did not reach {host}, which has {packages}: check the network, and the URL"),
    _sentence("the program git, which fetches {packages}, is missing: {install}"),
    _sentence("uv works offline here and has not all of {packages}: unset UV_OFFLINE for the first build"),
    _sentence("Python {version} is too new for {subject}: install {allowed}"),
    _sentence("Python {version} is too old for {subject}: install {allowed}"),
    _sentence("{subject} has no wheel for Python {version}: install another Python"),
    _sentence("{subject} has no wheel for {machine}: it has wheels for {machines}; use {other}"),
    _sentence(
        "spec.requirements: the package index of spec.indexURL does not have {package}: check the name, and the URL"
    ),
    _sentence("spec.requirements: no package index here has {package}: check the name, or set spec.indexURL"),
    _sentence("spec.requirements ({packages}) cannot be met: {why}"),
    _sentence("spec.requirements: {packages} exclude each other ({why}): change one of them"),
    _sentence("spec.requirements: {packages} exclude each other: change one of them"),
    _sentence("spec.requirements: there is no {package}, only {others}: change the version"),
    _sentence("spec.requirements: there is no {package} in the package index of spec.indexURL: change the version"),
    _sentence("spec.requirements: there is no {package}: change the version; `{command}` lists those that exist"),
    _sentence("spec.requirements: {package} is not what you mean: write {other}"),
    _sentence(
        "{subject} has no wheel for Python {version} on this machine and has to be compiled, and this machine has no "
        "compiler: {install}"
    ),
    _sentence(
        "{subject} has no wheel for Python {version} on this machine and does not compile: {file} is missing; run "
        "{command}, or choose a version that has a wheel"
    ),
    _sentence(
        "{subject} has no wheel for Python {version} on this machine and does not compile: {file} is missing; install "
        "{thing}, or choose a version that has a wheel"
    ),
    _sentence(
        "{subject} has no wheel for Python {version} on this machine and does not compile: {file} is missing; choose a "
        "version that has a wheel, or install the development package that has this file"
    ),
    _sentence(
        "{subject} has no wheel for Python {version} on this machine and could not be built: {why}; choose a version "
        "that has a wheel"
    ),
    _sentence("spec.requirements: not a requirement: {why}; found {found}, wanted the form name==1.2 or name>=1,<2"),
    _sentence("{subject} was installed but does not pass the environment's check (spec.verify): {why}"),
    _sentence("{subject} was installed, but the check (spec.verify) had not ended after {seconds} s"),
    _sentence("a distribution with glibc (Debian, Ubuntu, Fedora)"),
    _sentence("one of these machines"),
    _sentence(" (tried {count} times)"),
    # the image stands for none
    _sentence(
        'image "{image}" stands for no environment on this machine; {there}. Add an Environment whose spec.images '
        "match it (kubectl create -f), or name one in the pod's annotation paddock.dev/environment"
    ),
    _sentence("environments here: "),
    _sentence("near ones: "),
)
"""About Environments: one that is built, or cannot be. `words.environments` looks for them at any place of a
message, the first one first."""

ENVIRONMENT_NAMED = _sentence("environment {name}: {what}")
"""Looked for last, as {what} may be any other sentence."""
