"""Circuits and v-trees in the formats of other programs: read strictly, and written where the format can say all."""
