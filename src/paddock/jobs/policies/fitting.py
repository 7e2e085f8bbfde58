"""The size of an attempt: a job as its manifest asks for it -> the job as its recorded gang has it.

`replicas` in the manifest is what is wanted; the bounds of `Job.elasticity` are what is accepted. An attempt may have
fewer ranks than wanted (`Status.gang_size`): every policy, and every variable of a rank, then sees the job with the
ranks that the attempt has.
"""

from __future__ import annotations

from dataclasses import replace

from paddock.jobs.model import Job, Role


def fit(job: Job, size: int) -> Job:
    """The job with `size` ranks of its elastic role, `Status.gang_size`. Of 0, and of a size that is not accepted any
    more, the job has what its manifest asks for. A fitted job can be fitted again."""
    role = find_elastic(job)
    if role is None or job.elasticity is None:
        return job
    smaller = job.elasticity.least <= size < role.wanted
    fitted = replace(role, replicas=size if smaller else role.wanted, asked=role.wanted)
    return replace(job, roles=tuple(fitted if each.name == role.name else each for each in job.roles))


def find_elastic(job: Job) -> Role | None:
    """The role whose size may change; None for a job without one."""
    return None if job.elasticity is None else job.role(job.elasticity.role)
