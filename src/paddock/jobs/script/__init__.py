"""`paddock run -- python train.py`: a typed command -> a PaddleJob of batch.paddlepaddle.org/v1 like any other. Pure.

`program` reads the command line, `source` the script's text, `env_file` a file of variables; `request` is what was
asked for, and `manifest` builds the job of it. `variables` and `arguments` change the containers that train, of any
job.
`cli.submit.script.requests` reads the files and reports what is wrong.
"""
