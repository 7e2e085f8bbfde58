"""The screens of datasets: the list, one of them, and the form for a new one."""
