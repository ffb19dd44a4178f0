"""Pictures of circuits and v-trees: for matplotlib, and as pages that stand alone."""
