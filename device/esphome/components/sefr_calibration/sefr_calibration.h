/* A sensor that calibrates itself: learns a reference from other sensors (sefr_regress.h) and answers when the reference is
 * gone. What it learned is kept in ESPHome's preferences. */
#pragma once

#include "esphome/components/sensor/sensor.h"
#include "esphome/core/component.h"
#include "esphome/core/log.h"
#include "esphome/core/preferences.h"

#include <cmath>

#include "../../../sefr/sefr_regress.h"

namespace esphome::sefr_calibration {

static const char *const TAG = "sefr_calibration";

template<uint8_t INPUTS> class SefrCalibration : public sensor::Sensor, public PollingComponent {
 public:
  SefrCalibration() {
    this->model_.inputs = INPUTS;
    this->model_.sums = this->sums_;
    this->model_.squares = this->squares_;
    this->model_.products = this->products_;
    this->model_.work = this->work_;
    this->model_.weights = this->weights_;
  }

  /// A source whose values `from` to `to` become the bytes 0 to 255; what lies outside is the nearest end.
  void add_source(sensor::Sensor *source, float from, float to) { this->sources_[this->added_++] = {source, from, to}; }
  void set_reference(sensor::Sensor *reference) { this->reference_ = reference; }
  /// The unit that the reference is learned in: 0.1 for tenths.
  void set_step(float step) { this->step_ = step; }
  void set_half_life(uint16_t half_life) { this->model_.half_life = half_life; }

  void setup() override {
    sefr_regress_reset(&this->model_);
    this->model_.id = this->meaning_();
    this->preference_ = global_preferences->make_preference<State>(this->model_.id, true);
    this->restore_();
    this->reference_->add_on_state_callback([this](float value) { this->learn_(value); });
  }

  void update() override {
    uint8_t record[INPUTS];
    int16_t y;
    if (!this->read_(record) || sefr_regress_answer(&this->model_, record, &y) != SEFR_OK) {
      this->publish_state(NAN);
      return;
    }
    this->publish_state(y * this->step_);
  }

  void dump_config() override {
    LOG_SENSOR("", "SEFR calibration", this);
    ESP_LOGCONFIG(TAG, "  %u sources, %u records learned", INPUTS, this->model_.count);
    LOG_UPDATE_INTERVAL(this);
  }

 protected:
  struct Source {
    sensor::Sensor *sensor;
    float from, to;
  };
  struct State {
    uint8_t bytes[SEFR_REGRESS_STATE_BYTES(INPUTS)];
  };

  /// False where a source has no value yet, or not a number.
  bool read_(uint8_t *record) const {
    for (uint8_t i = 0; i < INPUTS; i++) {
      const Source &source = this->sources_[i];
      if (!source.sensor->has_state() || !std::isfinite(source.sensor->state))
        return false;
      float share = (source.sensor->state - source.from) / (source.to - source.from);
      record[i] = share <= 0 ? 0 : share >= 1 ? 255 : (uint8_t) (255 * share + 0.5f);
    }
    return true;
  }

  void learn_(float value) {
    uint8_t record[INPUTS];
    float steps = std::round(value / this->step_);
    if (!(steps >= -32768 && steps <= 32767)) {
      ESP_LOGW(TAG, "A reference of %f is not learned: not a number, or beyond 32767 steps of %f", value, this->step_);
      return;
    }
    if (!this->read_(record)) {
      ESP_LOGW(TAG, "A reference is not learned: a source has no value");
      return;
    }
    sefr_regress_learn(&this->model_, record, (int16_t) steps);
    sefr_regress_solve(&this->model_);
    this->save_();
  }

  /// A number of what the sources and the unit mean: with others, what was learned does not hold.
  uint32_t meaning_() const {
    uint32_t hash = this->get_object_id_hash();
    auto add = [&hash](const void *value, size_t size) {
      for (size_t i = 0; i < size; i++)
        hash = (hash ^ static_cast<const uint8_t *>(value)[i]) * 16777619UL;
    };
    for (const Source &source : this->sources_) {
      uint32_t name = source.sensor->get_object_id_hash();
      add(&name, sizeof name);
      add(&source.from, sizeof source.from);
      add(&source.to, sizeof source.to);
    }
    add(&this->step_, sizeof this->step_);
    return hash;
  }

  static int put_(void *context, uint8_t value) {
    *(*static_cast<uint8_t **>(context))++ = value;
    return 0;
  }

  static int get_(void *context, uint32_t address, uint8_t *bytes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
      bytes[i] = static_cast<State *>(context)->bytes[address + i];
    return 0;
  }

  void save_() {
    State state;
    uint8_t *at = state.bytes;
    sefr_regress_send(&this->model_, put_, &at);
    if (!this->preference_.save(&state))
      ESP_LOGW(TAG, "What was learned could not be kept");
  }

  void restore_() {
    State state;
    if (!this->preference_.load(&state))
      return;
    sefr_storage storage = {get_, nullptr, nullptr, nullptr, &state, sizeof state, 1, 1, nullptr};
    if (sefr_regress_restore(&this->model_, &storage) != SEFR_OK)
      ESP_LOGW(TAG, "What was kept is not of these sources: it begins from nothing");
  }

  sefr_regression model_{};
  uint32_t sums_[INPUTS];
  uint32_t squares_[SEFR_TRIANGLE(INPUTS)];
  sefr_wide products_[INPUTS];
  int32_t work_[INPUTS];
  int16_t weights_[INPUTS];
  Source sources_[INPUTS]{};
  uint8_t added_{0};
  sensor::Sensor *reference_{nullptr};
  float step_{1};
  ESPPreferenceObject preference_;
};

}  // namespace esphome::sefr_calibration
