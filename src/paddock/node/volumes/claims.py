"""The binding decision: which claim gets which PersistentVolume, why the others wait, and reclaiming. Pure.

    plan_claims(claims, volumes, now) -> ClaimPlan

Matching follows Kubernetes (pkg/controller/volume/persistentvolume): the volume that volumeName names, or that is
reserved for the claim, else the smallest free one whose class, modes, size and labels fit. Bound claims stay bound.
Provisioning is like that of a default StorageClass: if no volume fits within `PROVISION_DELAY_SECONDS`, a directory is
created, whichever class the claim names. A claim that asks for an existing volume gets none: by volumeName, by a
selector, by storageClassName "".

Data are never deleted. After the deletion of the claim, `Retain` leaves its volume Released; `Recycle` makes it
Available with its files still there (Kubernetes deletes them); `Delete` removes the volume if its directory is ours and
empty, and otherwise leaves it Released. The message says where the data are.

Left out: nodeAffinity of volumes (there is one machine), volumeMode Block, limits of size, protection by finalizers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from paddock.kube.meta import Key
from paddock.kube.quantities import format_bytes
from paddock.kube.selectors import match_selector
from paddock.kube.times import Moment
from paddock.node.volumes.storage import Claim, Volume, format_names

PROVISION_DELAY_SECONDS = 2.0
"""How long a claim waits for a volume until a directory is created for it: its volume may follow in the same file."""
PENDING, LOST = "Pending", "Lost"


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind the claim to the volume. `note`: the message of their events, which says where the data are."""

    claim: Claim
    volume: Volume
    note: str


@dataclass(frozen=True, slots=True)
class Provision:
    """Create a directory and its volume for this claim, at `due` unless a volume fits before."""

    claim: Claim
    due: Moment


@dataclass(frozen=True, slots=True)
class Wait:
    """The claim is not bound. `phase`: Pending, or Lost if it was bound before."""

    claim: Claim
    reason: str
    message: str
    phase: str = PENDING

    @property
    def is_unreported(self) -> bool:
        """Whether the status of the claim differs."""
        return (self.claim.phase, *self.claim.reported) != (self.phase, self.reason, self.message)


@dataclass(frozen=True, slots=True)
class SetPhase:
    """Set the phase of a volume that has no claim. With `release`, remove its claimRef too."""

    volume: Volume
    phase: str
    reason: str = ""
    message: str = ""
    release: bool = False


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Delete the volume if its directory is ours and empty, together with the directory; otherwise apply `kept`."""

    volume: Volume
    kept: SetPhase


Decision = Bind | Provision | Wait | SetPhase | Reclaim


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """What to write, in this order; empty if nothing has to change. `wake`: the moment of the next plan."""

    decisions: tuple[Decision, ...] = ()
    wake: Moment | None = None


def plan_claims(claims: Iterable[Claim], volumes: Iterable[Volume], now: Moment) -> ClaimPlan:
    """The plan for all claims and volumes. It does not depend on the order of the arguments' elements."""
    line = sorted(claims, key=lambda claim: (claim.created or 0.0, claim.key))
    known = {volume.name: volume for volume in sorted(volumes, key=lambda volume: volume.name)}
    pairs = match_claims(line, known)
    joined = ((claim, known[pairs[claim.key]]) for claim in line if claim.key in pairs)
    binds = [Bind(claim, volume, explain_directory(volume)) for claim, volume in joined if not _is_bound(claim, volume)]
    living, taken = {claim.key: claim for claim in line}, frozenset(pairs.values())
    settled = [it for volume in known.values() if volume.name not in taken for it in _plan_unclaimed(volume, living)]
    alone = [claim for claim in line if claim.key not in pairs and not claim.deleting]
    if any(isinstance(decision, SetPhase) and decision.release for decision in settled):
        alone = []  # a volume that is released now may fit one of them, so the next plan decides about them
    found = [_plan_unbound(claim, known, now) for claim in alone]
    waits = [decision for decision in found if isinstance(decision, Wait) and decision.is_unreported]
    provisions = [decision for decision in found if isinstance(decision, Provision)]
    early = [decision.due for decision in provisions if decision.due > now]
    made = [decision for decision in provisions if decision.due <= now]
    return ClaimPlan((*binds, *settled, *made, *waits), min(early, default=None))


def match_claims(claims: Sequence[Claim], volumes: Mapping[str, Volume]) -> dict[Key, str]:
    """The name of the volume for each claim that gets one: first the bound pairs, then the other claims in order."""
    pairs: dict[Key, str] = {}
    for claim in claims:
        own = (volume.name for volume in volumes.values() if _is_owned(volume, claim))
        if name := next((name for name in own if claim.volume_name in ("", name)), ""):
            pairs[claim.key] = name
    for claim in claims:
        if claim.key not in pairs and not claim.deleting and not claim.problem:
            taken = frozenset(pairs.values())
            if (volume := _find_volume(claim, volumes, taken)) is not None:
                pairs[claim.key] = volume.name
    return pairs


def _find_volume(claim: Claim, volumes: Mapping[str, Volume], taken: Collection[str]) -> Volume | None:
    free = [volume for volume in volumes.values() if volume.name not in taken and not explain_refusal(claim, volume)]
    if claim.volume_name:
        return next((volume for volume in free if volume.name == claim.volume_name), None)
    return min(free, key=lambda volume: (volume.claim is None, volume.capacity, volume.name), default=None)


def _is_owned(volume: Volume, claim: Claim) -> bool:
    return bool(claim.uid) and volume.claim == claim.key and volume.claim_uid == claim.uid


def _is_bound(claim: Claim, volume: Volume) -> bool:
    """Whether both objects have everything that a binding writes."""
    return (
        _is_owned(volume, claim)
        and (claim.phase, volume.phase) == ("Bound", "Bound")
        and claim.volume_name == volume.name
        and claim.directory == volume.annotated == volume.directory
    )


def explain_refusal(claim: Claim, volume: Volume) -> str:
    """Why this claim cannot have this volume; '' if it can. As in Kubernetes, a volume that is reserved by name needs
    the size only, and a volume that the claim names need not match its selector."""
    if volume.deleting:
        return "is being deleted"
    if volume.claim is not None and (volume.claim != claim.key or volume.claim_uid):
        return _explain_holder(claim, volume)
    if volume.capacity < claim.amount:
        return f"has {format_bytes(volume.capacity)}, {format_bytes(claim.amount)} are asked for"
    if volume.claim is not None:
        return ""
    wanted = claim.storage_class or ""
    if volume.storage_class != wanted:
        return f'has storageClassName "{volume.storage_class}", "{wanted}" is asked for'
    if missing := [mode for mode in claim.modes if mode not in volume.modes]:
        return f"offers {format_names(volume.modes)}, {format_names(missing)} is asked for"
    if "Block" in (claim.mode, volume.mode):
        return "volumeMode Block needs a device, and volumes of this machine are directories (Filesystem)"
    if claim.selector and not claim.volume_name and not match_selector(claim.selector)(volume.labels):
        return "lacks the labels that the claim's selector asks for"
    return ""


def _explain_holder(claim: Claim, volume: Volume) -> str:
    if volume.claim != claim.key:
        return f"belongs to the claim {volume.claim}"
    return (
        f"still holds what an earlier claim of this name left ({volume.phase or 'Released'}); to use it again: kubectl "
        f'patch pv {volume.name} --type=json -p=\'[{{"op": "remove", "path": "/spec/claimRef"}}]\''
    )


def explain_directory(volume: Volume) -> str:
    """The message of a bound claim: where its data are, and why there."""
    where = f"the directory {volume.directory}; put files for its pods there"
    if volume.source:
        return f"{volume.source} is not mounted on a laptop; the claim uses {where}"
    if volume.provisioned:
        return f"no PersistentVolume fits, so one was made; the claim uses {where}"
    return f"bound to PersistentVolume {volume.name}; the claim uses {where}"


def _plan_unbound(claim: Claim, volumes: Mapping[str, Volume], now: Moment) -> Wait | Provision:
    if claim.problem:
        return Wait(claim, "FailedBinding", f"cannot be bound as it is written: {claim.problem}")
    if claim.volume_name:
        return _explain_named(claim, volumes)
    obstacle = _explain_no_directory(claim)
    if obstacle:
        return Wait(claim, "FailedBinding", f"no PersistentVolume fits ({_list_refusals(claim, volumes)}), {obstacle}")
    return Provision(claim, (now if claim.created is None else claim.created) + PROVISION_DELAY_SECONDS)


def _explain_named(claim: Claim, volumes: Mapping[str, Volume]) -> Wait:
    """The wait of a claim that names a volume which it cannot have."""
    phase = LOST if claim.phase in ("Bound", LOST) else PENDING
    volume = volumes.get(claim.volume_name)
    if volume is None:
        sentence = f'PersistentVolume "{claim.volume_name}", which volumeName names, does not exist'
        if phase == LOST:
            kept = f"; its data are still in {claim.directory}" if claim.directory else ""
            return Wait(claim, "ClaimLost", f"{sentence} any more{kept}", phase)
        return Wait(claim, "FailedBinding", f"{sentence} (there is {format_names(list(volumes))})", phase)
    refusal = explain_refusal(claim, volume) or "belongs to another claim"
    return Wait(claim, "VolumeMismatch", f'PersistentVolume "{volume.name}", which volumeName names, {refusal}', phase)


def _explain_no_directory(claim: Claim) -> str:
    """Why no directory is created for a claim, and what to do; '' if one is created."""
    if claim.mode == "Block":
        return "and volumeMode Block needs a device, where this machine has directories: use Filesystem"
    if claim.storage_class == "":
        return 'and with storageClassName "" no new one is made: create one, or leave storageClassName out'
    if claim.selector:
        return "and with a selector no new one is made: create one with these labels, or leave the selector out"
    return ""


def _list_refusals(claim: Claim, volumes: Mapping[str, Volume]) -> str:
    """Why each unclaimed volume does not fit. Claimed ones are left out: they change, and so would the message."""
    found = {volume.name: explain_refusal(claim, volume) for volume in volumes.values() if volume.claim is None}
    refusals = [f"{name} {why or 'is taken'}" for name, why in found.items()]
    return format_names(refusals) if refusals else "none is free"


def _plan_unclaimed(volume: Volume, claims: Mapping[Key, Claim]) -> list[Decision]:
    """The decision about a volume that is bound to no claim."""
    claim = claims.get(volume.claim) if volume.claim is not None else None
    if volume.claim is None or not volume.claim_uid:
        return [SetPhase(volume, "Available")] if volume.phase != "Available" else []
    if claim is not None and claim.uid == volume.claim_uid:
        return [SetPhase(volume, "Available", release=True)]  # the claim is bound to another volume
    return _plan_released(volume)


def _plan_released(volume: Volume) -> list[Decision]:
    gone = f"the claim {volume.claim} was deleted"
    where = f"its data stay in {volume.directory}"
    if volume.policy == "Recycle":
        message = f"{gone}; the volume is available again, and {where}: Paddock deletes no data"
        return [SetPhase(volume, "Available", "VolumeRecycled", message, release=True)]
    if volume.phase == "Released":
        return []
    if volume.policy != "Delete":
        return [SetPhase(volume, "Released", "VolumeReleased", f"{gone}; {where} (reclaim policy {volume.policy})")]
    by_hand = f"to be rid of them: rm -r {volume.directory}; kubectl delete pv {volume.name}"
    return [Reclaim(volume, SetPhase(volume, "Released", "VolumeKept", f"{gone}; {where}; {by_hand}"))]
