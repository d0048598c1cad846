"""Networks: what a task trains, parts joined. One file per network; each is a `regard.types.Network`."""
