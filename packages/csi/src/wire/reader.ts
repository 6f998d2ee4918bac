// SPDX-License-Identifier: Apache-2.0
/** Reads the bytes of a message from the front. Throws where they end too early, or cannot be what they should be. */

export const wireTypes = { varint: 0, fixed64: 1, lengthDelimited: 2, fixed32: 5 } as const;

/** Seven bytes of seven bits are exact in a number. */
const exactBytes = 7;
const longestVarint = 10;

export class Reader {
  readonly #bytes: Buffer;
  #at = 0;
  #end: number;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#end = bytes.length;
  }

  /** Of the message that is being read. */
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
    return this.#bytes.toString('utf8', start, this.#at);
  }

  /** Passes over a field that is not known. */
  skip(wireType: number): void {
    if (wireType === wireTypes.varint) this.number();
    else if (wireType === wireTypes.lengthDelimited) this.#at = this.#skipped(this.number());
    else if (wireType === wireTypes.fixed64) this.#at = this.#skipped(8);
    else if (wireType === wireTypes.fixed32) this.#at = this.#skipped(4);
    else throw new Error(`wire type ${wireType}`);
  }

  #byte(start: number): number {
    if (this.#at >= this.#end) throw new Error('the message ends too early');
    if (this.#at - start >= longestVarint) throw new Error('varint too long');
    return this.#bytes[this.#at++] ?? 0;
  }

  #skipped(length: number): number {
    if (this.#at + length > this.#end) throw new Error('the message ends too early');
    return this.#at + length;
  }
}
