"""From a table to evidence: what each column is, and which category each cell has."""
