"""What a process that stays imports at its start, though a short command imports it where it needs it.

`pip install -U` replaces the files of a package under a cluster, an operator or a console that runs. A module that is
imported at the first job would then be that of another version, or would not be there at all.
"""

from __future__ import annotations

from paddock.client import exec_credentials, exec_plugin, watch, watches
from paddock.jobs import causes
from paddock.jobs.apis import kubeflow_sentences, kubeflow_spec, paddlepaddle_spec
from paddock.jobs.frameworks import python_source
from paddock.jobs.sentences import explain
from paddock.kube.regex import automaton
from paddock.launches import containers, parser
from paddock.words import messages

RESIDENT = (
    automaton, causes, containers, exec_credentials, exec_plugin, explain, kubeflow_sentences, kubeflow_spec, messages,
    paddlepaddle_spec, parser, python_source, watch, watches,
)  # fmt: skip
