"""What a batch is compared with: a mean vector, and how vectors of unshifted rows vary around it.

`hld.references.reference` says what every reference can do; `hld.references.rows` lists the references.
"""
