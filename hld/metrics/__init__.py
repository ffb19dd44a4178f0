"""How a difference of mean vectors becomes one number: norms, each a linear map."""
