"""Why is the GPU not used, and why are there other processes than devices?

One process trains on one card. `--devices` are labels of CUDA_VISIBLE_DEVICES, not indexes of it (PaddlePaddle 3.3.1).
With a wheel for CPUs the launcher still counts CUDA_VISIBLE_DEVICES, starts as many processes and tells them of no
backend, so that none of them is in a group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from paddock.doctor import signs
from paddock.doctor.asked import CPU, GPU, RoleAsked
from paddock.doctor.case import Case, build_command, place, place_all
from paddock.doctor.findings import Finding, Severity
from paddock.doctor.launch_block import PADDLE, LaunchLog
from paddock.words.phrases import Phrase, counted, phrase

_NOT_FOUND = re.compile(r"Device not found (?P<label>\S*) from (?P<labels>\S*) for setting ?(?P<visible>.*)")
_WHEEL = 'python -c "import paddle; print(paddle.version.cuda()); paddle.utils.run_check()"'
_GPU_WHEEL = "pip install paddlepaddle-gpu -i https://www.paddlepaddle.org.cn/packages/stable/cu126/"
_TORCH = 'python -c "import torch; print(torch.version.cuda, torch.cuda.is_available())"'


def check_devices(case: Case) -> Iterator[Finding]:
    yield from _check_labels(case)
    yield from _check_cpu_wheel(case)
    yield from _check_driver(case)
    yield from _check_environment(case)
    yield from _check_processes(case)
    yield from _check_variables(case)


def _check_labels(case: Case) -> Iterator[Finding]:
    found = case.find(signs.DEVICE_NOT_FOUND)
    if not found:
        return
    _name, log, sign = found[0]
    match = _NOT_FOUND.search(sign.text)
    visible = list(re.findall(r"\d+", match["visible"])) if match else []
    labels = match["labels"] if match else "?"
    if not visible:
        yield Finding(
            "cpu-wheel-with-devices",
            Severity.WRONG,
            place_all(found),
            phrase("{asked} was asked for, and this PaddlePaddle sees no device", asked=_tell_asked(log, labels)),
            phrase("a wheel for CPUs sees none, and neither does one for GPUs on a machine without a driver"),
            _mend_devices(log),
            _GPU_WHEEL if case.machine.gpus else _build_command(log, _without_devices(labels)),
        )
        return
    yield Finding(
        "devices-are-labels",
        Severity.WRONG,
        place_all(found),
        phrase(
            "{asked} was asked for, and CUDA_VISIBLE_DEVICES shows {visible} alone",
            asked=_tell_asked(log, labels), visible=",".join(visible),
        ),
        phrase("--devices names cards by their number on the machine, of those that CUDA_VISIBLE_DEVICES shows"),
        phrase("name visible cards, or leave --devices out: the launcher takes all that are visible"),
        _build_command(log, {"devices": ",".join(visible)}),
    )  # fmt: skip


def _find_variable(log: LaunchLog) -> str:
    """The variable that won over --devices; empty where none did."""
    found = log.find_overridden("devices")
    return found.variable if found else ""


def _tell_asked(log: LaunchLog, labels: str) -> str:
    variable = _find_variable(log)
    return f"{variable}={labels}" if variable else f"--devices {labels}"


def _mend_devices(log: LaunchLog) -> Phrase:
    if variable := _find_variable(log):
        return phrase(
            "unset {variable}, which wins over --devices, or install the PaddlePaddle of the device that it names; "
            "for CPUs write --nproc_per_node",
            variable=variable,
        )  # fmt: skip
    return phrase("install paddlepaddle-gpu; for CPUs write --nproc_per_node in place of --devices")


def _build_command(log: LaunchLog, changes: Mapping[str, str]) -> str:
    command, variable = build_command(log, changes), _find_variable(log)
    return f"env -u {variable} {command}" if variable else command


def _without_devices(labels: str) -> dict[str, str]:
    return {"devices": "", "nproc_per_node": str(len(labels.split(",")))}


def _check_cpu_wheel(case: Case) -> Iterator[Finding]:
    """A wheel for CPUs that is asked for what a GPU does, by the program or by CUDA_VISIBLE_DEVICES."""
    if found := case.find(signs.NO_CUDA):
        torch = any(word in found[0][2].text for word in ("NCCL built in", "Torch", "torch._C"))
        yield Finding(
            "cpu-wheel-asked-for-gpu",
            Severity.WRONG,
            place_all(found),
            phrase("the program asks for a GPU or NCCL, and its framework is a wheel for CPUs"),
            phrase("a wheel for CPUs has no CUDA; a program that catches the error trains nothing and ends with 0"),
            phrase("install the wheel for GPUs, or let the program train on the CPU (backend gloo)"),
            _TORCH if torch else _WHEEL,
        )
        return
    alone = [
        (name, log, sign) for name, log, sign in case.find(signs.NO_GROUP)
        if log.watching and log.watching.count > 1 and not log.argument("devices") and not log.sign(signs.NOT_PARALLEL)
    ]  # fmt: skip
    if alone:
        _name, log, _ = alone[0]
        count = log.watching.count if log.watching else 0
        yield Finding(
            "cpu-wheel-with-visible-devices",
            Severity.WRONG,
            place_all(alone),
            phrase("{count} processes were started, one for each visible device, and none is in a group", count=count),
            phrase("with a wheel for CPUs the launcher counts CUDA_VISIBLE_DEVICES and sets no backend: gradients are "
                   "not exchanged"),
            phrase("install paddlepaddle-gpu, or unset CUDA_VISIBLE_DEVICES and say how many processes to start"),
            "env -u CUDA_VISIBLE_DEVICES -u XPU_VISIBLE_DEVICES "
            + build_command(log, {"nproc_per_node": str(count)}),
        )  # fmt: skip


def _check_driver(case: Case) -> Iterator[Finding]:
    if found := case.find(signs.OLD_DRIVER):
        yield Finding(
            "driver-too-old",
            Severity.WRONG,
            place_all(found),
            phrase("the machine's NVIDIA driver is older than the CUDA of the wheel"),
            phrase("the wheel's CUDA does not start on it, and nothing trains on the GPU"),
            phrase("update the driver, or install the wheel of an older CUDA"),
            "nvidia-smi",
        )
    elif found := case.find(signs.NO_DRIVER):
        yield Finding(
            "gpu-wheel-without-gpu",
            Severity.WRONG,
            place_all(found),
            phrase("the wheel is for GPUs, and this machine has no NVIDIA driver, or shows no GPU"),
            phrase("PaddlePaddle then trains on the CPU without an error; PyTorch ends when it is asked for CUDA"),
            phrase("see that nvidia-smi lists the GPU where the program runs; in Docker, start with --gpus all"),
            "nvidia-smi",
        )


def _check_environment(case: Case) -> Iterator[Finding]:
    """Compares the devices that a job asks for with the wheel of its environment."""
    asked = [role for role in case.asked.roles if role.device and role.device.name == "GPU"]
    if asked and case.asked.wheel == CPU:
        yield Finding(
            "cpu-wheel-on-gpu-machine",
            Severity.WRONG,
            ", ".join(role.name for role in asked),
            counted(
                "the job asks for {count} GPU for each rank, and {environment} has a wheel for CPUs",
                "the job asks for {count} GPUs for each rank, and {environment} has a wheel for CPUs",
                count=asked[0].devices, environment=case.asked.environment or "?",
            ),
            phrase("the GPUs are reserved for the job, and it trains on the CPU"),
            phrase("take an image, or an environment, with paddlepaddle-gpu or a torch for CUDA"),
            "paddock env list",
        )  # fmt: skip
    elif case.asked.wheel == GPU and case.asked.roles and not asked:
        yield Finding(
            "gpu-wheel-without-gpu",
            Severity.RISK,
            case.asked.job,
            phrase("{environment} has a wheel for GPUs, and the job asks for none", environment=case.asked.environment),
            phrase("on a cluster a container that asks for no GPU gets none, and the program trains on the CPU"),
            phrase("ask for nvidia.com/gpu in the limits of the container that trains"),
            case.asked.edit,
        )


def _check_processes(case: Case) -> Iterator[Finding]:
    """One process for each card: of the block's own words, and of what a job asks for."""
    for name, log in case.logs.items():
        pod = log.watching or log.run
        if pod is None or log.launcher != PADDLE or (log.job and log.job.mode == "ps"):
            continue
        wanted, why = _count_wanted(log, case.asked.role_of(name))
        if wanted is None or wanted == pod.count:
            continue
        few = pod.count < wanted
        yield Finding(
            "processes-are-not-devices",
            Severity.WRONG,
            place(name, pod.line),
            phrase("{wanted} were asked for by {why}, and the node has {count} processes",
                   wanted=wanted, why=why, count=pod.count),
            phrase("one process trains on one card: the other cards stay idle") if few
            else phrase("one process trains on one card: several processes share a card, or have none"),
            phrase("see that all cards are visible (nvidia-smi, CUDA_VISIBLE_DEVICES), and that the wheel is for GPUs"),
            'nvidia-smi -L; echo "CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES"',
        )  # fmt: skip
        return


def _count_wanted(log: LaunchLog, role: RoleAsked | None) -> tuple[int | None, str | Phrase]:
    if log.argument("nproc_per_node").isdecimal():
        return int(log.argument("nproc_per_node")), f"--nproc_per_node {log.argument('nproc_per_node')}"
    if labels := [each for each in log.argument("devices").split(",") if each]:
        return len(labels), f"--devices {log.argument('devices')}"
    if role and role.device and role.devices:
        return role.devices, phrase("the job ({count} {device} a rank)", count=role.devices, device=role.device.name)
    return None, ""


def _check_variables(case: Case) -> Iterator[Finding]:
    """Finds a template of a job that sets which devices its program sees, beside a resource that says how many."""
    for role in case.asked.roles:
        variable = role.device.variable if role.device else ""
        if variable and variable in role.variables:
            value = role.variables[variable]
            yield Finding(
                "visible-devices-are-set",
                Severity.RISK if value else Severity.WRONG,
                role.name,
                phrase('the template sets {variable} to "{value}"', variable=variable, value=value),
                phrase(
                    "the device plug-in sets it to the devices that the pod is given; others end the launcher, and an "
                    "empty value leaves one process without a device"
                ),
                phrase("remove the variable from the template"),
                case.asked.edit,
            )
            return
