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
from paddock.words.phrases import Phrase, phrase

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
        return str(phrase("is being deleted"))
    if volume.claim is not None and (volume.claim != claim.key or volume.claim_uid):
        return _explain_holder(claim, volume)
    if volume.capacity < claim.amount:
        has, asked = format_bytes(volume.capacity), format_bytes(claim.amount)
        return str(phrase("has {has}, {asked} are asked for", has=has, asked=asked))
    if volume.claim is not None:
        return ""
    wanted = claim.storage_class or ""
    if volume.storage_class != wanted:
        found = phrase(
            'has storageClassName "{name}", "{wanted}" is asked for', name=volume.storage_class, wanted=wanted
        )
        return str(found)
    if missing := [mode for mode in claim.modes if mode not in volume.modes]:
        offers = format_names(volume.modes)
        return str(phrase("offers {modes}, {wanted} is asked for", modes=offers, wanted=format_names(missing)))
    if "Block" in (claim.mode, volume.mode):
        return str(phrase("volumeMode Block needs a device, and volumes of this machine are directories (Filesystem)"))
    if claim.selector and not claim.volume_name and not match_selector(claim.selector)(volume.labels):
        return str(phrase("lacks the labels that the claim's selector asks for"))
    return ""


def _explain_holder(claim: Claim, volume: Volume) -> str:
    if volume.claim != claim.key:
        return str(phrase("belongs to the claim {name}", name=str(volume.claim)))
    command = f'kubectl patch pv {volume.name} --type=json -p=\'[{{"op": "remove", "path": "/spec/claimRef"}}]\''
    said = phrase(
        "still holds what an earlier claim of this name left ({phase}); to use it again: {command}",
        phase=volume.phase or "Released", command=command,
    )  # fmt: skip
    return str(said)


def explain_directory(volume: Volume) -> str:
    """The message of a bound claim: where its data are, and why there."""
    return str(_say_directory(volume))


def _say_directory(volume: Volume) -> Phrase:
    if volume.source:
        return phrase(
            "{source} is not mounted on a laptop; the claim uses the directory {path}; put files for its pods there",
            source=volume.source, path=volume.directory,
        )  # fmt: skip
    if volume.provisioned:
        return phrase(
            "no PersistentVolume fits, so one was made; the claim uses the directory {path}; put files for its pods "
            "there",
            path=volume.directory,
        )
    return phrase(
        "bound to PersistentVolume {name}; the claim uses the directory {path}; put files for its pods there",
        name=volume.name, path=volume.directory,
    )  # fmt: skip


def _plan_unbound(claim: Claim, volumes: Mapping[str, Volume], now: Moment) -> Wait | Provision:
    if claim.problem:
        said = phrase("cannot be bound as it is written: {why}", why=claim.problem)
        return Wait(claim, "FailedBinding", str(said))
    if claim.volume_name:
        return _explain_named(claim, volumes)
    if obstacle := _explain_no_directory(claim):
        said = phrase(
            "no PersistentVolume fits ({refusals}), {why}", refusals=_list_refusals(claim, volumes), why=obstacle
        )
        return Wait(claim, "FailedBinding", str(said))
    return Provision(claim, (now if claim.created is None else claim.created) + PROVISION_DELAY_SECONDS)


def _explain_named(claim: Claim, volumes: Mapping[str, Volume]) -> Wait:
    """The wait of a claim that names a volume which it cannot have."""
    phase = LOST if claim.phase in ("Bound", LOST) else PENDING
    volume = volumes.get(claim.volume_name)
    if volume is None:
        if phase == LOST:
            return Wait(claim, "ClaimLost", str(_say_lost(claim)), phase)
        said = phrase(
            'PersistentVolume "{name}", which volumeName names, does not exist (there is {names})',
            name=claim.volume_name, names=format_names(list(volumes)),
        )  # fmt: skip
        return Wait(claim, "FailedBinding", str(said), phase)
    said = phrase(
        'PersistentVolume "{name}", which volumeName names, {why}',
        name=volume.name, why=explain_refusal(claim, volume) or phrase("belongs to another claim"),
    )  # fmt: skip
    return Wait(claim, "VolumeMismatch", str(said), phase)


def _say_lost(claim: Claim) -> Phrase:
    if not claim.directory:
        return phrase(
            'PersistentVolume "{name}", which volumeName names, does not exist any more', name=claim.volume_name
        )
    return phrase(
        'PersistentVolume "{name}", which volumeName names, does not exist any more; its data are still in {path}',
        name=claim.volume_name, path=claim.directory,
    )  # fmt: skip


def _explain_no_directory(claim: Claim) -> Phrase | None:
    """Why no directory is created for a claim, and what to do; None if one is created."""
    if claim.mode == "Block":
        return phrase("and volumeMode Block needs a device, where this machine has directories: use Filesystem")
    if claim.storage_class == "":
        return phrase('and with storageClassName "" no new one is made: create one, or leave storageClassName out')
    if claim.selector:
        return phrase("and with a selector no new one is made: create one with these labels, or leave the selector out")
    return None


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
    where = {"claim": str(volume.claim), "path": volume.directory}
    if volume.policy == "Recycle":
        said = phrase(
            "the claim {claim} was deleted; the volume is available again, and its data stay in {path}: Paddock "
            "deletes no data",
            **where,
        )
        return [SetPhase(volume, "Available", "VolumeRecycled", str(said), release=True)]
    if volume.phase == "Released":
        return []
    if volume.policy != "Delete":
        said = phrase(
            "the claim {claim} was deleted; its data stay in {path} (reclaim policy {policy})",
            **where, policy=volume.policy,
        )  # fmt: skip
        return [SetPhase(volume, "Released", "VolumeReleased", str(said))]
    said = phrase(
        "the claim {claim} was deleted; its data stay in {path}; to be rid of them: {command}",
        **where, command=f"rm -r {volume.directory}; kubectl delete pv {volume.name}",
    )  # fmt: skip
    return [Reclaim(volume, SetPhase(volume, "Released", "VolumeKept", str(said)))]
