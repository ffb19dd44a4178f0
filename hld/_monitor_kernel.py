"""The monitor's bets, row by row: `hld.monitor` has the formulas, and names of the arrays."""
import numpy as np

from ._compile import jit


@jit
def advance(values, tables, rates, every, bets, state, log_wealth):
    """Let rows `values` (n, m) of node likelihoods happen to `state`, in place; fills `log_wealth` (n,)."""
    mean, scale, up, down, margin = tables[0], tables[1], tables[2], tables[3], tables[4][0]
    lambdas, node_lambdas, prior, share = bets
    count, wealth, means, directions, spans, weights, node_weights, cash = state
    n, m = values.shape
    D = directions.shape[1]
    G, N = len(lambdas), len(node_lambdas)
    scores = np.empty(D)
    deviation = np.empty(m)
    for t in range(n):
        scores[:] = 0.0
        for j in range(m):
            deviation[j] = values[t, j] - mean[j]
            scaled = deviation[j] * scale[j]
            for d in range(D):
                scores[d] += scaled * directions[j, d]
        total = cash[0]
        for d in range(D):
            s = (scores[d] - spans[1, d]) * spans[0, d]
            for g in range(G):
                weights[d, g] *= 1.0 + lambdas[g] * s
                total += weights[d, g]
        for j in range(m):
            rise = (deviation[j] - margin) * up[j]
            fall = (-deviation[j] - margin) * down[j]
            for g in range(N):
                node_weights[j, g] *= 1.0 + node_lambdas[g] * rise
                node_weights[j, N + g] *= 1.0 + node_lambdas[g] * fall
                total += node_weights[j, g] + node_weights[j, N + g]
        wealth[0] += np.log(total)
        log_wealth[t] = wealth[0]
        count[0] += 1
        moved = share[0] / (count[0] + 1.0)
        keep = (1.0 - moved) / total
        cash[0] = cash[0] * keep + moved * prior[0]
        weights *= keep
        weights += moved * prior[1]
        node_weights *= keep
        node_weights += moved * prior[2]
        for h in range(len(rates)):
            rate = max(rates[h], 1.0 / count[0])
            for j in range(m):
                means[h, j] += rate * (deviation[j] * scale[j] - means[h, j])
