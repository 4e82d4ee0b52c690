/** A zip archive, stored without compression and without the time: the same files give the same bytes. */

import { crc32 } from "./crc32";

export function zip(files: ReadonlyMap<string, Uint8Array>): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  const entries: Uint8Array[] = [];
  let offset = 0;
  for (const [path, content] of files) {
    const name = encoder.encode(path);
    const crc = crc32(content);
    // version 2.0, names in UTF-8, stored, 1 January 1980
    const common = [20, 0x0800, 0, 0, 0x21].flatMap((n) => word(n, 2)).concat([crc, content.length, content.length].flatMap((n) => word(n, 4)), word(name.length, 2), word(0, 2));
    const head = Uint8Array.from([...word(0x04034b50, 4), ...common, ...name]);
    entries.push(Uint8Array.from([...word(0x02014b50, 4), ...word(20, 2), ...common, ...word(0, 2), ...word(0, 2), ...word(0, 2), ...word(0, 4), ...word(offset, 4), ...name]));
    parts.push(head, content);
    offset += head.length + content.length;
  }
  const size = entries.reduce((sum, entry) => sum + entry.length, 0);
  const n = entries.length;
  const end = Uint8Array.from([...word(0x06054b50, 4), ...word(0, 2), ...word(0, 2), ...word(n, 2), ...word(n, 2), ...word(size, 4), ...word(offset, 4), ...word(0, 2)]);
  return joined([...parts, ...entries, end]);
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function word(value: number, bytes: number): number[] {
  return Array.from({ length: bytes }, (_, i) => (value >>> (8 * i)) & 255);
}
