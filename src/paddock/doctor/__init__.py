"""The questions that people ask of a run which does not do what they asked for, answered from its logs.

`findings` has the value of an answer; `launch_block` reads what launchers print; `started`, `devices`, `nodes`,
`elastic`, `network` and `silence` each answer one question; `examine` puts them together. Pure: `doctor.probes` reads
jobs, logs and machines.
"""
