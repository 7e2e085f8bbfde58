"""Files of other tools -> the job that they mean, for `paddock init --from`: what is carried, and what is not. Pure.

What `paddock run` has an option for is carried; every other thing is a line of `Foreign.left`. A value that is filled
in later is never carried as text: its default is taken where there is one, and that is said.

    job         the value that all of them give
    launched    a command that starts a program, whatever stands before it
    draft       its job, while it is read
    paddle_launchers, torch_launchers, task_launchers
                what its launcher says
    launcher_options
                what an option of a launcher says
    containers  docker and apptainer before the program
    carried     words, variables and directories of a command
    elsewhere   what says in Paddock or a manifest what is not carried
    setup       what stands around it: packages that are installed, other commands
    hostfiles   files of hosts that a script writes itself
    servers     parameter servers that a script starts by hand
    started     what another program may start, and is not read
    kept_back   secrets, of which no value is carried or shown
    shell       run.sh, a docker command in a file
    directives  the options of a batch system in comments
    slurm       sbatch: `#SBATCH` and srun
    queues      batch scripts of PBS, LSF and Grid Engine: `#PBS`, `#BSUB`, `#$`, mpirun and jsrun
    arena       `arena submit pytorchjob …`
    tasks       YAML of a task, with the lines of its fields
    skypilot    a task of SkyPilot
    dstack      a task of dstack
    accelerators
                devices of other vendors than NVIDIA
    ranks       the launcher of ranks that a tool started itself
    tools       which tool a file is of, and its reader
"""
