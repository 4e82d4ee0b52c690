/** Files that are chosen or dropped, with the folders that they lie in: a folder is the label of its recordings. */

import type { Given } from "./messages";

/** Return chosen files; each has the label of the folder that holds it. Hidden ones are left out. */
export function filesOf(list: FileList | null): Given[] {
  return Array.from(list ?? []).map((file) => given(file, file.webkitRelativePath)).filter((file) => file !== null);
}

/** Return what was dropped: files, or all files of folders. */
export async function foldersOf(held: DataTransfer): Promise<Given[]> {
  // the list is empty once this function has waited for something
  const entries = Array.from(held.items).map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const files = Array.from(held.files);
  if (!entries.some((entry) => entry.isDirectory)) return files.slice(0, 1).map((file) => ({ name: file.name, label: null, data: file }));
  const found: Given[] = [];
  for (const entry of entries) await walk(entry, entry.name, found);
  return found;
}

async function walk(entry: FileSystemEntry, path: string, found: Given[]): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    const one = given(file, path);
    if (one) found.push(one);
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return;
    for (const child of some) await walk(child, `${path}/${child.name}`, found);
  }
}

function given(file: File, path: string): Given | null {
  const parts = path.split("/");
  if (parts.some((part) => part.startsWith("."))) return null;
  return { name: parts.slice(-2).join("/"), label: parts.at(-2) ?? null, data: file };
}
