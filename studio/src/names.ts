/** The one door for foreign text into generated C, as src/sefr/device/names.py has it. */

import { isPrintable } from "./python_text";

const PLAIN = new Set(new TextEncoder().encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 _.,:;+-=()"));
const LONGEST = 40;

export interface Taken {
  reserved: readonly string[];
  owned: readonly string[];
}

/** Return a C identifier that resembles the text, free for a file and as the beginning of names. */
export function identifier(text: string, taken: Taken): string {
  const free = word(text);
  const lower = free.toLowerCase();
  const used = !free || /^[0-9]/.test(free) || taken.reserved.includes(lower) || taken.owned.some((own) => lower.startsWith(own));
  return used ? `model_${free}`.replace(/_+$/, "") : free;
}

/** Return letters, digits and single underscores that resemble the text. */
export function word(text: string): string {
  return text.replace(/[^A-Za-z0-9]+/g, "_").slice(0, LONGEST).replace(/^_+|_+$/g, "");
}

/** Return text for a comment or a string of C: plain characters, and \NNN for every other byte. */
export function cText(text: string): string {
  const shown = Array.from(text, (char) => (isPrintable(char) || isSurrogate(char) ? (isSurrogate(char) ? "?" : char) : "?"));
  const bytes = new TextEncoder().encode(shown.join(""));
  return Array.from(bytes, (byte) => (PLAIN.has(byte) ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`)).join("");
}

/** Return the words with numbers added where one occurs again. */
export function distinct(words: readonly string[]): string[] {
  const seen = new Set<string>();
  return words.map((first) => {
    let candidate = first;
    for (let n = 2; seen.has(candidate); n++) candidate = `${first}_${n}`;
    seen.add(candidate);
    return candidate;
  });
}

function isSurrogate(char: string): boolean {
  return char.length === 1 && char >= "\ud800" && char <= "\udfff";
}
