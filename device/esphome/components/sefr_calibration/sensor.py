"""``platform: sefr_calibration``: a number learned from other sensors and, now and then, a reference."""

from pathlib import Path

import esphome.codegen as cg
import esphome.config_validation as cv
from esphome.components import sensor
from esphome.const import CONF_FROM, CONF_SOURCE, CONF_STEP, CONF_TO
from esphome.core import CORE, CoroPriority, coroutine_with_priority
from esphome.helpers import copy_file_if_changed

CONF_HALF_LIFE = "half_life"
CONF_REFERENCE = "reference"
CONF_SOURCES = "sources"
LIBRARY = Path(__file__).resolve().parents[3] / "src"
# What sefr_regress.c is made of. The other sources of the library are not compiled.
FILES = (
    "sefr_regress.c",
    "sefr_regress.h",
    "sefr.h",
    "sefr_state.h",
    "sefr_triangle.h",
    "sefr_avr.h",
    "body/*.h",
)
MOST_SOURCES = 8  # whose state has 248 bytes; a preference of ESPHome holds 255 on some platforms

namespace = cg.esphome_ns.namespace("sefr_calibration")
SefrCalibration = namespace.class_("SefrCalibration", sensor.Sensor, cg.PollingComponent)


def _a_range(config):
    if config[CONF_FROM] >= config[CONF_TO]:
        raise cv.Invalid(f"from must be below to, not {config[CONF_FROM]} and {config[CONF_TO]}")
    return config


SOURCE_SCHEMA = cv.All(
    cv.Schema(
        {
            cv.Required(CONF_SOURCE): cv.use_id(sensor.Sensor),
            cv.Required(CONF_FROM): cv.float_,
            cv.Required(CONF_TO): cv.float_,
        }
    ),
    _a_range,
)
CONFIG_SCHEMA = (
    sensor.sensor_schema(SefrCalibration)
    .extend(
        {
            cv.Required(CONF_SOURCES): cv.All(
                cv.ensure_list(SOURCE_SCHEMA), cv.Length(min=1, max=MOST_SOURCES)
            ),
            cv.Required(CONF_REFERENCE): cv.use_id(sensor.Sensor),
            cv.Optional(CONF_STEP, default=1.0): cv.positive_not_null_float,
            cv.Optional(CONF_HALF_LIFE, default=32767): cv.int_range(min=1, max=32767),
        }
    )
    .extend(cv.polling_component_schema("60s"))
)


@coroutine_with_priority(CoroPriority.FINAL)
async def _copy_library():
    """Put the library beside the generated program, where its compiler finds it."""
    for pattern in FILES:
        for file in sorted(LIBRARY.glob(pattern)):
            copy_file_if_changed(file, CORE.relative_src_path("sefr", *file.relative_to(LIBRARY).parts))


async def to_code(config):
    """Write the lines of the program that make the sensor."""
    config[cv.CONF_ID].type = SefrCalibration.template(len(config[CONF_SOURCES]))
    var = await sensor.new_sensor(config)
    await cg.register_component(var, config)
    for part in config[CONF_SOURCES]:
        source = await cg.get_variable(part[CONF_SOURCE])
        cg.add(var.add_source(source, part[CONF_FROM], part[CONF_TO]))
    cg.add(var.set_reference(await cg.get_variable(config[CONF_REFERENCE])))
    cg.add(var.set_step(config[CONF_STEP]))
    cg.add(var.set_half_life(config[CONF_HALF_LIFE]))
    CORE.add_job(_copy_library)
