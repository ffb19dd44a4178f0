"""What each column of a table is, and which category each of its cells has: from columns of cells to evidence."""
