"""What comes from a client: bodies, tables and parameters, none of which is trusted."""
