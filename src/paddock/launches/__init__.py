"""A command or a script, read as a shell reads it: which launcher it starts, with what, on which program. Pure.

What a variable, a substitution or Kubernetes fills in later is `Unknown`, a value of its own: nothing is concluded from
it, and it is printed as it was typed. `reading` is the door: a text, a command line or a container -> `Reading`, the
`Launch`es in it and what was named and not read. Nothing else in Paddock reads commands.

    budget      what one reading may cost, in one object that all parts charge
    words       one word as the program gets it, with its unknown pieces
    grammar     a text -> tree-sitter's tree
    shell       a text -> simple commands, with what the script has set by then
    expansion   the words of a command
    wrappers    what stands before a program: sudo, timeout, docker run, conda run, srun …
    programs    which word is the script: python's and the shells' own options
    launchers   the options of each launcher, as tables
    staying_shells  whether a shell stays in front of its program
    launch      a simple command -> Launch
"""
