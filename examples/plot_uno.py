"""
A simulated Arduino Uno
=======================

The exported sketch is compiled with avr-gcc and runs in simavr, which counts the cycles of the processor
exactly. No board is needed.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from sefr import SEFRClassifier
from sefr.device import ToolMissingError, simulate

iris = load_iris()
clf = SEFRClassifier().fit(iris.data, iris.target_names[iris.target])
targets = {}
try:
    for target in ("arduino", "generated"):
        targets[target] = simulate(clf, iris.data[::10], board="uno", target=target)
except ToolMissingError as missing:
    print(missing)

for target, run in targets.items():
    print(
        f"{target}: {run.per_record:.0f} cycles per record, {1e6 * run.seconds:.0f} us at 16 MHz, "
        f"{run.flash:,} bytes of flash, {run.sram} bytes of RAM"
    )
    assert run.predictions.tolist() == clf.predict(iris.data[::10]).tolist()

# %%
figure, axes = plt.subplots(1, 2, figsize=(5.6, 2.6))
for axis, what, of in zip(axes, ("flash", "sram"), (32_768, 2_048)):
    used = [getattr(run, what) for run in targets.values()]
    axis.bar(list(targets), used, width=0.5)
    axis.set(title=f"{what}, of {of:,} bytes", ylim=(0, max(used, default=1) * 1.3))
    for at, value in enumerate(used):
        axis.text(at, value, f"{value:,}", ha="center", va="bottom")
plt.show()
