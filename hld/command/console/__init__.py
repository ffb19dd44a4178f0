"""What all commands share: tables in, text, tables and JSON out, options for reading, progress shown."""
