/* Columns of floats where all rows are of one fold and of two groups: each value is added to one of two sums by a mask,
   which costs less than turning columns into rows. Included with T, TAG and BITS, the integer of T's size. */

/* Fewer lanes gcc 12 unrolls before it looks for vectors, and then finds none. */
enum { JOIN(SPLIT, TAG) = 16 };

/* `second` is -1 for a row of the second group and 0 for one of the first. */
CLONES static void JOIN(split, TAG)(const T *restrict x, const int32_t *restrict second, ptrdiff_t n,
                                    double *restrict sums, double *restrict low, double *restrict high) {
    enum { LANE = JOIN(SPLIT, TAG) };
    double a[LANE] = {0.0}, b[LANE] = {0.0};
    T least[LANE], most[LANE];
    ptrdiff_t i = 0;
    for (int u = 0; u < LANE; u++) least[u] = INFINITY, most[u] = -INFINITY;
    for (; i + LANE <= n; i += LANE) {
        for (int u = 0; u < LANE; u++) {
            const T value = x[i + u];
            const BITS mask = (BITS)second[i + u];
            BITS bits;
            T of_first, of_second;
            memcpy(&bits, &value, sizeof bits);
            const BITS first_bits = bits & ~mask, second_bits = bits & mask;
            memcpy(&of_first, &first_bits, sizeof of_first);
            memcpy(&of_second, &second_bits, sizeof of_second);
            least[u] = value < least[u] ? value : least[u];
            most[u] = value > most[u] ? value : most[u];
            a[u] += (double)of_first;
            b[u] += (double)of_second;
        }
    }
    for (; i < n; i++) {
        *(second[i] ? &b[0] : &a[0]) += (double)x[i];
        least[0] = x[i] < least[0] ? x[i] : least[0];
        most[0] = x[i] > most[0] ? x[i] : most[0];
    }
    for (int u = 1; u < LANE; u++) {
        a[0] += a[u], b[0] += b[u];
        least[0] = least[u] < least[0] ? least[u] : least[0];
        most[0] = most[u] > most[0] ? most[u] : most[0];
    }
    sums[0] = a[0], sums[1] = b[0];
    *low = (double)least[0], *high = (double)most[0];
}

#undef T
#undef TAG
#undef BITS
