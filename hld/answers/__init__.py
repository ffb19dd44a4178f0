"""How a batch has moved, in words and numbers: columns, pairs of columns, tables of text and HTML, pictures."""
