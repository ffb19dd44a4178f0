/* The program: what stands above is data, what stands here is the same for every model.
 *
 * hld_test(codes, rows, &result)
 *   codes   rows x HLD_COLUMNS whole numbers, row by row: a code of the column as listed above, or -1 where the cell is missing
 *   result  the verdict: a shift at the level alpha where result.pvalue <= alpha
 *
 * The p-value is that of `detector.test` for the same rows.  HLD_WITNESSES names what has a part in it; the p-value of a
 * witness that is not carried, or has nothing to compare, is not a number.
 *
 * returns HLD_OK; HLD_FEW_ROWS, with the distance not heard, where no law is exported for so few rows; HLD_BAD_CODE where a
 * code is not one of its column or there are no rows; HLD_REFUSED where a value is new to a column whose schema refuses
 * those; HLD_NO_MEMORY.  After the last three the result is not set.  Nothing is kept: threads may call it at a time.
 */
#define HLD_COLUMNS HLD_NUM_CATEGORIES
#define HLD_MEANS HLD_NUM_MEAN
#define HLD_REGIONS HLD_NUM_FIRST
#define HLD_DRAWS HLD_NUM_JOINT
#define HLD_SIZES HLD_NUM_SIZE
#define HLD_EVENTS HLD_NUM_EVENT_COLUMN
#define HLD_EDGES (HLD_NUM_PAIR_START - 1)
#define HLD_KEPT_HOLES (HLD_NUM_KEPT_SHOWN > 0) /* of the reference */
#define HLD_PER_KEPT (HLD_KEPT_ROWS > 0 ? 1.0 / HLD_KEPT_ROWS : 0.0)
enum { HLD_OK = 0, HLD_FEW_ROWS = 1, HLD_BAD_CODE = 2, HLD_REFUSED = 3, HLD_NO_MEMORY = 4 };

struct hld_result {
    double pvalue;                                          /* of all witnesses together */
    double distance, missing, new_values, count, dependence; /* of each witness by itself, before the level is shared */
    int missing_column, new_column;                         /* the column with the smallest p-value, or -1 */
    int count_column, count_category, count_is_cut;         /* what differs most: a category, or all up to it */
    int first_column, second_column, is_weaker;             /* whose dependence changed most */
    double means[HLD_MEANS];                                /* likelihoods over the rows that show them, 0 if none does */
    double distances[HLD_METRICS], pvalues[HLD_METRICS];    /* of the metrics; p-values from HLD_LEAST_ROWS on */
};

/* Likelihoods of all nodes for one row, and whether it shows what they are about: region by region, children before their
 * parents; of an inner region the products, then the sums. */
static void hld_nodes(const int *code, double *node, unsigned char *is_seen)
{
    int shown[HLD_NUM_CIRCUIT_KIND]; /* the first node that a region shows its parent */
    int base = 0, prob = 0, unit = 0, weight = 0, column = 0, start = 0;
    for (int r = 0; r < HLD_NUM_CIRCUIT_KIND; r++) {
        const int kind = HLD_CIRCUIT_KIND[r], K = HLD_CIRCUIT_NUM_UNITS[r], P = HLD_CIRCUIT_NUM_COLUMNS[r];
        const int *child = HLD_CHILD + HLD_CHILD_START[r], arity = HLD_CHILD_START[r + 1] - HLD_CHILD_START[r];
        shown[r] = base;
        if (kind == 0) {
            const int own = code[HLD_CIRCUIT_VARIABLES[r]];
            for (int k = 0; k < K; k++) {
                node[base + k] = HLD_CIRCUIT_PROBS[prob + k * P + (own < 0 ? 0 : own)];
                is_seen[base + k] = own >= 0;
            }
            base += K;
            prob += K * P;
            continue;
        }
        unsigned char all = 1;
        double *product = node + base, *sum = product + P;
        shown[r] += P;
        for (int p = 0; p < P; p++)
            product[p] = 1.0;
        for (int a = 0; a < arity; a++) {
            all &= is_seen[shown[child[a]]];
            for (int p = 0; p < P; p++)
                product[p] *= node[shown[child[a]] + HLD_CIRCUIT_PRODUCTS[unit + p * arity + a]];
        }
        unit += P * arity;
        for (int n = 0; n < P + K; n++)
            is_seen[base + n] = all;
        for (int k = 0; k < K; k++) {
            const int is_dense = kind == 1, end = is_dense ? P : HLD_CIRCUIT_ROW_STARTS[start + k + 1];
            sum[k] = 0.0;
            for (int e = is_dense ? 0 : HLD_CIRCUIT_ROW_STARTS[start + k]; e < end; e++)
                sum[k] += is_dense ? HLD_CIRCUIT_WEIGHTS[weight + k * P + e] * product[e]
                                   : HLD_CIRCUIT_WEIGHTS[weight + e] * product[HLD_CIRCUIT_COLUMNS[column + e]];
        }
        if (kind == 1)
            weight += K * P;
        else {
            weight += HLD_CIRCUIT_ROW_STARTS[start + K];
            column += HLD_CIRCUIT_ROW_STARTS[start + K];
            start += K + 1;
        }
        base += P + K;
    }
}

/* Adds a number of at least 0 to a sum, and what rounding takes from it to another one (Kahan and Babuska): sums of millions
 * of likelihoods are as exact as those of a few, and so are the smallest p-values, whose logarithm goes with their square. */
static void hld_add(double *sum, double *lost, double x)
{
    const double total = *sum + x;
    *lost += *sum >= x ? (*sum - total) + x : (x - total) + *sum;
    *sum = total;
}

/* The derivative of f(c) = K(c) - c q - log|c|, which rises from one end of its interval to the other. */
static double hld_slope(const double *value, const double *count, int k, double q, double c)
{
    double sum = -q - 1.0 / c;
    for (int j = 0; j < k; j++)
        sum += count[j] * value[j] / (1.0 - 2.0 * value[j] * c);
    return sum;
}

/* P(Q > q) for Q = sum value_j chi2(count_j), the largest value being 1.
 *
 * The tail is the integral of exp(K(s) - s q) / s over a line that passes between the pole 0 and the branch point 1/2, with
 * K(s) = -1/2 sum count_j log(1 - 2 value_j s), over 2 pi i; left of the pole it is the tail less 1.  The line is a hyperbola
 * that leaves the saddle point c upright and tends to 60 degrees: along rays of 45 to 90 degrees every factor of the
 * integrand falls, whatever the values are, while a line bent as the path of steepest descent is at c may come so close to
 * other branch points that the integrand grows.  With cosh(u) for its real part the integrand falls off doubly exponentially,
 * so that the midpoint rule is exact to rounding.  The line may not start farther from c than the branch point lets it. */
static double hld_tail(const double *value, const double *count, int k, double q)
{
    double mean = 0.0, degrees = 0.0;
    for (int j = 0; j < k; j++) {
        mean += count[j] * value[j];
        degrees += count[j];
    }
    if (q <= 0.0)
        return 1.0;
    if (q > 3000.0 + 2.0 * degrees) /* by Markov's inequality for exp(Q / 4) less than any double */
        return 0.0;
    const int is_right = q > mean;
    double low = is_right ? 0.0 : -(degrees / 2.0 + 1.0) * 1.001 / q, high = is_right ? 0.5 : 0.0;
    for (int i = 0; i < 200; i++) {
        const double middle = 0.5 * (low + high);
        if (hld_slope(value, count, k, q, middle) < 0.0)
            low = middle;
        else
            high = middle;
    }
    const double c = 0.5 * (low + high);
    double second = 1.0 / (c * c), top = -c * q;
    for (int j = 0; j < k; j++) {
        const double a = value[j] / (1.0 - 2.0 * value[j] * c);
        second += 2.0 * count[j] * a * a;
        top -= 0.5 * count[j] * log(1.0 - 2.0 * value[j] * c);
    }
    const double narrow = 2.0 / sqrt(second), most = HLD_WIDEST * (0.5 - c), width = narrow < most ? narrow : most;
    double integral = 0.0;
    for (int i = 0; i < HLD_POINTS; i++) {
        const double u = (i + 0.5) * HLD_REACH / HLD_POINTS, along = width * HLD_COS, up = width * HLD_SIN;
        const double x = c + along * (cosh(u) - 1.0), y = up * sinh(u);
        double real = -x * q - top, imaginary = -y * q;
        for (int j = 0; j < k; j++) {
            const double a = 1.0 - 2.0 * value[j] * x, b = 2.0 * value[j] * y;
            real -= 0.25 * count[j] * log(a * a + b * b);
            imaginary += 0.5 * count[j] * atan2(b, a);
        }
        /* exp(real + i imaginary) / (x + i y) * (dx + i dy), of which the imaginary part counts */
        const double size = exp(real) / (x * x + y * y), re = cos(imaginary), im = sin(imaginary);
        const double over_re = re * x + im * y, over_im = im * x - re * y;
        integral += size * (over_re * up * cosh(u) + over_im * along * sinh(u));
    }
    integral *= exp(top) * HLD_REACH / HLD_POINTS / 3.14159265358979323846;
    const double tail = is_right ? integral : 1.0 + integral;
    return tail < 0.0 ? 0.0 : tail > 1.0 ? 1.0 : tail;
}

/* ln Gamma(x): Stirling's series, after steps that make x large.  That of C99 writes a global variable. */
static double hld_log_gamma(double x)
{
    double steps = 1.0;
    for (; x < 20.0; x += 1.0)
        steps *= x;
    const double y = 1.0 / (x * x);
    return (x - 0.5) * log(x) - x + 0.91893853320467274178 - log(steps)
        + (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y / 1188)))) / x;
}

/* Q(a, x), the upper incomplete gamma function, by the series or Legendre's continued fraction. */
static double hld_upper_gamma(double a, double x)
{
    if (x <= 0.0)
        return 1.0;
    const double off = (x - a) / a;
    const double scale = a < 20.0 ? a * log(a) - a - hld_log_gamma(a)
        : 0.5 * log(a / 6.28318530717958647693) - (1.0 / 12 - (1.0 / 360 - 1.0 / (1260.0 * a * a)) / (a * a)) / a;
    const double front = exp(off > -0.5 && off < 1e300 ? a * (log1p(off) - off) + scale
                                                       : a * (log(x) - log(a)) - (x - a) + scale);
    if (x < a + 1.0) {
        double term = 1.0, total = 1.0;
        for (int n = 1; n < 10000000 && term > 1e-15 * total; n++) {
            term *= x / (a + n);
            total += term;
        }
        return 1.0 - front / a * total;
    }
    double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, found = d;
    for (int n = 1; n < 10000000; n++) {
        const double step = n * (a - n);
        b += 2.0;
        d = 1.0 / (step * d + b);
        c = b + step / c;
        found *= d * c;
        if (fabs(d * c - 1.0) <= 1e-15)
            break;
    }
    return front * found;
}

/* P(Q >= x) for the shifted gamma law with a mean, a sum of squared weights and a scale, its variance times v. */
static double hld_three_moments(double first, double second, double scale, double x, double v)
{
    if (!(second > 0.0))
        return x <= first ? 1.0 : 0.0;
    const double dof = second / (v * scale * scale), bound = (x - first) / (v * scale) + dof;
    return hld_upper_gamma(dof / 2.0, bound > 0.0 ? bound / 2.0 : 0.0);
}

/* Eigenvalues of a symmetric matrix, which is lost: Householder's reflections to three diagonals, then QL steps. */
static void hld_eigenvalues(double *a, int n, double *d, double *e)
{
    for (int i = n - 1; i > 0; i--) {
        double *row = a + (size_t)i * n, scale = 0.0, h = 0.0, f = 0.0;
        for (int k = 0; k < i; k++)
            scale += fabs(row[k]);
        if (i == 1 || scale == 0.0) {
            e[i] = row[i - 1];
            continue;
        }
        for (int k = 0; k < i; k++) {
            row[k] /= scale;
            h += row[k] * row[k];
            e[k] = 0.0;
        }
        const double g = row[i - 1] >= 0.0 ? -sqrt(h) : sqrt(h);
        h -= row[i - 1] * g;
        row[i - 1] -= g;
        for (int j = 0; j < i; j++) {
            const double *other = a + (size_t)j * n;
            double sum = other[j] * row[j];
            for (int k = 0; k < j; k++) {
                sum += other[k] * row[k];
                e[k] += other[k] * row[j];
            }
            e[j] += sum;
        }
        for (int j = 0; j < i; j++) {
            e[j] /= h;
            f += e[j] * row[j];
        }
        for (int j = 0; j < i; j++)
            e[j] -= f / (2.0 * h) * row[j];
        for (int j = 0; j < i; j++)
            for (int k = 0; k <= j; k++)
                a[(size_t)j * n + k] -= row[j] * e[k] + e[j] * row[k];
        e[i] = scale * g;
    }
    for (int i = 0; i < n; i++) {
        d[i] = a[(size_t)i * n + i];
        e[i] = i + 1 < n ? e[i + 1] : 0.0;
    }
    for (int l = 0; l < n; l++)
        for (int round = 0; round < 200; round++) {
            int m = l;
            while (m < n - 1 && fabs(e[m]) > 2.3e-16 * (fabs(d[m]) + fabs(d[m + 1])))
                m++;
            if (m == l)
                break;
            double g = (d[l + 1] - d[l]) / (2.0 * e[l]), r = hypot(g, 1.0), s = 1.0, c = 1.0, p = 0.0;
            g = d[m] - d[l] + e[l] / (g + (g >= 0.0 ? r : -r));
            int i = m - 1;
            for (; i >= l; i--) {
                const double f = s * e[i], b = c * e[i];
                e[i + 1] = r = hypot(f, g);
                if (r == 0.0) {
                    d[i + 1] -= p;
                    e[m] = 0.0;
                    break;
                }
                s = f / r;
                c = g / r;
                g = d[i + 1] - p;
                r = (d[i] - g) * s + 2.0 * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
            }
            if (r == 0.0 && i >= l)
                continue;
            d[l] -= p;
            e[l] = g;
            e[m] = 0.0;
        }
}

/* The p-value of a squared distance by a law with some eigenvalues at this number of rows; it writes over value and count. */
static double hld_law(double *value, double *count, int k, double excess, double squared, double rows)
{
    double v = 1.0, degrees = 0.0;
    if (k == 0)
        return squared > 0.0 ? 0.0 : 1.0;
    const double scale = value[0];
    for (int j = 0; j < k; j++)
        degrees += count[j];
    if (excess != 0.0) {
        v = 1.0 + excess / rows;
        v = v < 0.1 ? 0.1 : v;
        v = v > HLD_MOST_SCALED * degrees ? HLD_MOST_SCALED * degrees : v;
    }
    for (int j = 0; j < k; j++) {
        value[j] /= scale;
        count[j] /= v;
    }
    return hld_tail(value, count, k, squared * rows / (scale * v));
}

/* The p-value of a metric by its law. */
static double hld_pvalue(const struct hld_metric *one, double squared, double rows)
{
    double value[HLD_MOST_EIGENVALUES], count[HLD_MOST_EIGENVALUES];
    for (int j = 0; j < one->eigenvalues; j++) {
        value[j] = one->eigenvalue[j];
        count[j] = one->multiplicity[j];
    }
    return hld_law(value, count, one->eigenvalues, one->excess, squared, rows);
}

/* The p-value of a harmonic mean of p-values, by the draws of its law. */
static double hld_joint(double mean)
{
#if HLD_DRAWS > 1
    int low = 0, high = HLD_DRAWS;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (HLD_JOINT[middle] <= (float)mean)
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= HLD_RESOLVED)
        return (low + 1.0) / (HLD_DRAWS + 1.0);
    const double share = mean / (double)HLD_JOINT[HLD_RESOLVED];
    return (share < 1.0 ? share : 1.0) * (HLD_RESOLVED + 1.0) / (HLD_DRAWS + 1.0);
#else
    return mean;
#endif
}

static double hld_harmonic(const double *pvalue)
{
    double inverse = 0.0;
    for (int i = 0; i < HLD_METRICS; i++)
        inverse += 1.0 / pvalue[i] / HLD_METRICS;
    return HLD_METRICS == 1 ? pvalue[0] : 1.0 / inverse;
}

/* The p-value of a score by one table of drawn scores; below the resolution of the draws it falls as the score does. */
static double hld_drawn(int size, double score, double rows)
{
    const int first = HLD_DRAWN_START[size], count = HLD_DRAWN_START[size + 1] - first;
    const double *value = HLD_DRAWN + first;
    const int *rank = HLD_DRAWN_RANK + first;
    const int edge = (count < HLD_DRAWN_RESOLVED ? count : HLD_DRAWN_RESOLVED) - 1;
    if (rows > 1.0 && score < value[edge] && rank[count - 1] > HLD_DRAWN_RESOLVED)
        return score / value[edge] * (edge + 2.0) / (1.0 + rank[count - 1]);
    int larger = 0;
    while (larger < count && value[larger] <= score * (1.0 + 1e-9))
        larger++;
    return (larger == count ? 1.0 + rank[count - 1] : (double)rank[larger]) / (1.0 + rank[count - 1]);
}

/* The p-value of a score at a number of rows, between two tables interpolated in its inverse. */
static double hld_table(double score, double rows)
{
    int i = 0;
    while (i < HLD_SIZES - 1 && HLD_SIZE[i] < rows)
        i++;
    const double high = HLD_SIZE[i];
    if (i == 0 || high <= rows)
        return hld_drawn(i, score, rows);
    const double share = (1.0 / rows - 1.0 / high) / (1.0 / HLD_SIZE[i - 1] - 1.0 / high);
    return share * hld_drawn(i - 1, score, rows) + (1.0 - share) * hld_drawn(i, score, rows);
}

/* --- the distance ------------------------------------------------------------------------------------------------- */

struct hld_batch {
    const int *codes; /* without new values: categories, or -1 */
    long rows;
    int has_holes;          /* or the reference has: nodes are compared by the rows that show them */
    double *mean;           /* HLD_MEANS, and so are the next three */
    double *shown;          /* T_j, rows that show a node */
    double *weight;         /* g_j */
    double *factor;         /* how much a row that shows a node counts in its mean, when the rows check an alarm */
    double *node;           /* HLD_NODES: likelihoods of a row */
    unsigned char *is_seen; /* HLD_NODES: whether the row shows them */
    double *pairs;          /* HLD_REGIONS^2: rows that show both */
    double *vectors;        /* HLD_MOST_VECTORS x HLD_MEANS: differences of rows from the mean of the reference */
    double *mapped;         /* HLD_MOST_VECTORS x HLD_MOST_IMAGES */
    double *square;         /* HLD_SQUARE: a symmetric matrix */
    double *product;        /* HLD_MOST_IMAGES x HLD_MEANS */
    double *value, *other;  /* HLD_MOST_IMAGES or HLD_MOST_VECTORS */
};

static void hld_row(const struct hld_batch *batch, long t)
{
    hld_nodes(batch->codes + t * HLD_COLUMNS, batch->node, batch->is_seen);
}

static void hld_apply(const struct hld_metric *one, const double *vector, double *image)
{
    for (int r = 0; r < one->rows; r++) {
        double sum = 0.0;
        for (int e = one->start[r]; e < one->start[r + 1]; e++)
            sum += one->value[e] * vector[one->place[e]];
        image[r] = sum;
    }
}

static double hld_squared(const double *vector, int size)
{
    double sum = 0.0;
    for (int j = 0; j < size; j++)
        sum += vector[j] * vector[j];
    return sum;
}

/* Means over the rows that show a node, and which nodes rows show together. */
static void hld_sums(const struct hld_batch *batch)
{
    double lost[HLD_MEANS];
    int shown[HLD_REGIONS];
    for (int j = 0; j < HLD_MEANS; j++)
        batch->mean[j] = lost[j] = batch->shown[j] = 0.0;
    for (int i = 0; i < HLD_REGIONS * HLD_REGIONS; i++)
        batch->pairs[i] = 0.0;
    for (long t = 0; t < batch->rows; t++) {
        hld_row(batch, t);
        for (int j = 0; j < HLD_MEANS; j++)
            if (batch->is_seen[HLD_CHOSEN[j]]) {
                hld_add(&batch->mean[j], &lost[j], batch->node[HLD_CHOSEN[j]]);
                batch->shown[j] += 1.0;
            }
        if (!batch->has_holes)
            continue;
        int count = 0;
        for (int r = 0; r < HLD_REGIONS; r++)
            if (batch->is_seen[HLD_FIRST[r]])
                shown[count++] = r;
        for (int a = 0; a < count; a++)
            for (int b = 0; b < count; b++)
                batch->pairs[shown[a] * HLD_REGIONS + shown[b]] += 1.0;
    }
    for (int j = 0; j < HLD_MEANS; j++)
        batch->mean[j] = (batch->mean[j] + lost[j]) / (batch->shown[j] > 0.0 ? batch->shown[j] : 1.0);
}

/* What is known of k reference rows: 1 / k_j, and k_ij / (k_i k_j); 0 where the circuit is the reference. */
static double hld_kept_share(int j)
{
    return HLD_KEPT_HOLES ? (HLD_KEPT_SHOWN[j] > 0.0 ? 1.0 / HLD_KEPT_SHOWN[j] : 1.0) : HLD_PER_KEPT;
}

static double hld_triangle(const double *triangle, int i, int j)
{
    return i > j ? triangle[(size_t)i * (i + 1) / 2 + j] : triangle[(size_t)j * (j + 1) / 2 + i];
}

static int hld_is_enough(double shown, double rows)
{
    const double least = rows / 2.0 < HLD_FEWEST ? rows / 2.0 : HLD_FEWEST;
    return shown >= (least > 1.0 ? least : 1.0);
}

/* The weights of nodes that not all rows show. */
static void hld_weights(const struct hld_batch *batch)
{
    const double rows = (double)batch->rows, both = 1.0 / rows + HLD_PER_KEPT;
    for (int j = 0; j < HLD_MEANS; j++) {
        const double own = batch->shown[j] > 1.0 ? batch->shown[j] : 1.0;
        const int is_enough = hld_is_enough(batch->shown[j], rows)
            && (!HLD_KEPT_HOLES || hld_is_enough(HLD_KEPT_SHOWN[j], (double)HLD_KEPT_ROWS));
        batch->weight[j] = is_enough ? sqrt(both / (1.0 / own + hld_kept_share(j))) : 0.0;
        batch->factor[j] = batch->weight[j] * rows / own;
        if (HLD_PER_KEPT > 0.0 && batch->weight[j] > 0.0) {
            const double kept = HLD_KEPT_HOLES ? HLD_KEPT_SHOWN[j] : (double)HLD_KEPT_ROWS, pooled = kept + batch->shown[j] - 1.0;
            const double least = sqrt(((double)HLD_KEPT_ROWS + rows - 1.0) / (pooled > 1.0 ? pooled : 1.0));
            if (batch->factor[j] < least)
                batch->factor[j] = least;
        }
    }
}

/* The p-value of a metric where rows have holes, by the eigenvalues of F (S o R) F^t; without S by the law of whole rows,
 * which is no narrower where a metric mixes only what the same rows show, and else not at all. */
static double hld_holed_pvalue(const struct hld_batch *batch, const struct hld_metric *one, double squared)
{
    const double rows = (double)batch->rows, both = 1.0 / rows + HLD_PER_KEPT;
    const int l = one->rows;
    if (!HLD_NUM_COVARIANCE)
        return one->is_apart ? hld_pvalue(one, squared, rows) : 1.0;
    for (int r = 0; r < l; r++)
        for (int j = 0; j < HLD_MEANS; j++) {
            double sum = 0.0;
            for (int e = one->start[r]; e < one->start[r + 1]; e++) {
                const int i = one->place[e];
                const double own = i == j ? batch->shown[i] : batch->pairs[HLD_REGION[i] * HLD_REGIONS + HLD_REGION[j]];
                const double counts = (batch->shown[i] > 1.0 ? batch->shown[i] : 1.0)
                    * (batch->shown[j] > 1.0 ? batch->shown[j] : 1.0);
                const double kept = HLD_KEPT_HOLES ? hld_triangle(HLD_KEPT_SHARED, i, j) : HLD_PER_KEPT;
                sum += one->value[e] * hld_triangle(HLD_COVARIANCE, i, j) * batch->weight[i] * batch->weight[j]
                    * (own / counts + kept) / both;
            }
            batch->product[(size_t)r * HLD_MEANS + j] = sum;
        }
    for (int r = 0; r < l; r++)
        hld_apply(one, batch->product + (size_t)r * HLD_MEANS, batch->square + (size_t)r * l);
    hld_eigenvalues(batch->square, l, batch->value, batch->other);
    double largest = 0.0;
    int k = 0;
    for (int r = 0; r < l; r++)
        largest = batch->value[r] > largest ? batch->value[r] : largest;
    for (int r = 0; r < l; r++)
        if (batch->value[r] > l * 2.220446049250313e-16 * largest)
            batch->value[k++] = batch->value[r];
    for (int r = 0; r < k; r++) {
        batch->other[r] = 1.0;
        if (batch->value[r] > batch->value[0]) {
            const double swap = batch->value[0];
            batch->value[0] = batch->value[r];
            batch->value[r] = swap;
        }
    }
    return hld_law(batch->value, batch->other, k, one->excess, squared, rows);
}

/* The differences of the rows from the mean of the reference; of many rows some, evenly spread.  Returns their number. */
static int hld_vectors(const struct hld_batch *batch)
{
    const long T = batch->rows;
    const int count = T < HLD_MOST_VECTORS ? (int)T : HLD_MOST_VECTORS;
    for (int r = 0; r < count; r++) {
        double *vector = batch->vectors + (size_t)r * HLD_MEANS;
        hld_row(batch, T > HLD_MOST_VECTORS ? (long)((r + HLD_OFFSET[r]) * ((double)T / HLD_MOST_VECTORS)) : r);
        for (int j = 0; j < HLD_MEANS; j++) {
            vector[j] = batch->node[HLD_CHOSEN[j]] - HLD_MEAN[j];
            if (fabs(vector[j]) <= HLD_ROUNDING[j])
                vector[j] = 0.0;
            if (batch->has_holes)
                vector[j] = batch->is_seen[HLD_CHOSEN[j]] ? vector[j] * batch->factor[j] : 0.0;
        }
    }
    return count;
}

/* Trace, Frobenius norm and largest eigenvalue of the covariance of centred rows; the rows stay. */
static void hld_norms(const struct hld_batch *batch, const double *mapped, int count, int l, double *norms)
{
    const int n = count < l ? count : l;
    norms[0] = norms[1] = norms[2] = 0.0;
    if (count < 2)
        return;
    for (int a = 0; a < n * n; a++)
        batch->square[a] = 0.0;
    if (count <= l)
        for (int a = 0; a < n; a++)
            for (int b = 0; b <= a; b++)
                for (int j = 0; j < l; j++)
                    batch->square[a * n + b] += mapped[(size_t)a * l + j] * mapped[(size_t)b * l + j];
    else
        for (int r = 0; r < count; r++)
            for (int a = 0; a < n; a++)
                for (int b = 0; b <= a; b++)
                    batch->square[a * n + b] += mapped[(size_t)r * l + a] * mapped[(size_t)r * l + b];
    hld_eigenvalues(batch->square, n, batch->value, batch->other);
    for (int a = 0; a < n; a++) {
        norms[0] += batch->value[a];
        norms[1] += batch->value[a] * batch->value[a];
        norms[2] = batch->value[a] > norms[2] ? batch->value[a] : norms[2];
    }
    norms[0] = norms[0] > 0.0 ? norms[0] / (count - 1) : 0.0;
    norms[1] = sqrt(norms[1]) / (count - 1);
    norms[2] /= count - 1;
}

static double hld_excess(double trace, double frobenius, double fourth)
{
    return frobenius > 0.0 ? (fourth - trace * trace) / (2.0 * frobenius * frobenius) - 1.0 : 0.0;
}

/* The p-value of a metric that the batch's own rows allow, pooled with the reference's: `hld.laws.ranks.confirmation`. */
static double hld_allowed(const struct hld_batch *batch, const struct hld_metric *one, int count, double squared)
{
    const double T = (double)batch->rows, k = (double)HLD_KEPT_ROWS, N = k + T;
    const int l = one->rows;
    double *center = batch->product, norms[3], own = 0.0, rest = 0.0, held = 0.0;
    int odd = 0;
    for (int j = 0; j < l; j++)
        center[j] = 0.0;
    for (int r = 0; r < count; r++) {
        double *image = batch->mapped + (size_t)r * l;
        hld_apply(one, batch->vectors + (size_t)r * HLD_MEANS, image);
        for (int j = 0; j < l; j++)
            center[j] += image[j] / count;
    }
    if (count == batch->rows && T <= k) { /* rows farther out than all of the reference */
        double *sum = batch->product + l;
        for (int j = 0; j < l; j++)
            sum[j] = 0.0;
        for (int r = 0; r < count; r++) {
            const double *image = batch->mapped + (size_t)r * l, *vector = batch->vectors + (size_t)r * HLD_MEANS;
            if (hld_squared(image, l) <= one->farthest * (1.0 + 1e-9)) {
                for (int j = 0; j < l; j++)
                    sum[j] += image[j];
                continue;
            }
            odd++;
            double total = 0.0, compared = 0.0;
            for (int j = 0; j < HLD_MEANS && batch->has_holes; j++) {
                const double shown = HLD_KEPT_HOLES ? HLD_KEPT_SHOWN[j] : k;
                const double each = shown * (T / (batch->shown[j] > 1.0 ? batch->shown[j] : 1.0));
                compared += vector[j] * vector[j] * (each < k ? each : k);
                total += vector[j] * vector[j];
            }
            held += total > 0.0 ? compared / total : k;
        }
        if (odd) {
            double out = 1.0;
            for (int h = 0; h < odd; h++)
                out *= (T - h) / (held / odd + T - h);
            if (odd < count) {
                const double left = count - odd;
                double stretch = 1.0 + hld_excess(one->norm[0], one->norm[1], one->fourth) / left;
                stretch = stretch > 1.0 ? stretch : 1.0;
                rest = hld_three_moments(one->norm[0], one->norm[1] * one->norm[1], one->norm[2],
                                         hld_squared(sum, l) / (left * left) / (1.0 / left + HLD_PER_KEPT), stretch);
                rest = rest < out ? rest : out;
            } else
                rest = out;
        }
    }
    const double distance = sqrt(hld_squared(center, l));
    for (int r = 0; r < count; r++) {
        double *image = batch->mapped + (size_t)r * l, sum = 0.0;
        for (int j = 0; j < l; j++) {
            const double y = image[j] - T / N * center[j];
            sum += y * y;
            image[j] -= center[j];
        }
        own += sum * sum / count;
    }
    hld_norms(batch, batch->mapped, count, l, norms);
    for (int i = 0; i < 3; i++)
        norms[i] = ((k - 1.0) * one->norm[i] + (T - 1.0) * norms[i] + k * T / N * distance * distance) / (N - 1.0);
    const double both = 1.0 / T + 1.0 / k, fourth = pow(one->fourth, 0.25) + T / N * distance;
    const double all_rows = (k * fourth * fourth * fourth * fourth + T * own) / N;
    double stretch = 1.0 + hld_excess(norms[0], norms[1], all_rows) * (1.0 / (T * T * T) + 1.0 / (k * k * k)) / (both * both);
    stretch = stretch > 1.0 ? stretch : 1.0;
    const double pooled = hld_three_moments(norms[0], norms[1] * norms[1], norms[2], squared / both, stretch);
    return pooled > rest ? pooled : rest;
}

/* The p-value of the distance, not a number where no law is exported for so few rows. */
static double hld_distance(const struct hld_batch *batch, struct hld_result *result)
{
    const double rows = (double)batch->rows, inflation = HLD_TRAIN > 0 ? 1.0 + rows / HLD_TRAIN : 1.0;
    const int is_law = HLD_LEAST_ROWS > 0 && rows >= HLD_LEAST_ROWS, is_holed = batch->has_holes;
    double difference[HLD_MEANS], squared[HLD_METRICS], each[HLD_METRICS];
    hld_sums(batch);
    hld_weights(batch);
    for (int j = 0; j < HLD_MEANS; j++) {
        result->means[j] = batch->mean[j];
        difference[j] = (is_holed ? batch->weight[j] : 1.0) * (batch->mean[j] - HLD_MEAN[j]);
    }
    for (int i = 0; i < HLD_METRICS; i++) {
        const struct hld_metric *one = HLD_METRIC + i;
        hld_apply(one, difference, batch->product);
        result->distances[i] = sqrt(hld_squared(batch->product, one->rows));
        const double least = one->round_off * (one->is_constant ? rows : 1.0);
        squared[i] = result->distances[i] > least ? result->distances[i] * result->distances[i] : 0.0;
        const double x = squared[i] / inflation, v = 1.0 + one->excess / rows;
        result->pvalues[i] = each[i] = !is_law && !HLD_SIZES ? NAN
            : is_holed ? hld_holed_pvalue(batch, one, x)
            : is_law ? hld_pvalue(one, x, rows)
            : hld_three_moments(one->first, one->second, one->scale, x * rows, v > 0.1 ? v : 0.1);
        if (!is_law)
            result->pvalues[i] = NAN;
    }
    if (!is_law && !HLD_SIZES)
        return NAN;
    double pvalue = hld_harmonic(each);
    if (!is_law)
        pvalue = hld_table(pvalue, rows);
    else if (HLD_METRICS > 1)
        pvalue = hld_joint(pvalue);
    if (HLD_PER_KEPT > 0.0 && pvalue <= HLD_ASKED_BELOW && !(rows == 1.0 && !is_law && !is_holed)) {
        const int count = hld_vectors(batch);
        for (int i = 0; i < HLD_METRICS; i++)
            each[i] = hld_allowed(batch, HLD_METRIC + i, count, squared[i]);
        const double allowed = HLD_METRICS == 1 ? each[0] : hld_joint(hld_harmonic(each));
        pvalue = allowed > pvalue ? allowed : pvalue;
    }
    return pvalue < 1e-300 ? 1e-300 : pvalue;
}

/* --- counts ------------------------------------------------------------------------------------------------------- */

/* The sum of P(J = i) from j on, each term from the one before: J of T drawn from N, of which K are marked. */
static double hld_falling(double N, double K, double T, double j, double highest)
{
    double term = exp(hld_log_gamma(K + 1.0) + hld_log_gamma(N - K + 1.0) + hld_log_gamma(T + 1.0) + hld_log_gamma(N - T + 1.0)
                      - hld_log_gamma(j + 1.0) - hld_log_gamma(K - j + 1.0) - hld_log_gamma(T - j + 1.0)
                      - hld_log_gamma(N - K - T + j + 1.0) - hld_log_gamma(N + 1.0));
    double total = 0.0;
    for (; j <= highest; j += 1.0) {
        total += term;
        term *= (K - j) * (T - j) / ((j + 1.0) * (N - K - T + j + 1.0));
        if (term <= 1e-18 * total)
            break;
    }
    return total < 1.0 ? total : 1.0;
}

/* P(J >= j). */
static double hld_hypergeometric(double N, double K, double T, double j)
{
    const double lowest = K + T > N ? K + T - N : 0.0, highest = K < T ? K : T;
    if (j <= lowest)
        return 1.0;
    if (j > highest)
        return 0.0;
    return j > K * T / N ? hld_falling(N, K, T, j, highest) : 1.0 - hld_falling(N, N - K, T, T - j + 1.0, T - lowest);
}

/* Twice the tail of a count on its side of the mean, or the upper tail. */
static double hld_count_pvalue(double N, double K, double T, double j, int is_two_sided)
{
    const int is_above = j * N > T * K;
    if (j * N == T * K || (!is_above && !is_two_sided))
        return 1.0;
    const double tail = is_above ? hld_hypergeometric(N, K, T, j) : hld_hypergeometric(N, N - K, T, T - j);
    return !is_two_sided ? tail : 2.0 * tail < 1.0 ? 2.0 * tail : 1.0;
}

struct hld_margin { double N, K, T; };
struct hld_point { double pvalue, mass; };

/* The law of the smallest p-value of many exact tests of counts, and what a witness says by it. */
struct hld_witness {
    double pvalue, share, least; /* it finds nothing below `least`, and at every level what `points` attain, if there are any */
    struct hld_point *points;
    int num_points, num_dense, has_law;
};

static int hld_compare_points(const void *one, const void *other)
{
    const double a = ((const struct hld_point *)one)->pvalue, b = ((const struct hld_point *)other)->pvalue;
    return (a > b) - (a < b);
}

/* Lists the p-values below 1 that each test can have, and how probable they are; `points` has room for them. */
static void hld_smallest(struct hld_witness *found, const struct hld_margin *margin, int count, int is_two_sided)
{
    found->num_points = found->num_dense = 0;
    found->has_law = 1;
    for (int i = 0; i < count; i++) {
        const double N = margin[i].N, a = margin[i].K < N - margin[i].K ? margin[i].K : N - margin[i].K;
        const double b = margin[i].T < N - margin[i].T ? margin[i].T : N - margin[i].T;
        const double few = a < b ? a : b, many = a < b ? b : a;
        const int is_mirrored = (a < margin[i].K) != (b < margin[i].T);
        double p[HLD_MOST_VALUES + 1], above[HLD_MOST_VALUES + 2], below = 0.0;
        if (few <= 0.0)
            continue;
        if (few > HLD_MOST_VALUES) {
            found->num_dense++;
            continue;
        }
        p[0] = 1.0;
        for (int j = 0; j < few; j++)
            p[0] *= (N - many - j) / (N - j);
        for (int j = 0; j < few; j++)
            p[j + 1] = p[j] * ((a - j) * (b - j)) / ((j + 1.0) * (N - a - b + j + 1.0));
        above[(int)few + 1] = 0.0;
        for (int j = (int)few; j >= 0; j--)
            above[j] = above[j + 1] + p[j];
        for (int j = 0; j <= few; j++) {
            below += p[j];
            const double point = is_two_sided ? 2.0 * (above[j] < below ? above[j] : below) : is_mirrored ? below : above[j];
            if (point <= 1.0) {
                const struct hld_point one = {point, p[j]};
                found->points[found->num_points++] = one;
            }
        }
    }
    qsort(found->points, (size_t)found->num_points, sizeof *found->points, hld_compare_points);
}

/* The p-value of all tests, of which the smallest has this one. */
static double hld_of_smallest(const struct hld_witness *one, double smallest)
{
    double total = one->num_dense * smallest;
    if (smallest >= 1.0)
        return 1.0;
    for (int i = 0; i < one->num_points && one->points[i].pvalue <= smallest * (1.0 + 1e-5); i++)
        total += one->points[i].mass;
    return total < 1.0 ? total : 1.0;
}

/* How often a witness finds something at a level. */
static double hld_attained(const struct hld_witness *one, double level)
{
    double total = 0.0;
    int i = 0;
    if (!one->has_law)
        return level >= one->least ? level : 0.0;
    while (i < one->num_points) { /* equal p-values count together */
        double mass = 0.0;
        int next = i;
        for (; next < one->num_points && one->points[next].pvalue == one->points[i].pvalue; next++)
            mass += one->points[next].mass;
        if (one->num_dense * one->points[i].pvalue + total + mass > level * (1.0 + 1e-5))
            break;
        total += mass;
        i = next;
    }
    if (one->num_dense)
        total = i < one->num_points ? total + one->num_dense * one->points[i].pvalue : level;
    return total < level ? total : level;
}

/* One count for each column: k of n reference rows, j of T rows of the batch. */
static int hld_columns(struct hld_witness *found, double share, int is_two_sided, const double *n, const double *k,
                       const double *T, const double *j)
{
    struct hld_margin margin[HLD_COLUMNS];
    double smallest = 1.0;
    int count = 0, where = -1;
    for (int v = 0; v < HLD_COLUMNS; v++) {
        const double p = hld_count_pvalue(n[v] + T[v], k[v] + j[v], T[v], j[v], is_two_sided);
        if (k[v] + j[v] > 0.0) {
            const struct hld_margin one = {n[v] + T[v], k[v] + j[v], T[v]};
            margin[count++] = one;
        }
        if (p < smallest) {
            smallest = p;
            where = v;
        }
    }
    if (!count)
        return -1;
    hld_smallest(found, margin, count, is_two_sided);
    found->share = share;
    found->pvalue = hld_of_smallest(found, smallest);
    return where;
}

static double hld_x_log_x(double x)
{
    return x > 0.0 ? x * log(x) : 0.0;
}

/* The largest difference of a single count, of categories and, where they ascend, of all up to a cut. */
static void hld_largest_count(struct hld_witness *found, const double *counts, struct hld_margin *margin, double *evidence,
                              struct hld_result *result)
{
    int first[HLD_COLUMNS], last[HLD_COLUMNS], filled[HLD_COLUMNS], num_margins = 0;
    double n[HLD_COLUMNS], T[HLD_COLUMNS], best = 2.0;
    for (int v = 0; v < HLD_COLUMNS; v++) {
        const int start = HLD_COUNT_START[v], size = HLD_CATEGORIES[v];
        first[v] = last[v] = -1;
        filled[v] = 0;
        n[v] = T[v] = 0.0;
        for (int c = 0; c < size; c++) {
            n[v] += HLD_COUNT[start + c];
            T[v] += counts[start + c];
            if (HLD_COUNT[start + c] + counts[start + c] > 0.0) {
                first[v] = first[v] < 0 ? c : first[v];
                last[v] = c;
                filled[v]++;
            }
        }
    }
    for (int pass = 0; pass < 2; pass++) /* first all evidence, then the p-values of the largest */
        for (int i = 0, left = HLD_EXACT; i < HLD_EVENTS; i++) {
            int e = i;
            if (pass) { /* the next largest */
                for (int other = e = 0; other < HLD_EVENTS; other++)
                    e = evidence[other] > evidence[e] ? other : e;
                if (!left-- || evidence[e] < 0.0)
                    break;
            }
            const int v = HLD_EVENT_COLUMN[e], c = HLD_EVENT_CATEGORY[e], is_cut = HLD_EVENT_IS_CUT[e];
            const int start = HLD_COUNT_START[v], is_first = c == first[v], is_last = c == last[v];
            double k = 0.0, j = 0.0;
            for (int d = is_cut ? 0 : c; d <= c; d++) {
                k += HLD_COUNT[start + d];
                j += counts[start + d];
            }
            const double N = n[v] + T[v], K = k + j;
            if (pass) {
                const double p = hld_count_pvalue(N, K, T[v], j, 1);
                evidence[e] = -2.0;
                if (p < best) {
                    best = p;
                    result->count_column = v;
                    result->count_category = c;
                    result->count_is_cut = is_cut;
                }
                continue;
            }
            const int is_alone = is_cut ? !is_last
                : HLD_HAS_CUTS[v] ? !is_first && !is_last : filled[v] > 2 || is_first;
            const int varies = K > 0.0 && K < N && n[v] > 0.0 && T[v] > 0.0 && is_alone
                && HLD_COUNT[start + c] + counts[start + c] > 0.0;
            evidence[e] = -1.0;
            if (varies) {
                const struct hld_margin one = {N, K, T[v]};
                margin[num_margins++] = one;
                evidence[e] = hld_x_log_x(j) + hld_x_log_x(T[v] - j) + hld_x_log_x(K - j) + hld_x_log_x(N - T[v] - K + j)
                    - hld_x_log_x(T[v]) - hld_x_log_x(N - T[v]) - hld_x_log_x(K) - hld_x_log_x(N - K) + hld_x_log_x(N);
                evidence[e] = evidence[e] > 0.0 ? evidence[e] : 0.0;
            }
        }
    if (!num_margins)
        return;
    hld_smallest(found, margin, num_margins, 1);
    found->share = HLD_COUNT_SHARE;
    found->pvalue = hld_of_smallest(found, best);
}

/* --- dependences -------------------------------------------------------------------------------------------------- */

/* ln of Chernoff's bound of P(sum of T draws >= 0), for values side x - shift with weights m. */
static double hld_with_replacement(const double *m, const double *x, int count, double side, double shift, double T)
{
    double most = -HUGE_VAL, total = 0.0, largest = 0.0, theta = 0.0, least = 0.0;
    for (int i = 0; i < count; i++) {
        const double y = side * x[i] - shift;
        most = y > most ? y : most;
        total += m[i];
    }
    if (most <= 1e-10) {
        for (int i = 0; i < count; i++)
            largest += side * x[i] - shift >= most - 1e-10 ? m[i] : 0.0;
        return T * log(largest / total);
    }
    for (int round = 0; round < HLD_ROUNDS; round++) {
        double sum = 0.0, slope = 0.0, curve = 0.0;
        for (int i = 0; i < count; i++) {
            const double y = side * x[i] - shift, weight = m[i] / total * exp(theta * (y - most));
            sum += weight;
            slope += weight * y;
            curve += weight * y * y;
        }
        const double value = log(sum) + theta * most;
        least = value < least ? value : least;
        slope /= sum;
        curve = curve / sum - slope * slope;
        double step = -slope / (curve > 1e-300 ? curve : 1e-300);
        if (fabs(step) <= 1e-10 * (1.0 + theta))
            break;
        step = step < -theta / 2.0 ? -theta / 2.0 : step;
        theta += step > HLD_LONGEST ? HLD_LONGEST : step;
    }
    return T * least;
}

static double hld_log_sum(double y)
{
    return y > 0.0 ? y + log1p(exp(-y)) : log1p(exp(y));
}

static double hld_sum_at(const double *m, const double *x, int count, double shift, double theta, double psi)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += m[i] * hld_log_sum(theta * (x[i] - shift) + psi);
    return sum;
}

/* ln of the bound of P(sum of T draws without replacement >= 0) by independent draws. */
static double hld_without(const double *m, const double *x, int count, double shift, double T, double N)
{
    const double odds = log(T / (N - T)), none = N * log(N / (N - T));
    double theta = 0.0, psi = 0.0, value = 0.0;
    for (int round = 0; round < HLD_ROUNDS; round++) {
        double a = 0.0, b = -T, A = 0.0, B = 0.0, C = 0.0;
        for (int i = 0; i < count; i++) {
            const double y = x[i] - shift, q = 1.0 / (1.0 + exp(-(odds + theta * y + psi))), p = m[i] * q, w = p * (1.0 - q);
            a += p * y;
            b += p;
            A += w * y * y;
            B += w * y;
            C += w;
        }
        const double ridge = 1e-12 * (A + C) + 1e-300;
        A += ridge;
        C += ridge;
        const double det = A * C - B * B;
        double first = -(C * a - B * b) / det, second = -(A * b - B * a) / det;
        double longest = fabs(first) > fabs(second) ? fabs(first) : fabs(second);
        const double scale = longest > HLD_LONGEST ? HLD_LONGEST / longest : 1.0;
        first *= scale;
        second *= scale;
        double found = hld_sum_at(m, x, count, shift, theta + first, odds + psi + second) - none - (psi + second) * T;
        while (found > value && (fabs(first) > 1e-10 || fabs(second) > 1e-10)) {
            first /= 4.0;
            second /= 4.0;
            found = hld_sum_at(m, x, count, shift, theta + first, odds + psi + second) - none - (psi + second) * T;
        }
        if (found >= value - 1e-10 || theta + first < 0.0)
            break;
        theta += first;
        psi += second;
        value = found;
    }
    return value - (hld_log_gamma(N + 1.0) - hld_log_gamma(T + 1.0) - hld_log_gamma(N - T + 1.0) + T * log(T / N)
                    + (N - T) * log(1.0 - T / N));
}

/* An upper bound of the probability that the mean over a batch is as far out as it is, on its side, given all values. */
static double hld_mean_tail(const double *value, const int *kept, const double *batch, int cells, double *m, double *x)
{
    double lowest = HUGE_VAL, highest = -HUGE_VAL, n = 0.0, T = 0.0, mean = 0.0, own = 0.0;
    int count = 0;
    for (int i = 0; i < cells; i++)
        if (kept[i] + batch[i] > 0.0) {
            x[count] = value[i];
            m[count++] = kept[i] + batch[i];
            lowest = value[i] < lowest ? value[i] : lowest;
            highest = value[i] > highest ? value[i] : highest;
            n += kept[i];
            T += batch[i];
            own += batch[i] * value[i];
            mean += (kept[i] + batch[i]) * value[i];
        }
    if (n <= 0.0 || T <= 0.0)
        return 1.0;
    const double N = n + T, scale = highest - lowest;
    mean /= N;
    own /= T;
    const double side = own > mean ? 1.0 : -1.0, s = fabs(own - mean) / (scale > 0.0 ? scale : 1.0);
    if (scale <= 0.0 || s <= 1e-10)
        return 1.0;
    for (int i = 0; i < count; i++)
        x[i] = side * (x[i] - mean) / scale;
    double least = hld_with_replacement(m, x, count, 1.0, s, T);
    const double other = hld_with_replacement(m, x, count, -1.0, s * T / n, n);
    const double without = hld_without(m, x, count, s, T, N);
    least = other < least ? other : least;
    least = without < least ? without : least;
    return exp(least < 0.0 ? least : 0.0);
}

/* The largest change of a dependence along the tree. */
static void hld_largest_dependence(struct hld_witness *found, const double *pairs, double *exponent, double *m, double *x,
                                   struct hld_result *result)
{
    double best = 2.0, most_rows = 0.0, fewest = 0.0;
    int varying = 0;
    for (int e = 0; e < HLD_EDGES; e++) {
        double n = 0.0, T = 0.0, mean = 0.0, own = 0.0, variance = 0.0;
        for (int i = HLD_PAIR_START[e]; i < HLD_PAIR_START[e + 1]; i++) {
            n += HLD_PAIR[i];
            T += pairs[i];
            own += pairs[i] * HLD_ASSOCIATION[i];
            mean += (HLD_PAIR[i] + pairs[i]) * HLD_ASSOCIATION[i];
        }
        const double N = n + T > 1.0 ? n + T : 1.0;
        mean /= N;
        for (int i = HLD_PAIR_START[e]; i < HLD_PAIR_START[e + 1]; i++) {
            const double off = HLD_ASSOCIATION[i] - mean;
            variance += (HLD_PAIR[i] + pairs[i]) * off * off / N;
        }
        exponent[e] = -1.0;
        x[e] = own / (T > 1.0 ? T : 1.0) - mean;
        if (n > 0.0 && T > 0.0 && sqrt(variance) > 1e-10) {
            exponent[e] = x[e] * x[e] / variance * T * N / n / 2.0;
            const double fewer = T < N - T ? T : N - T;
            most_rows = N > most_rows ? N : most_rows;
            fewest = fewer > fewest ? fewer : fewest;
            varying++;
        }
    }
    if (!varying)
        return;
    for (int i = 0, where = -1; i < HLD_ENCLOSED; i++) {
        int e = 0;
        for (int other = 0; other < HLD_EDGES; other++)
            e = exponent[other] > exponent[e] ? other : e;
        const int start = HLD_PAIR_START[e];
        if (where < 0 || exponent[e] > log(2.0 * varying)) {
            double bound = 2.0;
            if (exponent[e] > log(2.0 * varying))
                bound = 2.0 * hld_mean_tail(HLD_ASSOCIATION + start, HLD_PAIR + start, pairs + start,
                                            HLD_PAIR_START[e + 1] - start, m, x + HLD_EDGES);
            if (where < 0 || bound < best) {
                where = e;
                best = bound;
                result->first_column = HLD_EDGE[2 * e];
                result->second_column = HLD_EDGE[2 * e + 1];
                result->is_weaker = x[e] < 0.0;
            }
        }
        exponent[e] = -2.0;
    }
    found->share = HLD_DEPENDENCE_SHARE;
    found->pvalue = best * varying < 1.0 ? best * varying : 1.0;
    found->least = 2.0 * varying * exp(hld_log_gamma(fewest + 1.0) + hld_log_gamma(most_rows - fewest + 1.0)
                                       - hld_log_gamma(most_rows + 1.0));
}

/* --- all together ------------------------------------------------------------------------------------------------- */

/* Categories of the codes, and what is counted; HLD_BAD_CODE or HLD_REFUSED where a code cannot be. */
static int hld_count(const int *codes, long rows, int *whole, int *has_holes, double *counts, double *pairs, double *missing,
                     double *fresh)
{
    for (int v = 0; v < HLD_COLUMNS; v++)
        missing[v] = fresh[v] = 0.0;
    for (long t = 0; t < rows; t++) {
        const int *row = codes + t * HLD_COLUMNS;
        int *own = whole + t * HLD_COLUMNS;
        for (int v = 0; v < HLD_COLUMNS; v++) {
            const int C = HLD_CATEGORIES[v], is_new = row[v] >= HLD_NEW[v];
            if (row[v] < -1 || row[v] >= (HLD_NEW[v] < C ? C : C + 2))
                return HLD_BAD_CODE;
            if (is_new && HLD_UNSEEN[v] == 2)
                return HLD_REFUSED;
            own[v] = is_new && HLD_UNSEEN[v] == 1 ? -1 : row[v] < C ? row[v] : row[v] == C ? 0 : C - 1;
            missing[v] += row[v] < 0;
            fresh[v] += is_new;
            *has_holes |= own[v] < 0;
            counts[HLD_COUNT_START[v] + (own[v] < 0 ? C : own[v])] += 1.0;
        }
        for (int e = 0; e < HLD_EDGES; e++) {
            const int u = own[HLD_EDGE[2 * e]], v = own[HLD_EDGE[2 * e + 1]];
            if (u >= 0 && v >= 0)
                pairs[HLD_PAIR_START[e] + u * HLD_CATEGORIES[HLD_EDGE[2 * e + 1]] + v] += 1.0;
        }
    }
    return HLD_OK;
}

/* The p-value of the distance and of the witnesses that have shares of its level: `hld.witnesses.witnesses`. */
static double hld_together(double distance, const struct hld_witness *witness)
{
    double rest = 1.0, s = HUGE_VAL;
    for (int i = 0; i < 4; i++)
        if (witness[i].share > 0.0) {
            rest -= witness[i].share;
            s = witness[i].pvalue / witness[i].share < s ? witness[i].pvalue / witness[i].share : s;
        }
    if (distance / rest < s)
        s = distance / rest;
    if (s == HUGE_VAL)
        return NAN;
    double total = rest * s;
    for (int i = 0; i < 4; i++)
        if (witness[i].share > 0.0)
            total += hld_attained(witness + i, witness[i].share * s);
    s = s < 1.0 ? s : 1.0;
    return total < s ? total : s;
}

int hld_test(const int *codes, long rows, struct hld_result *result)
{
    enum { MEANS = 4, VECTORS = 2, LISTED = 3 };
    if (rows < 1)
        return HLD_BAD_CODE;
    const size_t most = HLD_MOST_VECTORS > HLD_MOST_IMAGES ? HLD_MOST_VECTORS : HLD_MOST_IMAGES;
    const size_t used = HLD_PER_KEPT > 0.0 ? HLD_MOST_VECTORS : 1, cells = HLD_CELLS + 1;
    const size_t image = HLD_MEANS > 2 ? HLD_MEANS : 2;
    const size_t sizes[] = {
        MEANS * HLD_MEANS, HLD_NODES, (size_t)HLD_REGIONS * HLD_REGIONS, used * HLD_MEANS, used * HLD_MOST_IMAGES, HLD_SQUARE,
        HLD_MOST_IMAGES * image, VECTORS * most, HLD_COUNTS, cells, HLD_EVENTS + 1, HLD_EDGES + 1, cells, HLD_EDGES + cells
    };
    size_t total = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        total += sizes[i];
    const size_t num_points = (size_t)(HLD_MOST_VALUES + 1) * (HLD_EVENTS + 2 * HLD_COLUMNS);
    double *memory = calloc(total, sizeof *memory);
    struct hld_point *points = malloc(num_points * sizeof *points);
    struct hld_margin *margin = malloc((HLD_EVENTS + 1) * sizeof *margin);
    unsigned char *is_seen = malloc(HLD_NODES);
    int *whole = malloc((size_t)rows * HLD_COLUMNS * sizeof *whole);
    int status = HLD_NO_MEMORY;
    if (memory && points && margin && is_seen && whole) {
        double *part[sizeof sizes / sizeof *sizes], missing[HLD_COLUMNS], fresh[HLD_COLUMNS], n[HLD_COLUMNS], T[HLD_COLUMNS];
        struct hld_batch batch = {whole, rows, 0, 0, 0, 0, 0, 0, is_seen, 0, 0, 0, 0, 0, 0, 0};
        part[0] = memory;
        for (size_t i = 1; i < sizeof sizes / sizeof *sizes; i++)
            part[i] = part[i - 1] + sizes[i - 1];
        batch.mean = part[0];
        batch.shown = part[0] + HLD_MEANS;
        batch.weight = part[0] + 2 * HLD_MEANS;
        batch.factor = part[0] + 3 * HLD_MEANS;
        batch.node = part[1];
        batch.pairs = part[2];
        batch.vectors = part[3];
        batch.mapped = part[4];
        batch.square = part[5];
        batch.product = part[6];
        batch.value = part[7];
        batch.other = part[7] + most;
        double *counts = part[8], *pairs = part[9];
        status = hld_count(codes, rows, whole, &batch.has_holes, counts, pairs, missing, fresh);
        batch.has_holes |= HLD_KEPT_HOLES;
        if (status == HLD_OK) {
            struct hld_witness witness[4] = {{NAN, 0, 0, 0, 0, 0, 0}, {NAN, 0, 0, 0, 0, 0, 0}, {NAN, 0, 0, 0, 0, 0, 0},
                                             {NAN, 0, 0, 0, 0, 0, 0}};
            witness[0].points = points;
            witness[1].points = points + (HLD_MOST_VALUES + 1) * HLD_COLUMNS;
            witness[2].points = points + (HLD_MOST_VALUES + 1) * 2 * HLD_COLUMNS;
            result->missing_column = result->new_column = result->first_column = result->second_column = -1;
            result->count_column = result->count_category = result->count_is_cut = result->is_weaker = -1;
            result->distance = hld_distance(&batch, result);
            for (int v = 0; v < HLD_COLUMNS; v++) {
                n[v] = HLD_TRAINED;
                T[v] = (double)rows;
            }
            if (HLD_TRAINED > 0)
                result->missing_column = hld_columns(witness, HLD_MISSING_SHARE, 1, n, HLD_TRAIN_MISSING, T, missing);
            for (int v = 0; v < HLD_COLUMNS; v++)
                T[v] -= missing[v];
            if (HLD_NUM_KEPT_NEW)
                result->new_column = hld_columns(witness + 1, HLD_NEW_SHARE, 0, HLD_KEPT_VALUES, HLD_KEPT_NEW, T, fresh);
            hld_largest_count(witness + 2, counts, margin, part[10], result);
            hld_largest_dependence(witness + 3, pairs, part[11], part[12], part[13], result);
            result->missing = witness[0].pvalue;
            result->new_values = witness[1].pvalue;
            result->count = witness[2].pvalue;
            result->dependence = witness[3].pvalue;
            result->pvalue = hld_together(result->distance, witness);
            status = isnan(result->distance) ? HLD_FEW_ROWS : HLD_OK;
        }
    }
    free(memory);
    free(points);
    free(margin);
    free(is_seen);
    free(whole);
    return status;
}
