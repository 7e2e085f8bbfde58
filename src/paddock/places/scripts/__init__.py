"""The scripts of machines that are reached by hand or by ssh: bare machines and Docker.

All machines of a job have the same script but for one line, the number of the machine. `ranks` writes what differs from
job to job, `parts` is what never does: addresses, checks, the commands. How a rank is started is a part of its own:
`processes` for bare machines; Docker's is in `places.docker`.
"""
