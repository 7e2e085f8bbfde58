"""The kubelet: keeps the pods that are bound to this machine as the API says, and tells the API how they are.

One pass over one pod is: plan (`paddock.node.pod_plan`, pure), write the status if it differs, then signal, start,
remove. A pass runs when something has happened to that pod, never by the clock alone but for what the plan asked to be
woken for. Passes over one pod never overlap; an exception in one is that pod's back-off and nobody else's.

The address is written before anything is started, as an operator's ConfigMap of endpoints waits for all addresses. The
rest is coalesced: a pod that runs for less than `_SETTLE` seconds is never shown as running.

Left out: probes (a container that runs is ready), lifecycle hooks, memory limits by cgroup, sidecars (restartable init
containers), environment variables of Services.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from paddock.kube.api import Api, Event
from paddock.kube.errors import Conflict, NotFound
from paddock.kube.meta import PODS, SERVICES, Manifest, Resource, name_of, namespace_of, uid_of
from paddock.node import processes
from paddock.node.containers import Containers, find_container
from paddock.node.endings import Strays
from paddock.node.images import Images
from paddock.node.logs import NodeLogs, remove_orphaned_logs
from paddock.node.machine import Machine
from paddock.node.names import address_of
from paddock.node.neighbours import FOLLOWED, Neighbours
from paddock.node.notices import build_notice, publish
from paddock.node.pod_events import COMPONENT, PodEvents
from paddock.node.pod_plan import PodPlan, is_terminal, plan_pod
from paddock.node.pod_state import LOST, Ending, Obstacle, PodState, Run
from paddock.node.pod_status import build_status_patch
from paddock.node.pod_table import KnownPod, PodTable, is_older, read_place
from paddock.node.processes import Exits, Process
from paddock.node.records import Records
from paddock.node.runs import Runs
from paddock.node.sandbox import Sandbox
from paddock.node.starts import CREATE_ERROR, Starts
from paddock.node.turns import Gathered, Turns
from paddock.node.volumes import explain_unenforced

READ_ONLY = "ReadOnlyNotEnforced"
STOPPED_MESSAGE = "the cluster was stopped while the pod was running"

_SETTLE = 0.05  # seconds after a start in which a program that ends at once does so
_SOON = 0.02
_RETRY = 5.0  # seconds until what is in a container's way on this machine is looked at again

_log = logging.getLogger(__name__)


class Kubelet:
    """Runs the pods of one machine. `directory` holds records, scratch directories and logs; one kubelet at a time."""

    def __init__(
        self,
        api: Api,
        images: Images,
        directory: Path,
        machine: Machine,
        *,
        sandbox: Sandbox,
        clock: Callable[[], float] = time.time,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._api = api
        self._images = images
        self._machine = machine
        self._sandbox = sandbox
        self._clock = clock
        self._directory = directory
        self._records = Records(directory)
        containers = Containers(
            self._records,
            images,
            sandbox,
            outer=os.environ if environment is None else environment,
            capacity={"cpu": machine.cpus, "memory": Fraction(machine.memory)},
            hides_gpus=bool(machine.gpus),
        )
        self._runs = Runs(self._records, sandbox)
        self._pods = PodTable()
        self._neighbours = Neighbours(self._on_neighbour)
        self._starts = Starts(self._pods, self._neighbours, containers, machine.gpus, binds=sandbox.binds)
        self._exits = Exits()
        self._strays = Strays(lambda uid, container: self._pods.find_run(uid, container) is not None)
        self._boot = processes.read_boot()
        self._turns = Turns(self._turn)
        self._events = PodEvents(api, self._pods, clock)
        self._hosts = Gathered(0.05, self._write_hosts)
        self._old_logs = Gathered(1.0, self._remove_old_logs)
        self._stopping = False
        self._stopped = asyncio.Event()
        self._nothing_runs = asyncio.Event()
        self._adopted = False
        self.logs = NodeLogs(directory, self._may_print)

    async def run(self) -> None:
        """Until it is cancelled or stopped. When it is only cancelled, the pods go on, for the next one to adopt."""
        try:
            await self._adopt()
            async with asyncio.TaskGroup() as group:
                tasks = []
                for resource in FOLLOWED:
                    synced = asyncio.Event()
                    tasks.append(group.create_task(self._neighbours.follow(self._api, resource, synced)))
                    await synced.wait()
                tasks += [group.create_task(self._follow_pods()), group.create_task(self._follow_images())]
                await self._stopped.wait()
                for task in tasks:
                    task.cancel()
        finally:
            self._exits.close()
            self._turns.close()
            self._hosts.close()
            self._events.close()
            self._old_logs.close()

    async def stop(self, grace: float) -> None:
        """End every pod: SIGTERM, and SIGKILL after `grace` seconds or the pod's own period, whichever is less.

        They become Failed with reason Lost, as nobody but the cluster's user wanted it. `run` returns then.
        """
        self._stopping = True
        for pod in self._pods:
            if pod.state is not None and pod.running:
                ending = pod.state.ending or Ending(LOST, STOPPED_MESSAGE, self._clock())
                self._keep(pod, replace(pod.state, ending=replace(ending, grace=grace)))
                self._turns.wake(pod.uid)
        self._look_whether_nothing_runs()
        try:
            async with asyncio.timeout(grace + 10):
                await self._nothing_runs.wait()
                await self._turns.wait_until_idle()
            for pod in self._pods:  # also of those that only wait to be restarted
                self._tidy(pod)
        except TimeoutError:
            _log.warning("pods could not be ended: %s", ", ".join(sorted(pod.uid for pod in self._pods if pod.running)))
        finally:
            self._stopped.set()

    # What happens: a fact is taken in, and the pods that it may concern are woken.

    def _may_print(self, uid: str, container: str, number: int) -> bool:
        """The API answers before pods are adopted: until then a followed log is not at its end."""
        return not self._adopted or self._pods.is_running(uid, container, number)

    async def _adopt(self) -> None:
        """Take over what an earlier kubelet has started: wait for what still runs, settle what has ended meanwhile."""
        for uid, state in self._records.load().items():
            pod = self._pods.add(KnownPod(uid, state=state))
            for run in state.running:
                if state.boot == self._boot and self._runs.is_alive(run):
                    self._watch(pod, run)
                else:
                    self._settle(pod, run, seen=False)
        self._adopted = True
        await asyncio.gather(*(self._strays.end(uid) for uid in self._pods.uids))

    async def _follow_pods(self) -> None:
        async for event in self._api.follow(PODS, fields=f"spec.nodeName={self._machine.name}"):
            if event.type != "SYNCED":
                self._on_pod(event)
                continue
            for pod in self._pods:
                pod.gone = pod.gone or pod.manifest is None
                self._turns.wake(pod.uid)
            self._old_logs.ask()

    async def _follow_images(self) -> None:
        while True:
            await self._images.changed()
            self._wake_waiting("")

    def _on_pod(self, event: Event) -> None:
        uid = uid_of(event.object)
        pod = self._pods.get(uid)
        if event.type == "DELETED":
            self._on_name(event)
            if pod is not None:
                pod.gone = True
                self._turns.wake(uid)
            return
        if pod is None:
            pod = self._pods.add(KnownPod(uid))
        if pod.manifest is not None and is_older(event.object, pod.manifest):
            return
        before, pod.manifest = pod.manifest, event.object
        if before is None or read_place(before) != read_place(event.object):
            self._on_name(event)
        self._turns.wake(uid)

    def _on_name(self, event: Event) -> None:
        """A pod has another address, or none any more: whoever waits for it may start, and hosts files change."""
        self._neighbours.take(PODS, event)
        self._hosts.ask()
        self._wake_waiting(namespace_of(event.object))

    def _on_neighbour(self, resource: Resource, namespace: str) -> None:
        if resource is SERVICES:
            self._hosts.ask()
        self._wake_waiting(namespace)

    def _wake_waiting(self, namespace: str) -> None:
        for pod in self._pods.waiting(namespace):
            self._turns.wake(pod.uid)

    def _watch(self, pod: KnownPod, run: Run) -> None:
        def ended() -> None:
            self._settle(pod, run)
            pod.strays = pod.strays or not self._runs.is_bound(run)
            self._turns.wake(pod.uid)

        self._exits.watch(Process(run.pid, run.birth), ended)

    def _settle(self, pod: KnownPod, run: Run, *, seen: bool = True) -> None:
        assert pod.state is not None
        ended = self._runs.settle(pod.manifest or {}, pod.state, run, self._clock(), seen=seen)
        self._keep(pod, pod.state.with_run(ended))
        self._look_whether_nothing_runs()

    def _look_whether_nothing_runs(self) -> None:
        if self._stopping and not any(pod.running for pod in self._pods):
            self._nothing_runs.set()

    # Passes

    async def _turn(self, uid: str) -> None:
        pod = self._pods.get(uid)
        if pod is None:
            return
        if pod.gone:
            await self._forget(pod)
        elif pod.manifest is not None:
            await self._pass(pod, pod.manifest)

    async def _pass(self, pod: KnownPod, manifest: Manifest) -> None:
        while pod.strays:  # another container may end while they are looked for
            pod.strays = False
            await self._strays.end(pod.uid)
        now = self._clock()
        state = self._accept(pod, manifest, now)
        plan = plan_pod(manifest, state, {}, now)
        if plan.ending is not None and state.ending is None:
            self._keep(pod, replace(state, ending=plan.ending))
        if plan.start and not self._stopping:
            plan = await self._start(pod, plan, now)
        self._signal(pod, plan)
        if plan.wake is not None:
            self._turns.wake_in(pod.uid, plan.wake - now)
        if not self._is_settling(pod, plan):
            manifest = await self._publish(pod, plan.status)
        if is_terminal(manifest) and not pod.running and not pod.tidy:
            self._tidy(pod)
        if plan.remove:
            await self._remove(manifest)

    def _accept(self, pod: KnownPod, manifest: Manifest, now: float) -> PodState:
        """What is known of the pod; at first sight it gets its address, and a record."""
        if pod.state is not None:
            return pod.state
        state = self._pods.plan_state(pod, manifest, now, self._boot)
        if not state.address:
            return state
        self._keep(pod, state)
        return state

    async def _start(self, pod: KnownPod, plan: PodPlan, now: float) -> PodPlan:
        """Start what the plan says; the plan that follows from how that went."""
        assert pod.manifest is not None
        assert pod.state is not None
        if address_of(pod.manifest) != pod.state.address:
            await self._publish(pod, plan.status)
        pod.obstacles = {}
        for start in plan.start:
            container = find_container(pod.manifest, start.container)
            answer = self._starts.start(pod, pod.manifest, container, start, now)
            if isinstance(answer, Obstacle):
                pod.obstacles[start.container] = answer
                continue
            self._keep(pod, answer)
            self._take_run(pod, answer.runs[start.container])
            if not self._sandbox.binds and (sentence := explain_unenforced(pod.manifest, container)):
                notice = build_notice(pod.manifest, READ_ONLY, sentence, now, component=COMPONENT, kind="Warning")
                await publish(self._api, notice)
        following = plan_pod(pod.manifest, pod.state, pod.obstacles, now)
        if any(obstacle.reason == CREATE_ERROR for obstacle in pod.obstacles.values()):
            retry = now + self._turns.back_off(pod.uid, _RETRY)
            following = replace(following, wake=min(following.wake or retry, retry))
        if following.start:  # a command that does not exist, under a policy that restarts at once
            self._turns.wake(pod.uid)
        return following

    def _take_run(self, pod: KnownPod, run: Run) -> None:
        """A container was started: a new program, to be told anew to end, and to be watched."""
        if run.running:
            pod.signalled.discard(run.container)
            pod.quiet_until = asyncio.get_running_loop().time() + _SETTLE
            self._watch(pod, run)

    def _signal(self, pod: KnownPod, plan: PodPlan) -> None:
        state = pod.state
        if state is None:
            return
        for name in plan.term:
            if name not in pod.signalled and self._runs.terminate(state, state.runs[name]):
                pod.signalled.add(name)
        for name in plan.kill:
            self._runs.kill(state, state.runs[name])
        if set(plan.term) - pod.signalled:
            asyncio.get_running_loop().call_later(_SOON, self._turns.wake, pod.uid)

    def _is_settling(self, pod: KnownPod, plan: PodPlan) -> bool:
        """Whether to wait before the status says Running, as the program may be about to end."""
        left = pod.quiet_until - asyncio.get_running_loop().time()
        if left <= 0 or plan.ending is not None or not pod.running:
            return False
        self._turns.wake_in(pod.uid, left)
        return True

    async def _publish(self, pod: KnownPod, status: Manifest) -> Manifest:
        """Write the status, if it differs; the object as it is then. Guarded by UID, as kubelet's own patches are."""
        known = pod.manifest
        assert known is not None
        patch = build_status_patch(known.get("status") or {}, status)
        if not patch:
            return known
        guarded = {"metadata": {"uid": pod.uid}, "status": patch}
        answer = await self._api.patch(PODS, namespace_of(known), name_of(known), guarded, subresource="status")
        if pod.manifest is None or not is_older(answer, pod.manifest):
            pod.manifest = answer
        self._events.ask(pod.uid)
        if read_place(known) != read_place(answer) and not pod.gone:
            self._on_name(Event("MODIFIED", answer))
        return pod.manifest

    async def _remove(self, manifest: Manifest) -> None:
        try:
            await self._api.delete(PODS, namespace_of(manifest), name_of(manifest), uid=uid_of(manifest), grace=0)
        except (NotFound, Conflict):
            return

    async def _forget(self, pod: KnownPod) -> None:
        """The object is gone: nothing of the pod may stay but the logs, and those only for its owner's sake."""
        if pod.state is not None and pod.running:
            for run in pod.running:
                self._runs.kill(pod.state, run)
            self._turns.wake_in(pod.uid, 0.1)
            return
        if pod.state is not None:
            await self._strays.end(pod.uid)
            self._tidy(pod)
            self._records.remove(pod.state)
        self._pods.remove(pod.uid)
        self._turns.forget(pod.uid)
        self._old_logs.ask()

    def _tidy(self, pod: KnownPod) -> None:
        """Remove what was made outside the pod's own directory, but not what other pods still use."""
        if pod.state is not None:
            self._records.remove_outside(pod.state, self._pods.used_by_others(pod))
        pod.tidy = True

    def _keep(self, pod: KnownPod, state: PodState) -> None:
        """Remember, and write it down; a full disk costs only what a crash before the next writing would lose."""
        pod.state = state
        self._records.try_save(state)

    # What many pods cause, and is done once for all

    async def _write_hosts(self) -> None:
        for pod in self._pods:
            if pod.manifest is not None and any(map(self._runs.is_bound, pod.running)):
                self._runs.write_hosts(pod.uid, self._neighbours.hosts(pod.manifest))

    async def _remove_old_logs(self) -> None:
        await remove_orphaned_logs(self._api, self._directory, self._pods.uids)
