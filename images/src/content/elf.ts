// SPDX-License-Identifier: Apache-2.0
/**
 * As much of ELF (64 bit, little-endian) as images need: a program without what is never loaded, and the names of the libraries that
 * it is loaded with. `strip` of one architecture does not read the programs of another, and its output differs between versions.
 */

const magic = 0x464c457f;
const fileHeader = { programOffset: 0x20, sectionOffset: 0x28, programSize: 0x36, programCount: 0x38, sections: 0x3a };
/** p_type. */
const segment = { load: 1, dynamic: 2, interpreter: 3 };
/** d_tag. */
const tag = { needed: 1, strings: 5 };

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/**
 * Without symbols and debugging information: what follows the last segment is cut off, and the section table, which describes
 * segments to linkers and debuggers, with it.
 */
export function strippedElf(file: Buffer): Buffer {
  const end = Math.max(...segmentsOf(file).map(({ offset, size }) => offset + size));
  const stripped = Buffer.from(file.subarray(0, end));
  stripped.writeBigUInt64LE(0n, fileHeader.sectionOffset);
  // Size, count and index of the section table.
  stripped.fill(0, fileHeader.sections, fileHeader.sections + 6);
  return stripped;
}

/** The program that the kernel starts to load it. */
export function interpreterOf(file: Buffer): string | undefined {
  const found = segmentsOf(file).find(({ type }) => type === segment.interpreter);
  return found === undefined ? undefined : textAt(file, found.offset);
}

/** The names under which the loader looks for libraries. */
export function neededBy(file: Buffer): readonly string[] {
  const segments = segmentsOf(file);
  const dynamic = segments.find(({ type }) => type === segment.dynamic);
  if (dynamic === undefined) return [];
  const entries = Array.from({ length: dynamic.size / 16 }, (_, index) => dynamic.offset + index * 16).map((at) => ({
    tag: Number(file.readBigInt64LE(at)),
    value: Number(file.readBigUInt64LE(at + 8)),
  }));
  const address = entries.find((entry) => entry.tag === tag.strings)?.value ?? 0;
  const strings = segments.find(
    (each) => each.type === segment.load && each.address <= address && address < each.address + each.size,
  );
  if (strings === undefined) throw new Error('the table of names is in no segment');
  const base = address - strings.address + strings.offset;
  return entries.filter((entry) => entry.tag === tag.needed).map(({ value }) => textAt(file, base + value));
}

function segmentsOf(file: Buffer): readonly Segment[] {
  const isElf64 = file.byteLength >= 64 && file.readUInt32LE(0) === magic && file[4] === 2 && file[5] === 1;
  if (!isElf64) throw new Error('not a 64 bit little-endian ELF file');
  const table = Number(file.readBigUInt64LE(fileHeader.programOffset));
  const size = file.readUInt16LE(fileHeader.programSize);
  return Array.from({ length: file.readUInt16LE(fileHeader.programCount) }, (_, index) => {
    const at = table + index * size;
    const number = (offset: number): number => Number(file.readBigUInt64LE(at + offset));
    return { type: file.readUInt32LE(at), offset: number(8), address: number(16), size: number(32) };
  });
}

function textAt(file: Buffer, start: number): string {
  return file.toString('latin1', start, file.indexOf(0, start));
}
