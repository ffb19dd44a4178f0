"""Pictures of circuits and v-trees: for matplotlib, as self-contained pages, and in words."""
