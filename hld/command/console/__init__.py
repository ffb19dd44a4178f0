"""What every command takes and says: tables in, text, tables and JSON out, options of reading, steps shown."""
