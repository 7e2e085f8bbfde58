"""The kubelet: runs the pods that are bound to this machine, and writes their status.

To reconcile a pod: plan (`node.kubelet.pod_plan`, pure), start, signal, write the status if it differs, clean up and
delete. A pod is reconciled when something has happened to it, or at the time that its last plan named. One pod is never
reconciled twice at the same time; an exception backs off this pod only.

Left out: probes by gRPC, environment variables of Services.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from paddock.controllers.events import EventRecorder, EventSink, build_event
from paddock.controllers.reflector import Reflector
from paddock.controllers.tasks import CoalescedTask, KeyedTasks
from paddock.kube.api import Api, Event
from paddock.kube.errors import Conflict, NotFound
from paddock.kube.held_pods import read_held
from paddock.kube.meta import PODS, SERVICES, Manifest, Resource, metadata, name_of, namespace_of, uid_of
from paddock.node.kubelet.care import Care
from paddock.node.kubelet.ends import Ends
from paddock.node.kubelet.excesses import Excesses
from paddock.node.kubelet.holds import Holds
from paddock.node.kubelet.neighbours import Neighbours
from paddock.node.kubelet.performing import RunInContainer, run_nothing
from paddock.node.kubelet.pod_events import COMPONENT, Note, PodEvents, build_cut, list_subjects
from paddock.node.kubelet.pod_plan import STOPPED_MESSAGE, PodPlan, grace_of, is_terminal, plan_pod
from paddock.node.kubelet.pod_status import build_status_patch
from paddock.node.kubelet.pod_table import KnownPod, PodTable, is_older, read_address_state
from paddock.node.kubelet.starts import Starts
from paddock.node.kubelet.stops import find_hook
from paddock.node.runtime import processes
from paddock.node.runtime.cgroups import NO_CGROUPS, Cgroups
from paddock.node.runtime.container_env import MakeToken
from paddock.node.runtime.containers import (
    Containers,
    Prepare,
    Provide,
    Tell,
    find_container,
    prepare_nothing,
    provide_nothing,
    tell_nobody,
)
from paddock.node.runtime.hosts import address_of
from paddock.node.runtime.images import Images
from paddock.node.runtime.inputs import Inputs
from paddock.node.runtime.logs import Keeps, NodeLogs, remove_orphaned_logs
from paddock.node.runtime.machine import Machine
from paddock.node.runtime.machine_faults import CREATE_ERROR, MACHINE_FAULT
from paddock.node.runtime.machine_view import read_view
from paddock.node.runtime.orphans import OrphanProcesses
from paddock.node.runtime.pod_state import LOST, Ending, Obstacle, PodState, Run
from paddock.node.runtime.processes import ExitWatcher, Process
from paddock.node.runtime.records import Records
from paddock.node.runtime.runs import Runs, Trace
from paddock.node.runtime.sandbox import Sandbox

_TRACE = 0.02  # seconds until a process is looked for again that an earlier kubelet has just started
_SETTLE = 0.05  # seconds after a start until Running is written: a program that ends at once is never shown as running
_GO_ON = 0.1  # seconds until the processes are looked for again that live on after the first of their container
_TERM_RETRY = 0.02  # seconds until SIGTERM is sent again to a container whose program has not started yet
_RETRY = 5.0  # seconds until a container is tried again that could not be created on this machine

_log = logging.getLogger(__name__)


class Kubelet:
    """Runs the pods of one machine. `directory`: records, scratch directories and logs; for one kubelet at a time."""

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
        cgroups: Cgroups = NO_CGROUPS,
        enforces_limits: Callable[[], bool] = lambda: False,
        hidden: Iterable[Path] = (),
        read_only: Iterable[Path] = (),
        keeps_logs: Keeps = lambda *_: False,
        prepare: Prepare = prepare_nothing,
        provide: Provide = provide_nothing,
        tell: Tell = tell_nobody,
        make_token: MakeToken | None = None,
        run_in_container: RunInContainer = run_nothing,
    ) -> None:
        """`hidden`, `read_only`: paths that pods in a sandbox do not see, or cannot change, besides `read_view`'s.
        `keeps_logs`: as in `remove_orphaned_logs`; `prepare`, `provide`, `tell`: as in `Containers`;
        `enforces_limits`: as in `Excesses`. `make_token`: for volumes that project one. `run_in_container`: for probes
        and hooks that run a command."""
        environment = os.environ if environment is None else environment
        self._api = api
        self._images = images
        self._machine = machine
        self._sandbox = sandbox
        self._clock = clock
        self._directory = directory
        self._keeps_logs = keeps_logs
        self._records, self._cgroups, self.inputs = Records(directory), cgroups, Inputs()
        containers = Containers(
            self._records,
            images,
            sandbox,
            inherited=environment,
            capacity={"cpu": machine.cpus, "memory": Fraction(machine.memory)},
            hides_gpus=bool(machine.gpus),
            cgroups=cgroups,
            inputs=self.inputs,
            view=read_view(environment, os.getuid(), hidden=(directory, *hidden), read_only=read_only),
            prepare=prepare,
            provide=provide,
            tell=tell,
        )
        self._runs = Runs(self._records, sandbox, cgroups, self.inputs)
        self.logs = NodeLogs(directory, self._log_may_grow)
        self._ends = Ends(self._records, self._runs, self.logs.look)
        self._pods = PodTable()
        self.list_running = self._pods.list_running
        self.recall_run = self._pods.recall_run
        self._neighbours = Neighbours(api, self._on_neighbour, make_token)
        self._reflector = Reflector(
            api, PODS, self._on_pod, fields=f"spec.nodeName={machine.name}", on_synced=self._on_all_pods
        )
        self._starts = Starts(self._pods, self._neighbours, containers, self._runs, machine.gpus, sandbox, directory)
        self._exits = ExitWatcher()
        self._orphans = OrphanProcesses(self._is_open)
        self._holds = Holds(self._pods, self._records, self._runs, sandbox, cgroups, clock, self._orphans.kill)
        self.enter_held = self._holds.enter
        self._boot = processes.read_boot()
        self._tasks = KeyedTasks(self._reconcile)
        self._sink = EventSink(api, counts=False)
        self.excesses = Excesses(
            self._pods, self._records, self._runs, cgroups, self._sink, enforces=enforces_limits, clock=clock
        )
        self._events = PodEvents(self._sink, self._pods, clock)
        self._recorder = EventRecorder(api, clock, COMPONENT)
        self._care = Care(self._change_run, self._tasks.wake, self._recorder.publish, run_in_container, clock)
        self._hosts = CoalescedTask(0.05, self._write_hosts)
        self._old_logs = CoalescedTask(1.0, self._remove_old_logs)
        self._stopping = False
        self._stopped, self._all_ended = asyncio.Event(), asyncio.Event()
        self._adopted = False

    async def run(self) -> None:
        """Runs until it is cancelled or stopped. After a cancel the pods run on, and the next kubelet adopts them."""
        try:
            await self._adopt()
            async with asyncio.TaskGroup() as group:
                tasks = []
                # Before pods: with an empty cache, a ConfigMap that exists would be reported as missing.
                for informer in self._neighbours.informers:
                    tasks.append(group.create_task(informer.run()))
                    await informer.synced.wait()
                works = (self._reflector.run(), self._follow_images(), self._recorder.run())
                tasks += [group.create_task(work) for work in works]
                await self._stopped.wait()
                for task in tasks:
                    task.cancel()
        finally:
            self._exits.close()
            self.inputs.close()
            self._holds.close()
            self._care.close()
            self._tasks.close()
            self._hosts.close()
            self._events.close()
            self._old_logs.close()
            self._cgroups.close()
            self.excesses.close()

    async def stop(self, grace: float) -> None:
        """Ends every pod: SIGTERM, and SIGKILL after `grace` seconds or the pod's grace period, whichever is less.

        The pods become Failed with reason Lost, as their end is not the programs' fault. Then `run` returns.
        """
        self._stopping = True
        for pod in self._pods:
            if pod.state is not None and pod.running:
                ending = pod.state.ending or Ending(LOST, STOPPED_MESSAGE, self._clock())
                self._save(pod, replace(pod.state, ending=replace(ending, grace=grace)))
                self._tasks.wake(pod.uid)
        self._check_all_ended()
        try:
            async with asyncio.timeout(grace + 10):
                await self._all_ended.wait()
                await self._tasks.wait_until_idle()
            for pod in self._pods:  # also pods without a process, which wait for a restart
                await self._release(pod)
            await self._holds.end_all()
        except TimeoutError:
            _log.warning("pods could not be ended: %s", ", ".join(sorted(pod.uid for pod in self._pods if pod.running)))
        finally:
            self._stopped.set()

    # Inputs: each is recorded, and wakes the pods that may depend on it.

    def _log_may_grow(self, uid: str, container: str, number: int) -> bool:
        """Whether the log of this run may still grow."""
        # Logs are served before pods are adopted: until then, nobody knows what has ended.
        return not self._adopted or self._pods.is_running(uid, container, number)

    async def _adopt(self) -> None:
        """Takes over the containers of an earlier kubelet: watches the running ones, records the end of the others."""
        for uid, state in self._records.load().items():
            pod = self._pods.add(KnownPod(uid, state=state, adopted=True))
            for run in state.running:
                # Birth times count from boot, so after a reboot another process may have the same PID and birth.
                if state.boot != self._boot:
                    self._record_end(pod, run, seen=False)
                elif run.pid:
                    self._take_over(pod, run)
            self._tasks.wake(uid)  # for the starts without a known process
        self._adopted = True
        self._cgroups.sweep([(pod.uid, run) for pod in self._pods for run in pod.running])
        await asyncio.gather(*(self._orphans.kill(uid) for uid in self._pods.uids))

    def _is_open(self, uid: str, container: str) -> bool:
        """Whether processes of the container may live."""
        return self._pods.find_run(uid, container) is not None or self._holds.is_open(uid, container)

    def _trace(self, pod: KnownPod) -> bool:
        """Takes over what has come of starts without a known process. False if some are not known yet: a little later
        they are."""
        for run in pod.untraced:
            assert pod.state is not None
            found = self._runs.trace(pod.state, run)
            if found is Trace.STARTING:
                self._tasks.wake_in(pod.uid, _TRACE)
            elif found is Trace.NOTHING:
                self._save(pod, pod.state.without_run(run))
            elif found is Trace.ENDED:
                self._record_end(pod, run, seen=False)
            else:
                known = replace(run, pid=found.pid, birth=found.birth)
                self._save(pod, pod.state.with_run(known))
                self._take_over(pod, known)
        return not pod.untraced

    def _take_over(self, pod: KnownPod, run: Run) -> None:
        if self._runs.is_alive(run):
            self._watch(pod, run)
        else:
            self._end(pod, run, seen=False)

    def _on_all_pods(self) -> None:
        """The first list of pods is complete: a recorded pod that is not in it has been deleted."""
        for pod in self._pods:
            pod.gone = pod.gone or pod.manifest is None
            self._tasks.wake(pod.uid)
        self._old_logs.ask()

    async def _follow_images(self) -> None:
        while True:
            await self._images.changed()
            self._wake_waiting("")

    def _on_pod(self, event: Event) -> None:
        uid = uid_of(event.object)
        pod = self._pods.get(uid)
        if event.type == "DELETED":
            self._on_address_change(event)
            if pod is not None:
                pod.gone = True
                self._tasks.wake(uid)
            return
        if pod is None:
            pod = self._pods.add(KnownPod(uid))
        if pod.manifest is not None and is_older(event.object, pod.manifest):
            return
        before, pod.manifest = pod.manifest, event.object
        self._ends.complete(pod, self._neighbours.configs(namespace_of(event.object)))
        if before is None or read_address_state(before) != read_address_state(event.object):
            self._on_address_change(event)
        self._tasks.wake(uid)

    def _on_address_change(self, event: Event) -> None:
        """A pod's address has changed: hosts files change, and pods that wait for the address may start."""
        self._neighbours.take_pod(event)
        self._hosts.ask()
        self._wake_waiting(namespace_of(event.object))

    def _on_neighbour(self, resource: Resource, namespace: str) -> None:
        if resource is SERVICES:
            self._hosts.ask()
        self._wake_waiting(namespace)

    def _wake_waiting(self, namespace: str) -> None:
        for pod in self._pods.waiting(namespace):
            self._tasks.wake(pod.uid)

    def _watch(self, pod: KnownPod, run: Run) -> None:
        self._exits.watch(Process(run.pid, run.birth), lambda: self._end(pod, run))

    def _end(self, pod: KnownPod, run: Run, *, seen: bool = True) -> None:
        """The first process of the container has ended, and with it the container, or later the others."""
        self._look_on(pod, run, seen=seen)
        self._tasks.wake(pod.uid)

    def _look_on(self, pod: KnownPod, run: Run, *, seen: bool = True) -> None:
        assert pod.state is not None
        known = pod.state.runs.get(run.container)
        if known is not None and known.number == run.number:
            run = known  # it may have been told to end since it is watched
        if not self._runs.is_over(pod.state, run, pod.told.setdefault(run.container, set())):
            pod.outlived.add(run.container)
            return
        pod.outlived.discard(run.container)
        self._record_end(pod, run, seen=seen)
        pod.may_have_orphans = pod.may_have_orphans or not self._runs.is_bound(run)

    def _record_end(self, pod: KnownPod, run: Run, *, seen: bool = True) -> None:
        self._ends.record(pod, run, self._clock(), seen=seen)
        self._check_all_ended()

    def _check_all_ended(self) -> None:
        if self._stopping and not any(pod.running for pod in self._pods):
            self._all_ended.set()

    # Reconciling

    async def _reconcile(self, uid: str) -> None:
        pod = self._pods.get(uid)
        if pod is None or not self._trace(pod):
            return
        for run in pod.running:
            if run.container in pod.outlived:
                self._look_on(pod, run)
        if pod.gone:
            await self._forget(pod)
        elif pod.manifest is not None:
            await self._reconcile_pod(pod, pod.manifest)

    async def _reconcile_pod(self, pod: KnownPod, manifest: Manifest) -> None:
        while pod.may_have_orphans:  # a loop, as another container may end while processes are searched
            pod.may_have_orphans = False
            await self._orphans.kill(pod.uid)
        now = self._clock()
        state = self._admit(pod, manifest, now)
        plan = plan_pod(manifest, state, {}, now)
        if plan.ending is not None and plan.ending != state.ending:
            self._save(pod, replace(state, ending=plan.ending))
        if plan.start and not self._stopping:
            pod.starting = True  # a change that comes meanwhile wakes the pod again
            try:
                plan = await self._start(pod, plan, now)
            finally:
                pod.starting = False
        for note in self._signal(pod, plan):
            events = (
                build_event(it, note.reason, note.message, now, component=COMPONENT, type=note.kind)
                for it in list_subjects(manifest)
            )
            await self._sink.write_all(list(events))
        self._care.follow(pod)
        left = None if plan.wake is None else plan.wake - now
        if pod.outlived:
            left = _GO_ON if left is None else min(left, _GO_ON)
        if left is not None:
            self._tasks.wake_in(pod.uid, left)
        if not self._is_settling(pod, plan):
            manifest = await self._publish(pod, plan.status)
        if is_terminal(manifest) and not pod.running:
            await self._release(pod)
        if plan.remove:
            await self._remove(manifest)

    def _admit(self, pod: KnownPod, manifest: Manifest, now: float) -> PodState:
        """The pod's state. A pod that is new here gets an address and a record."""
        if pod.state is not None:
            return pod.state
        state = self._pods.plan_state(pod, manifest, now, self._boot)
        if state.address:
            self._save(pod, state)
        return state

    async def _start(self, pod: KnownPod, plan: PodPlan, now: float) -> PodPlan:
        """Starts the containers of the plan. Returns the next plan, from the result."""
        assert pod.manifest is not None and pod.state is not None
        # The address is written before any start: the operator's ConfigMap of endpoints waits for all addresses.
        if address_of(pod.manifest) != pod.state.address:
            await self._publish(pod, plan.status)
        configs = await self._neighbours.read_configs(pod.manifest)
        if self._stopping:
            return plan
        pod.obstacles = {}
        for start in plan.start:
            container = find_container(pod.manifest, start.container)
            answer = self._starts.start(pod, pod.manifest, container, start, configs, now)
            if isinstance(answer, Obstacle):
                pod.obstacles[start.container] = answer
                continue
            self._save(pod, answer)
            self._watch_new_run(pod, answer.runs[start.container])
            for reason, sentence in self._starts.explain_differences(pod.manifest, container, configs):
                about = pod.manifest
                await self._sink.write(build_event(about, reason, sentence, now, component=COMPONENT, type="Warning"))
            await self.excesses.tell_unenforced(pod.manifest, container)
        self._trace(pod)
        following = plan_pod(pod.manifest, pod.state, pod.obstacles, now)
        if any(obstacle.reason in (CREATE_ERROR, MACHINE_FAULT) for obstacle in pod.obstacles.values()):
            retry = now + self._tasks.back_off(pod.uid, _RETRY)
            following = replace(following, wake=min(following.wake or retry, retry))
        if following.start:  # a command that does not exist, and a restart policy without back-off at first
            self._tasks.wake(pod.uid)
        return following

    def _watch_new_run(self, pod: KnownPod, run: Run) -> None:
        """Watches a started container. It is a new process, so an earlier SIGTERM does not count."""
        if run.pid and run.running:
            pod.told.pop(run.container, None)
            pod.cut.discard(run.container)
            pod.hides_running_until = asyncio.get_running_loop().time() + _SETTLE
            self._watch(pod, run)

    def _signal(self, pod: KnownPod, plan: PodPlan) -> list[Note]:
        """Returns what is to be said of the containers whose grace is over."""
        state, notes = pod.state, list[Note]()
        if state is None:
            return notes
        # Before any signal: a program that is gone without an exit code afterwards is not lost.
        if fresh := [state.runs[name] for name in (*plan.term, *plan.kill) if state.runs[name].stopping is None]:
            for run in fresh:
                state = state.with_run(replace(run, stopping=self._clock()))
            self._save(pod, state)
        due = {name for name in plan.term if self._care.may_terminate(pod, state.runs[name], plan.deadlines.get(name))}
        for name in due - pod.told.keys():
            if program := self._runs.terminate(state, state.runs[name]):
                pod.told[name] = {program}
                self._note_told(pod, state.runs[name])
        for name in plan.kill:
            notes += self._note_cut(pod, state.runs[name], plan)
            self._runs.kill(state, state.runs[name])
        if due - pod.told.keys():
            asyncio.get_running_loop().call_later(_TERM_RETRY, self._tasks.wake, pod.uid)
        return notes

    def _note_cut(self, pod: KnownPod, run: Run, plan: PodPlan) -> Iterator[Note]:
        """That the grace is over and processes still run; once, and not where there was none."""
        if pod.state is None or pod.manifest is None or plan.ending is None or run.container in pod.cut:
            return
        grace = grace_of(pod.manifest, plan.ending)
        if not grace or is_terminal(pod.manifest):
            return
        pod.cut.add(run.container)
        if left := self._runs.find_left(pod.state, run):
            yield build_cut(pod.manifest, run.container, len(left), grace)

    def _note_told(self, pod: KnownPod, run: Run) -> None:
        """When a program was told of its end after its preStop: it has two seconds from then, at least."""
        if pod.manifest is not None and find_hook(pod.manifest, run.container, "preStop") is not None:
            self._change_run(pod, replace(run, told=self._clock()))

    def _change_run(self, pod: KnownPod, run: Run) -> None:
        assert pod.state is not None
        self._save(pod, pod.state.with_run(run))
        self._tasks.wake(pod.uid)

    def _is_settling(self, pod: KnownPod, plan: PodPlan) -> bool:
        """Whether to delay the status Running, as a short program may end within `_SETTLE` seconds."""
        left = pod.hides_running_until - asyncio.get_running_loop().time()
        if left <= 0 or plan.ending is not None or not pod.running:
            return False
        self._tasks.wake_in(pod.uid, left)
        return True

    async def _publish(self, pod: KnownPod, status: Manifest) -> Manifest:
        """Writes the status if it differs, guarded by UID as kubelet's patches are. Returns the object after that."""
        known = pod.manifest
        assert known is not None
        patch = build_status_patch(known.get("status") or {}, status)
        if not patch:
            return known
        guarded = {"metadata": {"uid": pod.uid}, "status": patch}
        answer = await self._api.patch(PODS, namespace_of(known), name_of(known), guarded, subresource="status")
        # The watch may have delivered a newer object while the patch was under way.
        if pod.manifest is None or not is_older(answer, pod.manifest):
            pod.manifest = answer
        # A deletion or an edit that the server took before this patch: its own event comes later, and is older.
        if metadata(answer).get("generation") != metadata(known).get("generation"):
            self._tasks.wake(pod.uid)
        self._events.ask(pod.uid)
        if read_address_state(known) != read_address_state(answer) and not pod.gone:
            self._on_address_change(Event("MODIFIED", answer))
        return pod.manifest

    async def _remove(self, manifest: Manifest) -> None:
        with suppress(NotFound, Conflict):
            await self._api.delete(PODS, namespace_of(manifest), name_of(manifest), uid=uid_of(manifest), grace=0)

    async def _forget(self, pod: KnownPod) -> None:
        """Ends and removes everything of a pod whose object is deleted, except its logs (`remove_orphaned_logs`)."""
        if pod.state is not None and pod.running:
            for run in pod.running:
                self._runs.kill(pod.state, run)
            self._tasks.wake_in(pod.uid, 0.1)
            return
        if pod.state is not None:
            await self._holds.end(pod.uid)
            await self._orphans.kill(pod.uid)
            await self._clean_up(pod)
            await self._empty(pod)
            await asyncio.to_thread(self._records.remove, pod.state)
        self._pods.remove(pod.uid)
        if pod.state is not None:  # after that: of two pods that go together, the second removes what both had
            self._records.remove_copies(pod.state.outside, self._pods.used_by_others(pod))
        self._care.forget(pod.uid)
        self._tasks.forget(pod.uid)
        self._old_logs.ask()

    async def _clean_up(self, pod: KnownPod) -> None:
        """Removes what the pod created outside its own directory, except what other pods still use."""
        state, pod.cleaned_up = pod.state, True
        if state is None:
            return
        # At once, as pods that start meanwhile must not take these for links that stay.
        self._records.remove_links(state, self._pods.used_by_others(pod))
        await asyncio.to_thread(self._records.remove_memory, state)

    async def _empty(self, pod: KnownPod) -> None:
        """Removes its /tmp, and what its programs were started with, secrets too."""
        state, pod.emptied = pod.state, True
        if state is not None:
            self._records.remove_programs(state)
            # A pod may have written a million files, and the others go on.
            await asyncio.to_thread(self._records.remove_temporary, state)

    async def _release(self, pod: KnownPod) -> None:
        """Of a pod that has ended: what it has outside its own directory goes at once, its /tmp when it is held no
        more."""
        until = read_held(pod.manifest) if pod.manifest is not None else None
        if pod.state is not None and pod.state.held != until:
            self._save(pod, replace(pod.state, held=until))
        if not pod.cleaned_up and not self._holds.has(pod.uid):
            await self._clean_up(pod)
        left = self._holds.left(pod.manifest) if pod.manifest is not None else 0.0
        if left:
            self._tasks.wake_in(pod.uid, left)
        elif not pod.emptied:
            await self._holds.end(pod.uid)
            await self._empty(pod)

    def _save(self, pod: KnownPod, state: PodState) -> None:
        """Keeps the state in memory and on disk. A full disk loses it only if a crash comes before the next save."""
        pod.state = state
        self._records.try_save(state)

    # Coalesced: caused by many pods, done once for all

    async def _write_hosts(self) -> None:
        for pod in self._pods:
            if pod.manifest is not None and any(map(self._runs.is_bound, pod.running)):
                self._runs.write_hosts(pod.uid, self._neighbours.hosts(pod.manifest))

    async def _remove_old_logs(self) -> None:
        await remove_orphaned_logs(self._api, self._directory, self._pods.uids, self._keeps_logs)
