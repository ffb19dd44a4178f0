"""What arguments of public functions may be: each kind is checked in one place and refused in one form of words.

    `name` must be <what is expected>, found <what was given>

The rule behind all of them: a value is taken only if nothing about it is lost.  So 3 and a NumPy integer are whole
numbers, 3.0 and True are not; numbers may come in any numeric dtype, byte order and memory layout, text that looks
like a number is refused, and so are complex numbers, NaN, and masked entries, whose value is not known.  A value of
the wrong kind is a TypeError, a value of the right kind but out of range a ValueError.

    check_whole_number    counts and sizes
    check_number          one real number in an interval
    check_numbers         arrays of real numbers
    check_integers        arrays of whole numbers, such as node ids
    check_choice          one of several names
    check_flag            true or false
    check_generator       seeds and generators

What may be missing, evidence, is checked in `pcircuit.evidence`.
"""
from pcircuit.argument_arrays import check_integers, check_numbers, without_masks
from pcircuit.argument_values import (
    at,
    check_choice,
    check_flag,
    check_generator,
    check_number,
    check_whole_number,
    first,
    is_listing,
    is_real,
    shown,
)

__all__ = ["at", "check_choice", "check_flag", "check_generator", "check_integers", "check_number", "check_numbers",
           "check_whole_number", "first", "is_listing", "is_real", "shown", "without_masks"]
