// SPDX-License-Identifier: Apache-2.0
/** Reads the bytes of a message from the front. Throws where they end too early, or cannot be what they should be. */
import { isUtf8 } from 'node:buffer';

export const wireTypes = {
  varint: 0,
  fixed64: 1,
  lengthDelimited: 2,
  startGroup: 3,
  endGroup: 4,
  fixed32: 5,
} as const;

/** Seven bytes of seven bits are exact in a number. */
const exactBytes = 7;
const longestVarint = 10;
/** As Go. */
const deepestGroup = 10_000;
const replacement = '\uFFFD';

export class Reader {
  readonly #bytes: Buffer;
  #at = 0;
  #end: number;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#end = this.#bytes.length;
  }

  /** Whether the message that is being read ends here. */
  isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  /** From here on the end is that of a message within; `leave` takes what this returned. */
  enter(): number {
    const outer = this.#end;
    this.#end = this.#skipped(this.number());
    return outer;
  }

  leave(outer: number): void {
    this.#end = outer;
  }

  /** A length or a tag: a varint that is below 2^53 if it is to make sense. */
  number(): number {
    let value = 0;
    let unit = 1;
    for (const start = this.#at; ; unit *= 0x80) {
      const byte = this.#byte(start);
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value;
    }
  }

  /** The low 32 bits of a varint, signed. */
  int32(): number {
    let value = 0;
    let shift = 0;
    for (const start = this.#at; ; shift += 7) {
      const byte = this.#byte(start);
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  /** In decimal digits. */
  int64(): string {
    const start = this.#at;
    const value = this.number();
    if (this.#at - start <= exactBytes) return String(value);
    let exact = 0n;
    for (let at = this.#at - 1; at >= start; at -= 1) exact = (exact << 7n) | BigInt((this.#bytes[at] ?? 0) & 0x7f);
    return BigInt.asIntN(64, exact).toString();
  }

  bool(): boolean {
    // Inexact beyond 2^53, but never 0 by that.
    return this.number() !== 0;
  }

  string(): string {
    const length = this.number();
    const start = this.#at;
    this.#at = this.#skipped(length);
    const text = this.#bytes.toString('utf8', start, this.#at);
    // Most texts have none, so that the bytes are looked at once.
    if (text.includes(replacement) && !isUtf8(this.#bytes.subarray(start, this.#at))) {
      throw new Error('string field contains invalid UTF-8');
    }
    return text;
  }

  /** Passes over a field that is not wanted, and over everything inside of a group. */
  skip(id: number, wireType: number): void {
    if (wireType !== wireTypes.startGroup) {
      this.#skipValue(wireType);
      return;
    }
    const open = [id];
    while (open.length > 0) {
      const tag = this.number();
      const [innerId, innerType] = [Math.floor(tag / 8), tag % 8];
      if (innerId === 0) throw new Error('field number 0');
      if (innerType === wireTypes.startGroup) open.push(innerId);
      else if (innerType !== wireTypes.endGroup) this.#skipValue(innerType);
      else if (open.pop() !== innerId) throw new Error('the end of another group');
      if (open.length > deepestGroup) throw new Error('groups too deep');
    }
  }

  #skipValue(wireType: number): void {
    if (wireType === wireTypes.varint) this.number();
    else if (wireType === wireTypes.lengthDelimited) this.#at = this.#skipped(this.number());
    else if (wireType === wireTypes.fixed64) this.#at = this.#skipped(8);
    else if (wireType === wireTypes.fixed32) this.#at = this.#skipped(4);
    else throw new Error(`wire type ${wireType}`);
  }

  #byte(start: number): number {
    if (this.#at >= this.#end) throw new Error('the message ends too early');
    const byte = this.#bytes[this.#at] ?? 0;
    // The last byte has one of the 64 bits.
    if (this.#at - start >= longestVarint - 1 && byte > 1) throw new Error('varint too long');
    this.#at += 1;
    return byte;
  }

  #skipped(length: number): number {
    if (this.#at + length > this.#end) throw new Error('the message ends too early');
    return this.#at + length;
  }
}
