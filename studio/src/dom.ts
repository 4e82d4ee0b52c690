/** Elements from code: text is always text, so that no name in a file can become markup. */

type Child = Node | string | number | null | false | undefined;
type Value = string | number | boolean | null | undefined | ((event: never) => void);

/** Make an element; attributes that begin with "on" listen, false and null leave an attribute out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Record<string, Value> = {}, ...children: (Child | Child[])[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  put(element, ...children);
  return element;
}

/** Replace what an element holds. */
export function put(element: Element, ...children: (Child | Child[])[]): void {
  const nodes = children.flat().filter((child) => child !== null && child !== false && child !== undefined);
  element.replaceChildren(...nodes.map((child) => (child instanceof Node ? child : String(child))));
}

/** Set a custom property of CSS, which no policy forbids to scripts. */
export function styled<T extends HTMLElement>(element: T, properties: Record<string, string | number>): T {
  for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, String(value));
  return element;
}

export function byId(id: string): HTMLElement {
  return document.getElementById(id)!;
}

/** Return text whose every character can be seen, in one line, cut to so many characters. */
export function visible(text: string, most = 60): string {
  const shown = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, (char) => {
    const code = char.codePointAt(0)!;
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
  const chars = [...shown];
  return chars.length <= most ? shown : `${chars.slice(0, most - 1).join("")}…`;
}

/** Return a number for people: about four digits. */
export function rounded(x: number): string {
  if (!Number.isFinite(x)) return "none";
  const size = Math.abs(x);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return x.toExponential(2);
  return String(Number(x.toPrecision(4)));
}

export function counted(n: number, noun: string): string {
  return `${n.toLocaleString("en-US")} ${noun}${n === 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;
}

export function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}

/** Offer bytes as a file. */
export function offer(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
