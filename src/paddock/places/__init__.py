"""Places without an operator: a job as the files that bare machines, Docker or a service of a cloud take. PURE.

`registry.PLACES` has a value for each place (`rendering.Platform`); `programs` has what all of them share: for each
rank its command, its environment and the machine where it runs, from the pods that the operator would create
(`jobs.objects.pods`). Addresses that are known only where a program starts stand in texts as marks (`hosts.Host.mark`),
for which each place writes what its files understand (`shell`). What a place cannot do is in `losses`.
"""
