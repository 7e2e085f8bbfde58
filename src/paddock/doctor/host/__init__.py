"""What is wrong with a machine, before or while a job runs there: each finding from values that `doctor.probes` reads.

`values` has the machine, `peers` the other machines that were asked for; each other module answers for one subject, and
`judging` puts them together. Pure.
"""
