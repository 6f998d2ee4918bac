// SPDX-License-Identifier: Apache-2.0
/**
 * Tar files in the plainest form (ustar): directories, files, symbolic links, owned by root, all of the same age, so that the
 * same content gives the same bytes. Names have at most a hundred letters, which is enough for images.
 */
export type TarEntry =
  | { readonly kind: 'folder'; readonly path: string; readonly mode?: number }
  | { readonly kind: 'file'; readonly path: string; readonly content: Uint8Array; readonly mode?: number }
  | { readonly kind: 'link'; readonly path: string; readonly to: string };

const block = 512;
const types: Readonly<Record<TarEntry['kind'], string>> = { file: '0', link: '2', folder: '5' };

/** Folders above an entry need not be named. The order of the entries does not matter. */
export function tarOf(entries: readonly TarEntry[]): Buffer {
  const named = new Map<string, TarEntry>();
  for (const entry of entries) {
    for (const path of foldersAbove(entry.path)) {
      if (!named.has(path)) named.set(path, { kind: 'folder', path });
    }
    named.set(entry.path, entry);
  }
  const sorted = [...named.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return Buffer.concat([...sorted.flatMap(blocksOf), Buffer.alloc(2 * block)]);
}

function foldersAbove(path: string): readonly string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}

function blocksOf(entry: TarEntry): readonly Uint8Array[] {
  if (entry.kind !== 'file') return [headerOf(entry, 0)];
  const { content } = entry;
  const padding = (block - (content.byteLength % block)) % block;
  return [headerOf(entry, content.byteLength), content, Buffer.alloc(padding)];
}

function headerOf(entry: TarEntry, size: number): Buffer {
  const header = Buffer.alloc(block);
  const text = (offset: number, length: number, value: string): void => {
    const bytes = Buffer.from(value);
    if (bytes.byteLength > length) throw new Error(`${value} is longer than the ${length} bytes that tar has for it`);
    bytes.copy(header, offset);
  };
  const octal = (offset: number, length: number, value: number): void =>
    text(offset, length, value.toString(8).padStart(length - 1, '0'));
  text(0, 100, entry.kind === 'folder' ? `${entry.path}/` : entry.path);
  octal(100, 8, modeOf(entry));
  octal(108, 8, 0);
  octal(116, 8, 0);
  octal(124, 12, size);
  octal(136, 12, 0);
  text(156, 1, types[entry.kind]);
  if (entry.kind === 'link') text(157, 100, entry.to);
  text(257, 8, 'ustar\u000000');
  // The sum is taken with blanks in its own place.
  header.fill(' ', 148, 156);
  text(148, 8, `${checksum(header).toString(8).padStart(6, '0')}\u0000 `);
  return header;
}

function modeOf(entry: TarEntry): number {
  switch (entry.kind) {
    case 'folder':
      return entry.mode ?? 0o755;
    case 'file':
      return entry.mode ?? 0o644;
    case 'link':
      return 0o777;
  }
}

function checksum(header: Buffer): number {
  return header.reduce((sum, byte) => sum + byte, 0);
}

/** Reads back what `tarOf`, npm and dpkg-deb write. Devices, extended headers and other rarities are left out. */
export function entriesOf(tar: Buffer): readonly TarEntry[] {
  const found: TarEntry[] = [];
  for (let at = 0; at + block <= tar.byteLength && tar[at] !== 0;) {
    const text = (offset: number, length: number): string =>
      tar.toString('utf8', at + offset, at + offset + length).replace(/\0[^]*$/, '');
    const octal = (offset: number, length: number): number => Number.parseInt(text(offset, length).trim() || '0', 8);
    const size = octal(124, 12);
    const prefix = text(257, 6) === 'ustar' ? text(345, 155) : '';
    const path = `${prefix === '' ? '' : `${prefix}/`}${text(0, 100)}`.replace(/^\.?\//, '').replace(/\/$/, '');
    const mode = octal(100, 8) & 0o7777;
    const content = tar.subarray(at + block, at + block + size);
    const type = text(156, 1) || types.file;
    if (type === types.file) found.push({ kind: 'file', path, content, mode });
    if (type === types.folder) found.push({ kind: 'folder', path, mode });
    if (type === types.link) found.push({ kind: 'link', path, to: text(157, 100) });
    at += block + Math.ceil(size / block) * block;
  }
  return found;
}
