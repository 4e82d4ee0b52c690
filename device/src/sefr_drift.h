/* Drift: an alarm when the mean of the scores leaves its range. A model whose sensors age, or that is asked about another
 * world, answers less clearly (or more clearly) than it did; labels are not needed to notice. The same bits as
 * sefr.device.Drift.
 *
 *     #include <sefr_drift.h>
 *     static sefr_drift drift = SEFR_DRIFT(50, 16);    // means of 50 answers; the first 16 of them set the range
 *     sefr_scores(&model, record, scores);
 *     if (sefr_drift_watch(&drift, sefr_lead(scores, 1)) == SEFR_DRIFTED) ...
 *
 * Definition: the lead of an answer is |score| (binary) or the highest score less the next. Leads are summed over blocks
 * of `length` answers. The first `blocks` sums set the range: from their lowest to their highest, and so many eighths of
 * that distance more on both sides (at least 0): 24 from 8 blocks on, 14 from 12, 10 from 16, 8 from 24, 6 from 32, 5 from
 * 64, 4 from 128. From then on a sum outside the range is SEFR_DRIFTED, told with the last answer of its block. A range
 * that was measured on a computer goes into low and high, with blocks 0.
 *
 * False alarms: without drift, at most one block in 10,000, on average over boards, if answers do not depend on each other
 * and a block has 50 of them or more, so that its sum is near a normal distribution. For normal sums the eighths give one
 * in 20,000; the skew of leads takes up the rest. */
#ifndef SEFR_DRIFT_H
#define SEFR_DRIFT_H

#include "sefr.h"

typedef struct {
    uint16_t length; /* answers per block, 1 or more */
    uint8_t blocks;  /* that set the range, 8 or more; 0: low and high are given */
    uint8_t done;    /* of those */
    uint16_t seen;   /* answers of the present block */
    uint64_t sum;    /* of their leads: 65535 * 2^32 < 2^48 */
    uint64_t low;    /* the range of sums */
    uint64_t high;
} sefr_drift;

#define SEFR_DRIFT(length, blocks) {length, blocks, 0, 0, 0, 0, 0}
/* With the range of the sums from a computer. */
#define SEFR_DRIFT_RANGE(length, low, high) {length, 0, 0, 0, 0, low, high}

/* The lead of an answer, from its scores: `rows` is 1 (binary) or the number of classes. With int16 weights, in units of
 * 65536, and at most 2^32 - 1. */
static inline uint32_t sefr_lead(const sefr_score *scores, uint8_t rows) {
    sefr_score highest = scores[0], second;
    sefr_margin lead;
    uint8_t row;
    if (rows == 1) {
        lead = highest < 0 ? (sefr_margin)0 - (sefr_margin)highest : (sefr_margin)highest;
    } else {
        second = scores[1];
        if (second > highest) {
            second = highest;
            highest = scores[1];
        }
        for (row = 2; row < rows; row++) {
            if (scores[row] > highest) {
                second = highest;
                highest = scores[row];
            } else if (scores[row] > second) {
                second = scores[row];
            }
        }
        lead = (sefr_margin)highest - (sefr_margin)second;
    }
#if SEFR_WEIGHT_BITS == 16
    lead >>= 16;
    if (lead > 0xFFFFFFFFUL) lead = 0xFFFFFFFFUL;
#endif
    return (uint32_t)lead;
}

#define SEFR_DRIFT_LEAST 8U /* blocks; fewer tell too little of how sums spread */

/* By how many eighths of their distance the range goes beyond the extremes of the first blocks. */
static inline uint8_t sefr_drift_eighths(uint8_t blocks) {
    if (blocks < 12) return 24;
    if (blocks < 16) return 14;
    if (blocks < 24) return 10;
    if (blocks < 32) return 8;
    return blocks < 64 ? 6 : blocks < 128 ? 5 : 4;
}

/* Counts the lead of one answer. SEFR_DRIFTED: it ended a block whose sum lies outside the range. SEFR_NOT_READY: the
 * range is not set yet. SEFR_BAD_SHAPE: length is 0, or blocks 1 to 7. */
static inline sefr_status sefr_drift_watch(sefr_drift *drift, uint32_t lead) {
    uint64_t sum, more;
    if (drift->length == 0 || (drift->blocks && drift->blocks < SEFR_DRIFT_LEAST)) return SEFR_BAD_SHAPE;
    drift->sum += lead;
    drift->seen++;
    if (drift->seen < drift->length) return drift->done < drift->blocks ? SEFR_NOT_READY : SEFR_OK;
    sum = drift->sum;
    drift->sum = 0;
    drift->seen = 0;
    if (drift->done >= drift->blocks) return sum < drift->low || sum > drift->high ? SEFR_DRIFTED : SEFR_OK;
    if (drift->done == 0 || sum < drift->low) drift->low = sum;
    if (drift->done == 0 || sum > drift->high) drift->high = sum;
    drift->done++;
    if (drift->done < drift->blocks) return SEFR_NOT_READY;
    more = (drift->high - drift->low) * sefr_drift_eighths(drift->blocks) >> 3;
    drift->low = drift->low > more ? drift->low - more : 0;
    drift->high += more;
    return SEFR_OK;
}

#endif
