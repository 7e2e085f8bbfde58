"""The optional admission webhook of a cluster: what `paddock validate` calls an error is refused before it is stored.

`review` decides, `certificates` makes and renews what the API server trusts; both are pure. `server` answers over TLS,
`keeper` keeps the certificate in the cluster's configuration. `app.webhook` runs them. It always fails open.
"""
