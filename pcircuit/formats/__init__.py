"""Circuits and v-trees in the formats of other programs: read strictly, written where the format allows."""
