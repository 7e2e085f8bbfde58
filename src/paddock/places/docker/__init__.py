"""Docker: a script for each machine (`place`), or a Compose file for one (`compose`). `options` reads the pod for both.

No Docker was there: the scripts were run with a program `docker` that writes down what it is asked for.
"""
