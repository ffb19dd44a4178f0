"""Pictures of circuits and v-trees: for matplotlib, and as self-contained pages."""
