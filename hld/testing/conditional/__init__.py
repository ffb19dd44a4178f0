"""The rest of a row given its covariates: whether it has changed, however these move."""
