"""View models of jobs, pods and Environments: rows, facts, next steps, as values. The command line formats them as
text; another front end may format them otherwise. Pure."""
