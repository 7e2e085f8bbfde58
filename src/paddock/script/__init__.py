"""`paddock run -- python train.py`: a typed command -> a PaddleJob or a PyTorchJob like any other. Pure.

`launches` reads the command line. `source` reads the program's text, `hiding` the
files that hide a framework, `env_file` a file of variables; `request` is what was asked for, and `manifest` builds
the job of it: `kinds` has one entry for each framework, whose specs `paddle_job` and `pytorch_job` build. `variables`
and `arguments` change the containers that train, of any job.
`cli.submit.script.requests` reads the files and reports what is wrong.
"""
