"""The web console: what `paddock get`, `explain`, `logs` and `run` say, as pages, on a laptop and on any Kubernetes.

A page is a screen (`screens`: one module each, one line in `screens.registry`, one template in `templates`): the
objects that it looks at (`feed`), and a function that makes them into what its template shows. The server renders
everything; while somebody looks at a page, it is rendered again when its objects change, and the browser takes what
differs. So a page without scripts is the same page, and no screen has code for its updates.

Knows an API (`kube.api.Api`) and what `paddock.jobs` and `paddock.history` say of objects. What else it needs of the
place where it runs is in `backend`; `paddock.app.consoles.local` passes it in.
"""
