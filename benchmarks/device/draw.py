"""Draw learning.csv: accuracy against what an answer costs on an Uno, and what learning costs."""

import csv
from pathlib import Path

HERE = Path(__file__).parent
SETS = ("Uno sample", "digits", "motions")
COLOURS = {"sefr": "#c2410c", "emlearn": "#6b7280", "micromlgen": "#9ca3af"}
MARKS = {"emlearn": "s", "micromlgen": "^"}
INK = "#1f2937"


def family(method):
    return method.split(",")[0]


def read():
    with (HERE / "learning.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def main():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [row for row in read() if row["board"] == "uno"]
    numbers = {name: i + 1 for i, name in enumerate(dict.fromkeys(row["method"] for row in rows))}
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(2, 3, figsize=(12, 7.4), constrained_layout=True)
    lines = (("classify", "cycles per answer"), ("learn", "cycles to learn all records"))
    for column, name in enumerate(SETS):
        own = [row for row in rows if row["set"] == name and row["accuracy"]]
        for line, (what, label) in enumerate(lines):
            ax = axes[line, column]
            for row in own:
                if row[what]:
                    kind, number = family(row["method"]), numbers[row["method"]]
                    x, y = float(row[what]), 100 * float(row["accuracy"])
                    ax.plot(x, y, MARKS.get(kind, "o"), color=COLOURS.get(kind, "#2563eb"), markersize=7)
                    place = (0, 7) if number % 2 else (10, -4)
                    ax.annotate(
                        str(number), (x, y), place, textcoords="offset points", ha="center", color=INK
                    )
            ax.set_xscale("log")
            ax.margins(x=0.15, y=0.15)
            ax.set_xlabel(label)
            ax.set_title(name if line == 0 else "", fontsize=11)
            ax.grid(alpha=0.25)
    for line in range(2):
        axes[line, 0].set_ylabel("right answers, %")
    missing = [f"{row['method']} ({row['set']})" for row in rows if row["note"] == "does not fit"]
    names = [f"{number} {name}" for name, number in numbers.items()]
    half = (len(names) + 1) // 2
    text = "    ".join(names[:half]) + "\n" + "    ".join(names[half:])
    text += "\nArduino Uno in simavr, exact cycles. emlearn and micromlgen train on a computer."
    if missing:
        text += f" Not in 2 KB: {', '.join(missing)}."
    figure.supxlabel(text, fontsize=9, color=INK)
    figure.savefig(
        HERE.parents[1] / "docs" / "pictures" / "learning_on_boards.png", dpi=130, facecolor="white"
    )


if __name__ == "__main__":
    main()
