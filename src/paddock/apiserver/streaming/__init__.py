"""exec, attach and port-forward over HTTP: WebSockets, SPDY/3.1, and SPDY within WebSockets.

`spdy` is the framing (pure), `wires` what carries bytes, `multiplex` the streams of SPDY, `sessions` serves exec and
attach, `forwards` connections to ports; `server` chooses among them. The programs run elsewhere (`kube.pod_streams`).
"""
