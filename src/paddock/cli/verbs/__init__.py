"""One module for each verb of `paddock`, and what two verbs share."""
