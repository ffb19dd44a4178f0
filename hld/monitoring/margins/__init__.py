"""The margin of a monitor that belongs to a test: how far its reference rows may be from the circuit."""
