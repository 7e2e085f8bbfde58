"""`paddock run -- python train.py` and `paddock init`: a typed command, its options and the files that it names.

`typed_command` splits the command line, `options` has the options, `requests` makes checked documents of both, `files`
and `variables` read what they name, `written_manifest` prints. What the job is, is decided in `script`.
"""
