"""PersistentVolumes and their claims: values, decisions, and the binder, which applies them."""
