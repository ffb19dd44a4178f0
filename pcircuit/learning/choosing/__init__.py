"""Learning in one call: sizes, smoothing, trees and when to stop, as rows that EM does not see choose them."""
