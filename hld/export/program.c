/* The program: what stands above is data, what stands here is the same for every model.
 *
 * hld_test(codes, rows, means, distances, pvalues, &pvalue)
 *   codes      rows x HLD_COLUMNS whole numbers, row by row, each from 0 to HLD_CATEGORIES[column] - 1
 *   means      HLD_MEANS doubles: the mean likelihood vector of the batch
 *   distances  HLD_METRICS doubles
 *   pvalues    HLD_METRICS doubles, one for each metric
 *   pvalue     of all metrics together
 * returns HLD_OK; HLD_FEW_ROWS, with p-values that are not numbers, where rows < HLD_LEAST_ROWS; HLD_BAD_CODE, with nothing
 * computed, where a code is not one of its column or there are no rows.  Nothing is allocated, nothing is kept: threads may
 * call it at a time.
 */
enum { HLD_OK = 0, HLD_FEW_ROWS = 1, HLD_BAD_CODE = 2 };

/* Likelihoods of all nodes for one row: children come before their parents. */
static void hld_nodes(const int *code, double *node)
{
    for (int n = 0; n < HLD_NODES; n++) {
        const int first = HLD_STARTS[n], end = HLD_STARTS[n + 1];
        double value = HLD_KINDS[n] == 1 ? 1.0 : 0.0;
        if (HLD_KINDS[n] == 0)
            value = HLD_WEIGHTS[first + code[HLD_CHILDREN[first]]];
        else if (HLD_KINDS[n] == 1)
            for (int e = first; e < end; e++)
                value *= node[HLD_CHILDREN[e]];
        else
            for (int e = first; e < end; e++)
                value += HLD_WEIGHTS[e] * node[HLD_CHILDREN[e]];
        node[n] = value;
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

/* The p-value of one metric from its squared distance, by its law at this number of rows. */
static double hld_pvalue(const struct hld_metric *one, double squared, double rows)
{
    double value[HLD_MOST_EIGENVALUES], count[HLD_MOST_EIGENVALUES], v = 1.0;
    if (one->eigenvalues == 0)
        return squared > 0.0 ? 0.0 : 1.0;
    if (one->excess != 0.0) {
        v = 1.0 + one->excess / rows;
        v = v < 0.1 ? 0.1 : v;
        v = v > one->most_scale ? one->most_scale : v;
    }
    for (int j = 0; j < one->eigenvalues; j++) {
        value[j] = one->eigenvalue[j] / one->eigenvalue[0];
        count[j] = one->multiplicity[j] / v;
    }
    return hld_tail(value, count, one->eigenvalues, squared * rows / (one->eigenvalue[0] * v));
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

int hld_test(const int *codes, long rows, double *means, double *distances, double *pvalues, double *pvalue)
{
    double node[HLD_NODES], difference[HLD_MEANS], lost[HLD_MEANS];
    if (rows < 1)
        return HLD_BAD_CODE;
    for (long t = 0; t < rows; t++)
        for (int v = 0; v < HLD_COLUMNS; v++)
            if (codes[t * HLD_COLUMNS + v] < 0 || codes[t * HLD_COLUMNS + v] >= HLD_CATEGORIES[v])
                return HLD_BAD_CODE;
    for (int j = 0; j < HLD_MEANS; j++)
        means[j] = lost[j] = 0.0;
    for (long t = 0; t < rows; t++) {
        hld_nodes(codes + t * HLD_COLUMNS, node);
        for (int j = 0; j < HLD_MEANS; j++)
            hld_add(&means[j], &lost[j], node[HLD_CHOSEN[j]]);
    }
    for (int j = 0; j < HLD_MEANS; j++) {
        means[j] = (means[j] + lost[j]) / (double)rows;
        difference[j] = means[j] - HLD_MEAN[j];
    }
    const int is_law = HLD_LEAST_ROWS > 0 && rows >= HLD_LEAST_ROWS;
    const double inflation = HLD_TRAIN > 0 ? 1.0 + (double)rows / HLD_TRAIN : 1.0;
    double inverse = 0.0;
    for (int i = 0; i < HLD_METRICS; i++) {
        const struct hld_metric *one = HLD_METRIC + i;
        double squared = 0.0;
        for (int r = 0; r < one->rows; r++) {
            double sum = 0.0;
            for (int e = one->start[r]; e < one->start[r + 1]; e++)
                sum += one->value[e] * difference[one->place[e]];
            squared += sum * sum;
        }
        distances[i] = sqrt(squared);
        double beyond = distances[i] > one->round_off ? distances[i] : 0.0;
        pvalues[i] = is_law ? hld_pvalue(one, beyond * beyond / inflation, (double)rows) : NAN;
        inverse += 1.0 / pvalues[i] / HLD_METRICS;
    }
    *pvalue = !is_law ? NAN : HLD_METRICS == 1 ? pvalues[0] : hld_joint(1.0 / inverse);
    if (is_law && *pvalue < 1e-300)
        *pvalue = 1e-300;
    return is_law ? HLD_OK : HLD_FEW_ROWS;
}
