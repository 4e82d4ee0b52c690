"""The paper's tables of the Arduino Uno, re-run on a simulated one."""
