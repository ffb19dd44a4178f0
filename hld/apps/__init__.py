"""Programs on top of the library: the shell, a service, and exported tests."""
