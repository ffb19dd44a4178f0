"""What a test will find, and with how many rows: before it is deployed."""
