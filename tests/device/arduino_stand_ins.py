"""Stand-ins for Arduino cores that no registry has: names, types and signatures, nothing else.

Compared with the cores' own headers, in the repositories of their makers:

- pins of cores on ArduinoCore-API (mbed, Renesas, arduino-pico): ArduinoCore-API, api/Common.h
- EEPROM: arduino-esp32, libraries/EEPROM; ArduinoCore-renesas, libraries/EEPROM; Arduino_Core_STM32,
  libraries/EEPROM
- analog inputs of ESP32: arduino-esp32, cores/esp32/esp32-hal-adc.h
- raw flash: pico-sdk, hardware/flash.h; esp8266 Arduino, cores/esp8266/flash_hal.h
- the accelerometer of the Nano 33 BLE: Arduino_LSM9DS1, src/LSM9DS1.h

PyPI, npm and Debian were searched: only Debian's arduino-core-avr is a real core (test_arduino.py).
"""

CORE = """#pragma once
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
typedef uint8_t byte;
typedef unsigned int word;
class __FlashStringHelper;
#define F(text) (reinterpret_cast<const __FlashStringHelper *>(text))
enum { DEC = 10, HEX = 16 };
#ifdef STAND_IN_API /* pins have types of their own, and short names are macros */
typedef enum { LOW = 0, HIGH = 1, CHANGE = 2, FALLING = 3, RISING = 4 } PinStatus;
typedef enum { INPUT = 0, OUTPUT = 1, INPUT_PULLUP = 2, INPUT_PULLDOWN = 3, OUTPUT_OPENDRAIN = 4 } PinMode;
typedef uint8_t pin_size_t;
void pinMode(pin_size_t, PinMode);
PinStatus digitalRead(pin_size_t);
void digitalWrite(pin_size_t, PinStatus);
#define SERIAL 0x0
#define DISPLAY 0x1
#define EULER 2.718281828459045235360287471352
#define sq(x) ((x) * (x))
#define bit(b) (1UL << (b))
#define degrees(radians) ((radians) * 57.295779513082320876798154814105)
#else
enum { LOW = 0, HIGH = 1, INPUT = 0, OUTPUT = 1, INPUT_PULLUP = 2 };
void pinMode(uint8_t, uint8_t);
int digitalRead(uint8_t);
void digitalWrite(uint8_t, uint8_t);
#endif
unsigned long millis();
unsigned long micros();
void delay(unsigned long);
class Print {
public:
    size_t print(const __FlashStringHelper *); size_t print(const char *); size_t print(char);
    size_t print(unsigned char, int = DEC); size_t print(int, int = DEC);
    size_t print(unsigned int, int = DEC);
    size_t print(long, int = DEC); size_t print(unsigned long, int = DEC); size_t print(double, int = 2);
    size_t println(const __FlashStringHelper *); size_t println(const char *); size_t println(char);
    size_t println(unsigned char, int = DEC); size_t println(int, int = DEC);
    size_t println(unsigned int, int = DEC); size_t println(long, int = DEC);
    size_t println(unsigned long, int = DEC); size_t println(double, int = 2);
    size_t println();
};
class Stream : public Print {
public:
    int available(); int read(); void setTimeout(unsigned long);
    size_t readBytes(char *, size_t); size_t readBytesUntil(char, char *, size_t);
};
class HardwareSerial : public Stream {
public:
    void begin(unsigned long);
};
extern HardwareSerial Serial;
"""
BYTEWISE = """#pragma once
#include <stdint.h>
struct EEPtr { operator int() const; };
struct EEPROMClass {
    uint8_t read(int); void write(int, uint8_t); void update(int, uint8_t);
    EEPtr begin(); EEPtr end(); uint16_t length();
};
static EEPROMClass EEPROM;
inline uint8_t EEPROMClass::read(int) { return 0; }
inline void EEPROMClass::write(int, uint8_t) {}
inline void EEPROMClass::update(int, uint8_t) {}
inline uint16_t EEPROMClass::length() { return 4096; }
"""
COMMITTED = """#pragma once
#include <stddef.h>
#include <stdint.h>
class EEPROMClass {
public:
    bool begin(size_t); uint8_t read(int); void write(int, uint8_t); bool commit(); uint16_t length();
};
extern EEPROMClass EEPROM;
"""
PICO_FLASH = """#pragma once
#include <stddef.h>
#include <stdint.h>
#define XIP_BASE 0x10000000U
#define FLASH_SECTOR_SIZE (1u << 12)
#define FLASH_PAGE_SIZE (1u << 8)
void flash_range_erase(uint32_t flash_offs, size_t count);
void flash_range_program(uint32_t flash_offs, const uint8_t *data, size_t count);
"""
PICO_SYNC = """#pragma once
#include <stdint.h>
uint32_t save_and_disable_interrupts(void);
void restore_interrupts(uint32_t);
"""
ESP8266_FLASH = """#pragma once
#include <stdint.h>
extern "C" uint32_t _FS_start, _FS_end;
#define FS_PHYS_ADDR ((uint32_t) (uintptr_t) (&_FS_start) - 0x40200000)
#define FS_PHYS_SIZE ((uint32_t) ((uintptr_t) (&_FS_end) - (uintptr_t) (&_FS_start)))
#define FLASH_HAL_OK (0)
extern "C" int32_t flash_hal_read(uint32_t addr, uint32_t size, uint8_t *dst);
extern "C" int32_t flash_hal_write(uint32_t addr, uint32_t size, const uint8_t *src);
extern "C" int32_t flash_hal_erase(uint32_t addr, uint32_t size);
"""
# STM32: the size of a page is a cast, which no #if can read.
STM32_EEPROM = (
    "#define FLASH_PAGE_SIZE ((uint32_t)(16*1024))\n#define E2END (FLASH_PAGE_SIZE - 1)\n" + BYTEWISE
)
# The accelerometer of the Nano 33 BLE, a library.
LSM9DS1 = """#pragma once
class LSM9DS1Class {
public:
    int begin(); void end();
    virtual int readAcceleration(float &x, float &y, float &z);
    virtual int accelerationAvailable();
    virtual float accelerationSampleRate();
};
extern LSM9DS1Class IMU;
"""


def analog(n, first=14, kind="int analogRead(uint8_t);\n"):
    """Inputs A0 .. of consecutive pins."""
    pins = "".join(f"static const uint8_t A{i} = {first + i};\n" for i in range(n))
    return f"#define NUM_ANALOG_INPUTS ({n}u)\n{pins}{kind}"


API = "STAND_IN_API"
RESOLUTION = "void analogReadResolution({});\n"
LED = "#define LED_BUILTIN (13u)\n"
# The original ESP32: A0 is pin 36, the next is A3, and there is no LED.
ESP32 = "".join(
    f"static const uint8_t A{i} = {pin};\n" for i, pin in {0: 36, 3: 39, 4: 32, 5: 33, 6: 34}.items()
)
ESP32 += "uint16_t analogRead(uint8_t);\n" + RESOLUTION.format("uint8_t")
S3 = analog(20, 1, "uint16_t analogRead(uint8_t);\n") + RESOLUTION.format("uint8_t")
# Architecture, as library.properties names it -> the macros of its compiler, and its headers.
CORES = {
    "samd": (["ARDUINO_ARCH_SAMD"], {"Arduino.h": analog(6) + LED}),
    "esp32": (
        ["ARDUINO_ARCH_ESP32", "CONFIG_IDF_TARGET_ESP32=1"],
        {"Arduino.h": ESP32, "EEPROM.h": COMMITTED},
    ),
    "esp32, S3": (
        ["ARDUINO_ARCH_ESP32", "CONFIG_IDF_TARGET_ESP32S3=1"],
        {"Arduino.h": S3 + "#define LED_BUILTIN 48\n", "EEPROM.h": COMMITTED},
    ),
    "esp8266": (
        ["ARDUINO_ARCH_ESP8266"],
        {"Arduino.h": analog(1, 17) + "static const uint8_t LED = 2;\n#define LED_BUILTIN LED\n"}
        | {"flash_hal.h": ESP8266_FLASH, "EEPROM.h": COMMITTED},
    ),
    "rp2040": (
        ["ARDUINO_ARCH_RP2040", API],
        {"Arduino.h": analog(4, 26) + LED, "EEPROM.h": COMMITTED}
        | {"hardware/flash.h": PICO_FLASH, "hardware/sync.h": PICO_SYNC},
    ),
    "mbed_nano": (
        ["ARDUINO_ARCH_MBED", "ARDUINO_ARCH_MBED_NANO", API],
        {"Arduino.h": analog(8) + LED, "Arduino_LSM9DS1.h": LSM9DS1},
    ),
    "mbed_rp2040": (["ARDUINO_ARCH_MBED", "ARDUINO_ARCH_RP2040", API], {"Arduino.h": analog(4, 26) + LED}),
    "nrf52": (["ARDUINO_ARCH_NRF52"], {"Arduino.h": analog(8) + LED}),
    "renesas_uno": (["ARDUINO_ARCH_RENESAS", API], {"Arduino.h": analog(6) + LED, "EEPROM.h": BYTEWISE}),
    "renesas_portenta": (["ARDUINO_ARCH_RENESAS", API], {"Arduino.h": analog(8) + LED, "EEPROM.h": BYTEWISE}),
    "teensy": (["TEENSYDUINO=159"], {"Arduino.h": analog(14) + LED, "EEPROM.h": BYTEWISE}),
    "stm32": (["ARDUINO_ARCH_STM32"], {"Arduino.h": analog(6, 192) + LED, "EEPROM.h": STM32_EEPROM}),
}
