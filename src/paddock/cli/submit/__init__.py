"""From files to objects in a cluster: the checked manifests and the directories sent with them."""
