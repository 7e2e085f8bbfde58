"""What is not carried, and what says it instead: sentences that several tools share, each with {option}. Pure."""

from __future__ import annotations

from paddock.words.phrases import Phrase, phrase

NO_OPTION = phrase("{option} is left out: no option of `paddock run` says it")
REQUESTS = phrase("{option} is left out: --cpus N and --memory SIZE say what each rank asks for")
SHARED_MEMORY = phrase(
    "{option} is left out: a job with GPUs has the node's memory at /dev/shm; sizeLimit of its emptyDir bounds it"
)
NODE_SELECTOR = phrase("{option} is left out: nodeSelector of the manifest's pods says it")
VOLUMES = phrase("{option} is left out: volumes of the manifest's pods say it")
TIMEOUT = phrase("{option} is left out: `paddock run --timeout TIME` suspends a job that takes longer")
RESTARTS = phrase("{option} is left out: --restarts N starts a job again that has failed")
CODE = phrase("{option} is left out: a job starts in your directory, or in that of --workdir")
LOGS = phrase("{option} is left out: `paddock logs` keeps what each rank prints")
UNKNOWN = phrase("{option} is left out: a shell fills it in, and its value does not stand here")
LEAST = phrase("{option}: the job has the least of the two; a number that changes is elasticPolicy of a manifest")
GPUS = phrase("{option} becomes --gpus {count}: a cluster gives the GPUs that its nodes have")


def say(sentence: Phrase, option: str, **args: int) -> Phrase:
    return phrase(sentence.text, option=option, **args)


def explain_alone(option: str, starter: str, count: int) -> Phrase:
    """For a batch job of several machines whose script starts its program on the first one alone."""
    return phrase(
        "{option}: the job has one worker, as no {starter} starts the program elsewhere; --workers {count} has more",
        option=option, starter=starter, count=count,
    )  # fmt: skip
