/* SEFR for microcontrollers: learn, solve, classify. C99 and C++11, integers only; no heap, no stdio, no
 * globals: the caller owns every byte.
 *
 *     #include <sefr.h>
 *     SEFR_MODEL(model, 100, 2)                  // 100 features, 2 classes: 539 bytes of RAM
 *     sefr_reset(&model);
 *     sefr_learn(&model, record, label);         // record: 100 bytes; label: 0 or 1
 *     sefr_solve(&model);
 *     sefr_classify(&model, record, &label);
 *
 * Definition (the only one; every kernel, board and the Python package must equal it to the bit)
 *   A record is `features` bytes, a label is 0 .. classes-1. Learning keeps, for each class c, the number of
 *   records n[c] and the sum S[c][j] of every feature. With p the positive side and q the negative side
 *   (binary: p = class 1, q = class 0; more classes: p = class k, q = all others together):
 *     u = S[p][j] n[q],  v = S[q][j] n[p]
 *     w[j] = sign(u - v) floor(ONE |u - v| / (u + v) + 1/2),  0 where u + v = 0         (eq. 5, epsilon = 0)
 *     theta = (T[p] n[q]^2 + T[q] n[p]^2) / (n[p] n[q] (n[p] + n[q])),  T[c] = sum_j w[j] S[c][j]   (eq. 9)
 *   ONE is 127 (int8 weights) or 32767 (int16). The score is sum_j w[j] x[j] + bias.
 *     Binary: bias = -floor(theta); the answer is 1 where the score is above 0, else 0. Since the products are
 *     integers, this decides exactly as theta itself would.
 *     More classes: bias = -ceil(theta); the answer is the highest score, the lowest class on a tie. This is the
 *     paper's argmin with the sign turned, as in decision_function on the host. A class without records has
 *     weights 0 and the lowest score there is: it never wins.
 *   Balanced (SEFR_BALANCED): in theta, n[p] and n[q] are the numbers of classes with records on each side (binary: 1
 *   and 1), so that the border does not move towards the class with fewer records. class_weight="balanced" on the host
 *   is the same idea.
 *   Halving: when class c holds 2 half_life records and one more comes, S[c] and n[c] alone are halved, which keeps the
 *   mean of c; the other classes keep what they learned. See sefr_decay for the rounding.
 *   With learned ranges (model.ranges), low[j] and high[j] are the extremes seen, g[j] = high[j] - low[j], and
 *   G is the smallest g[j] above 0; min-max scaling folds into the weights, so records stay raw:
 *     d = u + v - 2 low[j] n[p] n[q]
 *     w[j] = sign(u - v) floor(ONE G |u - v| / (g[j] d) + 1/2),  0 where g[j] d = 0
 *   int16 weights are the better choice there: a feature with a wide range gets a small weight.
 */
#ifndef SEFR_H
#define SEFR_H

#include <stdint.h>
#ifdef __AVR__
#include <avr/io.h>
#include <avr/pgmspace.h>
#endif

/* ---- Settings ----
 * One configuration for the library and every file that uses it: -D on the command line, or a file sefr_config.h on the
 * include path (Arduino: in this folder), or another file named by -DSEFR_CONFIG='"name.h"'. sefr_reset refuses a model
 * that was laid out with other settings than the library was compiled with.
 *
 * Several widths in one program: write a file wide.c with
 *     #define SEFR_PREFIX wide
 *     #define SEFR_WEIGHT_BITS 16
 *     #include <sefr.c>
 * and define the same two in files that use it before #include <sefr.h>. They call sefr_learn as ever; the symbol that
 * they link to is wide_learn. */
#ifdef SEFR_CONFIG
#include SEFR_CONFIG
#elif defined(__has_include)
#if __has_include("sefr_config.h")
#include "sefr_config.h"
#endif
#endif

/* SEFR_WEIGHT_BITS: 8 or 16. Size of a stored weight.
 *   Cost: 1 or 2 bytes of RAM per weight; 16 is slower (64-bit scores, no AVR kernels). Default 8. */
#ifndef SEFR_WEIGHT_BITS
#define SEFR_WEIGHT_BITS 8
#endif
/* SEFR_SUM_BITS: 16 or 32. Size of a sum.
 *   16: at most 256 records of a class before its count and sums are halved, which forgets slowly.
 *   32: at most 16,777,216 records in all before the largest class is halved. Cost: 2 or 4 bytes per class and feature;
 *   32 has no kernels for learning. Default 16. */
#ifndef SEFR_SUM_BITS
#define SEFR_SUM_BITS 16
#endif
/* SEFR_BINS: 0, 8 or 16. Cuts every feature into so many bins by the top bits of its byte; a model then counts the records
 *   of each class, feature and bin (a cell), and a score is the sum of one weight per feature. Curves instead of lines,
 *   still a sum: counts add and are taken back exactly. The definition above holds with a column of 0 and 1 for each cell
 *   in place of each feature; SEFR_SUM_BITS is 8, and a class is halved at 254 records.
 *   Cost: SEFR_BINS bytes per class and feature for the counts and as many weights; no ranges, no lean models, no
 *   sefr_correct. Learning and classifying take no product. Default 0. */
#ifndef SEFR_BINS
#define SEFR_BINS 0
#endif
#if SEFR_BINS
#if SEFR_BINS != 8 && SEFR_BINS != 16
#error "SEFR_BINS must be 0, 8 or 16"
#endif
#undef SEFR_SUM_BITS
#define SEFR_SUM_BITS 8
#undef SEFR_NO_RANGES
#define SEFR_NO_RANGES 1
#undef SEFR_NO_LEAN
#define SEFR_NO_LEAN 1
#undef SEFR_NO_SPARSE
#define SEFR_NO_SPARSE 1
#undef SEFR_NO_CORRECT
#define SEFR_NO_CORRECT 1
#define SEFR_COLUMNS(features) ((uint32_t)(features) * SEFR_BINS)
#else
#define SEFR_COLUMNS(features) ((uint32_t)(features))
#endif
/* SEFR_RAM_BYTES: RAM of the board in bytes; SEFR_MODEL does not compile when the model and SEFR_STACK_BYTES do
 *   not fit. Cost: none at run time. Default: on AVR the chip's own; elsewhere unchecked. */
#ifndef SEFR_RAM_BYTES
#ifdef __AVR__
#define SEFR_RAM_BYTES (RAMEND - RAMSTART + 1UL)
#else
#define SEFR_RAM_BYTES 0xFFFFFFFFUL
#endif
#endif
/* SEFR_STACK_BYTES: RAM in bytes kept for the stack. On AVR the library sets them aside (section .noinit, counted by
 *   avr-size, the linker and the Arduino IDE as data), so that all models, Serial and every other variable together
 *   cannot take them: a sketch that does not fit does not link. Cost: the heap, if the program has one, begins above
 *   them. 0: nothing is set aside. The deepest call of the library on AVR takes 100 for two classes with int8 weights
 *   and 16-bit sums, 230 more in sefr_learn_batch_P. Default 256 (an Arduino sketch with Serial needs 200); an eighth of
 *   the RAM on chips with less than 2 KB. */
#ifndef SEFR_STACK_BYTES
#ifdef __AVR__
#if RAMEND - RAMSTART + 1 < 2048
#define SEFR_STACK_BYTES ((RAMEND - RAMSTART + 1UL) / 8)
#else
#define SEFR_STACK_BYTES 256UL
#endif
#else
#define SEFR_STACK_BYTES 256UL
#endif
#endif
/* Switches that leave code out; README.md has the bytes of flash that each saves. Default: none.
 *   SEFR_TWO_CLASSES  only binary models.
 *   SEFR_NO_RANGES    no SEFR_RANGE_MODEL. Saves a pointer per model.
 *   SEFR_NO_LEAN      no SEFR_LEAN_MODEL.
 *   SEFR_NO_SPARSE    no kernels that skip zeros (option SEFR_SPARSE is then without effect).
 *   SEFR_NO_BALANCED  no SEFR_BALANCED.
 *   SEFR_NO_UNKNOWN   no "don't know" (margin, SEFR_CHECK_RANGES). Saves a score per model.
 *   SEFR_NO_CORRECT   no sefr_correct, and so no weights in states.
 *   SEFR_NO_STEPS     no saves in steps (sefr_save_begin).
 *   SEFR_NO_STATE     no states (sefr_send, sefr_save, sefr_restore). Saves id and base, 8 bytes per model.
 *   SEFR_PORTABLE     no assembly and no packed arithmetic: the C that the kernels are compared with. */

#if SEFR_WEIGHT_BITS == 8
typedef int8_t sefr_weight;
typedef int32_t sefr_score;
typedef uint32_t sefr_margin;
#define SEFR_ONE 127
/* |score| <= 2 * 127 * 255 * 32767 = 2,122,318,590 < 2^31. */
#define SEFR_MAX_FEATURES 32767U
#elif SEFR_WEIGHT_BITS == 16
typedef int16_t sefr_weight;
typedef int64_t sefr_score;
typedef uint64_t sefr_margin;
#define SEFR_ONE 32767
/* |T| <= 32767 * 255 * 65535 * 2^24 = 9.187e18 < 2^63 = 9.223e18 at the largest count (32-bit sums). */
#define SEFR_MAX_FEATURES 65534U
#else
#error "SEFR_WEIGHT_BITS must be 8 or 16"
#endif
/* The largest |bias| of a sefr_fixed and after sefr_correct: 127 * 255 * 32767 < 2^30, so that a score fits its type.
 * The one exception is the lowest number of the type, for a class that never wins (its weights are 0). */
#define SEFR_MAX_BIAS ((sefr_score)1 << (sizeof(sefr_score) * 8 - 2))

#if SEFR_SUM_BITS == 8
typedef uint8_t sefr_sum; /* the count of a cell, at most that of its class */
typedef uint16_t sefr_count;
/* Per class, an even number below 2^8. */
#define SEFR_MAX_RECORDS 254U
#define SEFR_MAX_CLASSES_ 43
#elif SEFR_SUM_BITS == 16
typedef uint16_t sefr_sum;
typedef uint16_t sefr_count;
/* Per class: 256 * 255 = 65,280 < 2^16. */
#define SEFR_MAX_RECORDS 256U
/* 3 (u + v) <= 3 * 510 * 256 * 256 * (classes - 1) < 2^32 up to 43 classes. */
#define SEFR_MAX_CLASSES_ 43
#elif SEFR_SUM_BITS == 32
typedef uint32_t sefr_sum;
typedef uint32_t sefr_count;
/* In all classes together: 2^24 * 255 < 2^32; u + v <= 510 (2^23)^2 < 2^55, and 255 times that < 2^63. */
#define SEFR_MAX_RECORDS 16777216UL
#define SEFR_MAX_CLASSES_ 254
#else
#error "SEFR_SUM_BITS must be 16 or 32 (8 comes with SEFR_BINS)"
#endif
#ifdef SEFR_TWO_CLASSES
#define SEFR_MAX_CLASSES 2
#else
#define SEFR_MAX_CLASSES SEFR_MAX_CLASSES_
#endif

/* What decides the layout of sefr_model, in a byte. */
#ifdef SEFR_NO_RANGES
#define SEFR_RANGES_SETTING_ 0
#else
#define SEFR_RANGES_SETTING_ 32
#endif
#ifdef SEFR_NO_STATE
#define SEFR_STATE_SETTING_ 0
#else
#define SEFR_STATE_SETTING_ 64
#endif
#ifdef SEFR_NO_UNKNOWN
#define SEFR_UNKNOWN_SETTING_ 0
#else
#define SEFR_UNKNOWN_SETTING_ 128
#endif
#if SEFR_BINS
#define SEFR_SUM_SETTING_ (SEFR_BINS == 8 ? 4 : 12)
#else
#define SEFR_SUM_SETTING_ (SEFR_SUM_BITS / 8 << 2)
#endif
#define SEFR_SETTINGS                                                                                               \
    (SEFR_WEIGHT_BITS / 8 | SEFR_SUM_SETTING_ | SEFR_RANGES_SETTING_ | SEFR_STATE_SETTING_ | SEFR_UNKNOWN_SETTING_)

/* A number of features or a place among them; 16 bits wide on AVR. */
typedef unsigned int sefr_index;

/* What every call returns. Anything but SEFR_OK means that nothing was changed; only with SEFR_UNKNOWN the label is
 * written, as the best guess. */
typedef enum {
    SEFR_OK = 0,
    SEFR_BAD_LABEL = 1,     /* the label is not below `classes` */
    SEFR_NOT_READY = 2,     /* solve: fewer than two classes have records (binary: either is empty);
                               classify: not solved yet, or (without stored weights) learned since;
                               correct: not solved yet, or the class had no records when it was */
    SEFR_FULL = 3,          /* merge: the records of both do not fit the sums; sefr_decay one first */
    SEFR_NEVER_LEARNED = 4, /* forget: the sums cannot contain this record */
    SEFR_BAD_SHAPE = 5,     /* merge, restore, save: other features, classes, sum width or ranges; or beyond the limits */
    SEFR_BAD_VERSION = 6,   /* restore, save: written by another version of the state format */
    SEFR_BAD_STATE = 7,     /* restore: no state there, or its checksum or contents are wrong */
    SEFR_NO_ROOM = 8,       /* save: the storage is smaller than two states */
    SEFR_IO = 9,            /* save, send: a callback failed, or the storage reads back other bytes; the
                               state saved before is still there */
    SEFR_OTHER_MODEL = 10,  /* merge, restore, save: the state's id is not the model's */
    SEFR_UNKNOWN = 11,      /* classify: the margin is too small, or a value lies outside the range learned */
    SEFR_BAD_SETTINGS = 12, /* reset: the model was laid out with other settings than the library was compiled with */
    SEFR_DRIFTED = 13,      /* sefr_drift_watch: the mean of the scores left its range */
    SEFR_BUSY = 14,         /* save_begin, save_step: call save_step again */
    SEFR_CHANGED = 15       /* save_step: the model was changed since save_begin; the state saved before is still there */
} sefr_status;

/* Options of a model, or'ed together; set them before learning. Default 0.
 * SEFR_SPARSE: AVR kernels skip zeros: a third quicker where most values are 0, a quarter slower where none is; the
 *   same result.
 * SEFR_BALANCED: the border as if every class had as many records (see the definition above).
 * SEFR_KEEP_WEIGHTS: states hold the weights too, so that what sefr_correct changed is restored; SEFR_WEIGHT_BYTES more
 *   per state.
 * SEFR_CHECK_RANGES: with learned ranges, sefr_classify answers SEFR_UNKNOWN where a value lies outside its range. */
enum { SEFR_SPARSE = 1, SEFR_BALANCED = 2, SEFR_KEEP_WEIGHTS = 4, SEFR_CHECK_RANGES = 8 };

/* A model that learns. Use SEFR_MODEL or SEFR_LEAN_MODEL to lay it out; all arrays belong to the caller. */
typedef struct {
    sefr_index features;  /* with SEFR_BINS, cells: SEFR_BINS times the bytes of a record */
    uint8_t classes;
    uint8_t options;      /* see above */
    uint8_t solved;       /* set by sefr_solve */
    uint8_t fresh;        /* nothing was learned since sefr_solve */
    uint8_t settings;     /* SEFR_SETTINGS */
    sefr_count half_life; /* drift: when a class has 2 half_life records, those count half from the next one on. So its
                             mean follows the last half_life to 2 half_life records. 1 .. SEFR_MAX_RECORDS / 2; the
                             largest is the default */
    sefr_sum *sums;       /* classes x features, row-major */
    sefr_count *counts;   /* classes */
    sefr_weight *weights; /* 1 x features (binary) or classes x features; NULL: computed at each classify */
    sefr_score *bias;     /* 1 (binary) or classes */
#ifndef SEFR_NO_RANGES
    uint8_t *ranges; /* low[features] then high[features], learned from the records; NULL: 0..255 known */
#endif
#ifndef SEFR_NO_UNKNOWN
    sefr_margin margin; /* "don't know" where |score| (binary) or the highest score less the next is below it. 0: never */
#endif
#ifndef SEFR_NO_STATE
    uint32_t id;   /* of what the features and classes mean; a state of another id is refused. Default 0 */
    uint32_t base; /* of what the model started from, for the host; comes with that state. 0: from nothing */
#endif
} sefr_model;

/* A model that only classifies; weights and bias in flash (SEFR_FLASH). */
typedef struct {
    sefr_index features; /* with SEFR_BINS, cells */
    uint8_t classes;
    const sefr_weight *weights;
    const sefr_score *bias; /* |bias| <= SEFR_MAX_BIAS */
#ifndef SEFR_NO_UNKNOWN
    sefr_margin margin; /* as in sefr_model */
#endif
} sefr_fixed;

/* Attribute of constants in flash: weights and bias of sefr_fixed, records of the _P calls. */
#ifdef __AVR__
#define SEFR_FLASH PROGMEM
#else
#define SEFR_FLASH
#endif

#define SEFR_ROWS(classes) ((classes) == 2 ? 1U : (unsigned)(classes))
/* Bytes of RAM of the arrays and the structure. */
#define SEFR_LEAN_BYTES(features, classes)                                                                          \
    (SEFR_COLUMNS(features) * (classes) * sizeof(sefr_sum) + (uint32_t)(classes) * sizeof(sefr_count) +               \
     SEFR_ROWS(classes) * sizeof(sefr_score) + sizeof(sefr_model))
#define SEFR_MODEL_BYTES(features, classes)                                                                         \
    (SEFR_LEAN_BYTES(features, classes) + SEFR_COLUMNS(features) * SEFR_ROWS(classes) * sizeof(sefr_weight))
#define SEFR_RANGE_BYTES(features) (2UL * (features))

#define SEFR_FITS(bytes, features, classes)                                                                         \
    ((bytes) + SEFR_STACK_BYTES <= SEFR_RAM_BYTES && (features) >= 1 && SEFR_COLUMNS(features) <= SEFR_MAX_FEATURES && \
     (classes) >= 2 && (classes) <= SEFR_MAX_CLASSES)
#define SEFR_ARRAYS_(name, features, classes)                                                                       \
    static sefr_sum name##_sums[SEFR_COLUMNS(features) * (classes)];                                                \
    static sefr_count name##_counts[classes];                                                                       \
    static sefr_score name##_bias[SEFR_ROWS(classes)];
#ifdef SEFR_NO_RANGES
#define SEFR_RANGES_(pointer)
#else
#define SEFR_RANGES_(pointer) pointer,
#endif
#ifdef SEFR_NO_UNKNOWN
#define SEFR_MARGIN_
#else
#define SEFR_MARGIN_ 0,
#endif
#ifdef SEFR_NO_STATE
#define SEFR_ID_
#define SEFR_BASE_
#else
#define SEFR_ID_ 0,
#define SEFR_BASE_ 0,
#endif
#define SEFR_STRUCTURE_(name, features, classes, weights, ranges)                                                   \
    static sefr_model name = {SEFR_COLUMNS(features), classes,       0,       0,           0, SEFR_SETTINGS, SEFR_MAX_RECORDS / 2, \
                              name##_sums, name##_counts, weights, name##_bias, SEFR_RANGES_(ranges) SEFR_MARGIN_       \
                                                                                    SEFR_ID_ SEFR_BASE_};
/* Lays out a model at file scope: SEFR_MODEL(name, features, classes). "size of array ..._does_not_fit is
 * negative" means: too large for SEFR_RAM_BYTES - SEFR_STACK_BYTES, or beyond the limits above. On AVR the linker's
 * "section .noinit is not within region data" means the same for all variables of the program together. */
#define SEFR_MODEL(name, features, classes)                                                                         \
    typedef char name##_does_not_fit[SEFR_FITS(SEFR_MODEL_BYTES(features, classes), features, classes) ? 1 : -1];   \
    SEFR_ARRAYS_(name, features, classes)                                                                           \
    static sefr_weight name##_weights[SEFR_COLUMNS(features) * SEFR_ROWS(classes)];                                 \
    SEFR_STRUCTURE_(name, features, classes, name##_weights, 0)
#ifndef SEFR_NO_RANGES
/* The same with learned ranges: SEFR_RANGE_BYTES(features) more RAM. */
#define SEFR_RANGE_MODEL(name, features, classes)                                                                   \
    typedef char name##_does_not_fit[SEFR_FITS(SEFR_MODEL_BYTES(features, classes) + SEFR_RANGE_BYTES(features),    \
                                               features, classes)                                                   \
                                         ? 1                                                                        \
                                         : -1];                                                                     \
    SEFR_ARRAYS_(name, features, classes)                                                                           \
    static sefr_weight name##_weights[SEFR_COLUMNS(features) * SEFR_ROWS(classes)];                                 \
    static uint8_t name##_ranges[2UL * (features)];                                                                 \
    SEFR_STRUCTURE_(name, features, classes, name##_weights, name##_ranges)
#endif
#ifndef SEFR_NO_LEAN
/* The same without stored weights: the most features for the RAM (64 x 10 on an Uno; 480 binary with
 * all switches). Each classify then computes the weights again, about 400 cycles
 * per weight on AVR, with the same result. */
#define SEFR_LEAN_MODEL(name, features, classes)                                                                    \
    typedef char name##_does_not_fit[SEFR_FITS(SEFR_LEAN_BYTES(features, classes), features, classes) ? 1 : -1];    \
    SEFR_ARRAYS_(name, features, classes)                                                                           \
    SEFR_STRUCTURE_(name, features, classes, 0, 0)
#endif

/* Gives the next value of a record: a sensor, a serial line, a memory chip. Called once per feature, in order. */
typedef uint8_t (*sefr_reader)(void *context);
/* Takes the next byte of a state. 0: taken. */
typedef int (*sefr_writer)(void *context, uint8_t value);

#ifdef SEFR_PREFIX
#define SEFR_JOIN_(prefix, name) prefix##_##name
#define SEFR_JOIN(prefix, name) SEFR_JOIN_(prefix, name)
#define SEFR_NAME(name) SEFR_JOIN(SEFR_PREFIX, name)
#define sefr_reset SEFR_NAME(reset)
#define sefr_learn SEFR_NAME(learn)
#define sefr_learn_each SEFR_NAME(learn_each)
#define sefr_learn_batch SEFR_NAME(learn_batch)
#define sefr_learn_P SEFR_NAME(learn_P)
#define sefr_learn_batch_P SEFR_NAME(learn_batch_P)
#define sefr_forget SEFR_NAME(forget)
#define sefr_decay SEFR_NAME(decay)
#define sefr_merge SEFR_NAME(merge)
#define sefr_solve SEFR_NAME(solve)
#define sefr_classify SEFR_NAME(classify)
#define sefr_classify_P SEFR_NAME(classify_P)
#define sefr_classify_each SEFR_NAME(classify_each)
#define sefr_classify_fixed SEFR_NAME(classify_fixed)
#define sefr_correct SEFR_NAME(correct)
#define sefr_scores SEFR_NAME(scores)
#define sefr_scores_fixed SEFR_NAME(scores_fixed)
#define sefr_byte SEFR_NAME(byte)
#define sefr_state_bytes SEFR_NAME(state_bytes)
#define sefr_send SEFR_NAME(send)
#define sefr_save SEFR_NAME(save)
#define sefr_save_begin SEFR_NAME(save_begin)
#define sefr_save_step SEFR_NAME(save_step)
#define sefr_restore SEFR_NAME(restore)
#define sefr_discard SEFR_NAME(discard)
#define sefr_stack SEFR_NAME(stack)
#define sefr_stack_paint SEFR_NAME(stack_paint)
#define sefr_stack_left SEFR_NAME(stack_left)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Forgets everything. Call it once before the first learn. SEFR_BAD_SHAPE: features, classes or half_life beyond the
 * limits. */
sefr_status sefr_reset(sefr_model *model);

/* Adds one record. When its class is full, what the class learned before counts half from then on. */
sefr_status sefr_learn(sefr_model *model, const uint8_t *record, uint8_t label);
/* The same for a record that does not fit the RAM: values come from `next`, one at a time. */
sefr_status sefr_learn_each(sefr_model *model, sefr_reader next, void *context, uint8_t label);
/* The same as `records` calls of sefr_learn; labels are checked first. records: rows of `features` bytes. */
sefr_status sefr_learn_batch(sefr_model *model, const uint8_t *rows, const uint8_t *labels, sefr_index records);

/* Takes one record back, exactly. Ranges stay. Records from before a halving count less than one and cannot be taken
 * back exactly. */
sefr_status sefr_forget(sefr_model *model, const uint8_t *record, uint8_t label);
/* Halves what every class learned: n becomes ceil(n / 2), S becomes floor(S ceil(n / 2) / n), so the means stay (within
 * 1 / n) and the last record of a class is kept. A full class is halved in the same way, by itself. */
sefr_status sefr_decay(sefr_model *model);
/* Adds all that `other` learned: counts and sums add up. Equal to having learned its records, if neither was halved. */
sefr_status sefr_merge(sefr_model *model, const sefr_model *other);

/* Computes the weights (when stored) and the bias from the sums. Learning can go on; solve again when wanted. */
sefr_status sefr_solve(sefr_model *model);

/* Writes the class of a record to *label. */
sefr_status sefr_classify(const sefr_model *model, const uint8_t *record, uint8_t *label);
/* The same with values from `next`; binary models only, since a record can be read but once. */
sefr_status sefr_classify_each(const sefr_model *model, sefr_reader next, void *context, uint8_t *label);
sefr_status sefr_classify_fixed(const sefr_fixed *model, const uint8_t *record, uint8_t *label);
/* Writes the score (binary: one, above 0 means class 1) or the score of each class (highest wins). */
sefr_status sefr_scores(const sefr_model *model, const uint8_t *record, sefr_score *scores);
sefr_status sefr_scores_fixed(const sefr_fixed *model, const uint8_t *record, sefr_score *scores);

/* Tells a solved model what the class of a record is. Nothing changes if it would have said so. Otherwise, with
 * d[j] = x[j] times a sixteenth of ONE over 255, rounded (int8: (x[j] + 16) >> 5, int16: 8 x[j]), the weights of the
 * right class gain d and those of the wrong answer lose it (binary: the one row gains or loses it), kept within
 * -ONE .. ONE; the bias moves as the weight of a value that is always 255, kept within SEFR_MAX_BIAS. The sums stay as
 * they are, so sefr_solve undoes corrections; call sefr_learn as well to make the record count there. States hold
 * corrections with the option SEFR_KEEP_WEIGHTS.
 * SEFR_BAD_SHAPE: a lean model, which has no stored weights. SEFR_NOT_READY: not solved yet, or the class had no records
 * when it was: learn one and solve. */
sefr_status sefr_correct(sefr_model *model, const uint8_t *record, uint8_t label);

/* The same calls for records (and labels) in the flash of an AVR (PROGMEM). */
#ifdef __AVR__
sefr_status sefr_learn_P(sefr_model *model, const uint8_t *record, uint8_t label);
sefr_status sefr_learn_batch_P(sefr_model *model, const uint8_t *rows, const uint8_t *labels, sefr_index records);
sefr_status sefr_classify_P(const sefr_model *model, const uint8_t *record, uint8_t *label);
/* For debugging: paint the free RAM once, at the start; from then on sefr_stack_left tells how many bytes of it no stack
 * and no heap ever touched. Near 0: the sketch is about to fail. */
void sefr_stack_paint(void);
uint16_t sefr_stack_left(void);
#else
#undef sefr_learn_P
#undef sefr_learn_batch_P
#undef sefr_classify_P
#define sefr_learn_P sefr_learn
#define sefr_learn_batch_P sefr_learn_batch
#define sefr_classify_P sefr_classify
#endif

/* A known range: maps a sensor's value to a byte, floor(255 (value - low) / (high - low) + 1/2), 0 below low (and
 * where high <= low), 255 above high. high - low must be below 2^24. */
uint8_t sefr_byte(int32_t value, int32_t low, int32_t high);

#ifdef __cplusplus
}
#endif

#ifndef SEFR_NO_STATE
#include "sefr_state.h"
#endif

#endif
