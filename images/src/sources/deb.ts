// SPDX-License-Identifier: Apache-2.0
/** A Debian package as its files, without Debian's programs: an `ar` archive with a compressed tar in it. */
import { buffer } from 'node:stream/consumers';
import xz from 'xz-decompress';
import { entriesOf, type TarEntry } from '../oci/tar.ts';

const magic = '!<arch>\n';
const headerBytes = 60;

export async function filesOfDeb(deb: Buffer): Promise<readonly TarEntry[]> {
  for (const { name, content } of membersOf(deb)) {
    if (name === 'data.tar') return entriesOf(content);
    if (name === 'data.tar.xz') {
      const unpacked = new xz.XzReadableStream(new Blob([new Uint8Array(content)]).stream());
      return entriesOf(await buffer(unpacked));
    }
    if (name.startsWith('data.tar')) throw new Error(`the package has its files in ${name}, which is not read here`);
  }
  throw new Error('the package has no files');
}

function* membersOf(archive: Buffer): Generator<{ readonly name: string; readonly content: Buffer }> {
  if (archive.toString('latin1', 0, magic.length) !== magic) throw new Error('this is no Debian package');
  for (let at = magic.length; at + headerBytes <= archive.byteLength;) {
    const field = (offset: number, length: number): string =>
      archive.toString('latin1', at + offset, at + offset + length).trim();
    const size = Number(field(48, 10));
    if (!Number.isSafeInteger(size)) throw new Error('the package is damaged');
    const start = at + headerBytes;
    yield { name: field(0, 16).replace(/\/$/, ''), content: archive.subarray(start, start + size) };
    // Members begin at even places.
    at = start + size + (size % 2);
  }
}
