"""The same seven jobs with hld and with other libraries of drift detection, each in an environment of its own."""
