"""The rest of a row given its covariates: whether it has changed, whatever these do; and label frequencies."""
