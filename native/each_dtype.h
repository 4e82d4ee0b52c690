/* Includes KERNEL once per element type, with
     T, TAG           the type and its name in enum dtype
     LOWEST, HIGHEST  where a running minimum and maximum start
     SUM, SUM_ROWS    a type that holds the sum of SUM_ROWS values of any size; float64 for wide types, where
                      SUM_ROWS only keeps rounding errors small by adding block by block */
#define T float
#define TAG F32
#define LOWEST INFINITY
#define HIGHEST (-INFINITY)
#define SUM double
#define SUM_ROWS 2048
#include KERNEL
#define T double
#define TAG F64
#define LOWEST INFINITY
#define HIGHEST (-INFINITY)
#define SUM double
#define SUM_ROWS 2048
#include KERNEL
#define T int8_t
#define TAG I8
#define LOWEST INT8_MAX
#define HIGHEST INT8_MIN
#define SUM int16_t /* 256 * -128 = -2^15 */
#define SUM_ROWS 256
#include KERNEL
#define T uint8_t
#define TAG U8
#define LOWEST UINT8_MAX
#define HIGHEST 0
#define SUM uint16_t /* 256 * 255 < 2^16 */
#define SUM_ROWS 256
#include KERNEL
#define T int16_t
#define TAG I16
#define LOWEST INT16_MAX
#define HIGHEST INT16_MIN
#define SUM int32_t /* 2^15 * -2^15 = -2^30 */
#define SUM_ROWS 32768
#include KERNEL
#define T uint16_t
#define TAG U16
#define LOWEST UINT16_MAX
#define HIGHEST 0
#define SUM uint32_t /* 2^15 * 2^16 = 2^31 */
#define SUM_ROWS 32768
#include KERNEL
#define T int32_t
#define TAG I32
#define LOWEST INT32_MAX
#define HIGHEST INT32_MIN
#define SUM double
#define SUM_ROWS 2048
#include KERNEL
#define T uint32_t
#define TAG U32
#define LOWEST UINT32_MAX
#define HIGHEST 0
#define SUM double
#define SUM_ROWS 2048
#include KERNEL
#define T int64_t
#define TAG I64
#define LOWEST INT64_MAX
#define HIGHEST INT64_MIN
#define SUM double
#define SUM_ROWS 2048
#include KERNEL
#define T uint64_t
#define TAG U64
#define LOWEST UINT64_MAX
#define HIGHEST 0
#define SUM double
#define SUM_ROWS 2048
#include KERNEL
#undef KERNEL
