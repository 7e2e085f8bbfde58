"""Files of other tools -> what `paddock run` would be asked for: a run.sh, a batch file of Slurm, a task of SkyPilot or
dstack. For `paddock init --from`. Pure.

    meant      the values
    commands   the commands of a text, as jobs: what is carried, and what is left out
    tools      which tool a file is of, and what its fields say
"""
