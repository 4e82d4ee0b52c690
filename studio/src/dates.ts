/** Dates as numbers, as src/sefr/files/dates.py: a column of dates gives its year, month and weekday, and the hour if it has times. */

/** How a date is written: year, month and day in this order; TIMES after it: there are hours, too. */
type Order = "ymd" | "dmy" | "mdy";

const TIMES = "+time";
const HOUR = 3_600_000;
const TIME = String.raw`(?:,?[ T](?<H>[0-9]{1,2}):[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?: ?(?<p>[APap])[Mm])?(?:Z| ?[+-][0-9:]+)?)?`;
const FORMS: Record<Order, RegExp> = {
  ymd: new RegExp(`^(?<y>[0-9]{4})[-/.](?<m>[0-9]{1,2})[-/.](?<d>[0-9]{1,2})${TIME}$`),
  dmy: new RegExp(`^(?<d>[0-9]{1,2})[-/.](?<m>[0-9]{1,2})[-/.](?<y>[0-9]{4}|[0-9]{2})${TIME}$`),
  mdy: new RegExp(`^(?<m>[0-9]{1,2})[-/.](?<d>[0-9]{1,2})[-/.](?<y>[0-9]{4}|[0-9]{2})${TIME}$`),
};

/** Say whether a text is a date, in whatever order. */
export function isDateText(text: string): boolean {
  const plain = text.trim();
  return FORMS.ymd.test(plain) || FORMS.dmy.test(plain);
}

/** The values of a column as dates, in each order in which all of them can be read. */
export class Dates {
  /** Hours since 1970, NaN for a day or an hour that does not exist. */
  private readonly hours = new Map<Order, number[]>([["ymd", []], ["dmy", []], ["mdy", []]]);
  private filled = false;
  private withTimes = false;
  private withDots = false;

  /** Take the value of the next row, null if it is missing; return whether all can be dates still. */
  add(value: string | null): boolean {
    const text = value?.trim();
    for (const [order, hours] of this.hours) {
      if (text === undefined) {
        hours.push(NaN);
        continue;
      }
      const found = FORMS[order].exec(text)?.groups;
      if (!found || !isSound(found)) {
        this.hours.delete(order);
        continue;
      }
      hours.push(hoursOf(found));
      this.withTimes ||= found.H !== undefined;
    }
    if (text !== undefined) {
      this.filled = true;
      this.withDots ||= text.split(" ", 1)[0].includes(".");
    }
    return this.hours.size > 0;
  }

  /** Whether day and month cannot be told apart. */
  get isAmbiguous(): boolean {
    return this.filled && this.hours.size > 1 && !this.withDots; // nobody writes the month first with dots
  }

  /** How the dates are written; null if there are none, or day and month cannot be told apart. */
  get order(): string | null {
    const [first] = this.hours.keys();
    if (!this.filled || !first || this.isAmbiguous) return null;
    return first + (this.withTimes ? TIMES : "");
  }

  /** Return the numbers that the dates give, by their names: those of partNames. */
  parts(): Float64Array[] {
    const [hours] = this.hours.values();
    const parts = [new Float64Array(hours.length), new Float64Array(hours.length), new Float64Array(hours.length)];
    if (this.withTimes) parts.push(new Float64Array(hours.length));
    hours.forEach((hour, row) => {
      const when = new Date(hour * HOUR);
      const values = [when.getUTCFullYear(), when.getUTCMonth() + 1, ((when.getUTCDay() + 6) % 7) + 1, when.getUTCHours()];
      parts.forEach((part, i) => (part[row] = values[i]));
    });
    return parts;
  }
}

/** Return the names of the numbers that a column of dates gives. */
export function partNames(column: string, order: string): string[] {
  return ["year", "month", "weekday", ...(hasTimes(order) ? ["hour"] : [])].map((part) => `${column} ${part}`);
}

/** Return what dates that are written so are learned as, in words. */
export function partsSaid(order: string): string {
  return hasTimes(order) ? "year, month, weekday and hour" : "year, month and weekday";
}

export function hasTimes(order: string): boolean {
  return order.endsWith(TIMES);
}

function isSound({ m, d }: Record<string, string>): boolean {
  return +m >= 1 && +m <= 12 && +d >= 1 && +d <= 31;
}

function hoursOf({ y, m, d, H = "0", p = "" }: Record<string, string>): number {
  const year = y.length > 2 ? +y : +y + (+y >= 70 ? 1900 : 2000);
  const when = new Date(0);
  const day = when.setUTCFullYear(year, +m - 1, +d) / HOUR;
  if (when.getUTCDate() !== +d || +H > 23) return NaN;
  const half = p.toLowerCase();
  return day + +H + (half === "p" && +H !== 12 ? 12 : half === "a" && +H === 12 ? -12 : 0);
}
