"""SEFR for ESPHome: a sensor that calibrates itself. The component is in sensor.py."""
