// SPDX-License-Identifier: Apache-2.0
/** Bytes of a message, one after the other, in one buffer that grows. */

/** Enough for most requests; from Node.js' pool, so making it costs next to nothing. */
const initialSize = 1024;

export class Writer {
  #bytes = Buffer.allocUnsafe(initialSize);
  #at = 0;

  /** What was written. The writer is not to be used any more. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  /** A whole number from 0 to 2^53. */
  varint(value: number): void {
    this.#reserve(8);
    let rest = value;
    for (; rest > 0x7f_ff_ff_ff; rest = Math.floor(rest / 0x80)) this.#bytes[this.#at++] = (rest % 0x80) | 0x80;
    for (; rest > 0x7f; rest >>>= 7) this.#bytes[this.#at++] = (rest & 0x7f) | 0x80;
    this.#bytes[this.#at++] = rest;
  }

  /** Any integer, as its 64 bits. */
  bigVarint(value: bigint): void {
    this.#reserve(10);
    let rest = BigInt.asUintN(64, value);
    for (; rest > 0x7fn; rest >>= 7n) this.#bytes[this.#at++] = Number(rest & 0x7fn) | 0x80;
    this.#bytes[this.#at++] = Number(rest);
  }

  /** With its length before it. */
  string(text: string): void {
    // A code unit becomes at most three bytes.
    this.#reserve(1 + text.length * 3);
    const start = this.begin();
    this.#at += this.#bytes.write(text, this.#at);
    this.end(start);
  }

  /** What is written between begin and end gets its length before it. A tag comes before, which left room for a length of one byte. */
  begin(): number {
    this.#at += 1;
    return this.#at;
  }

  end(start: number): void {
    const length = this.#at - start;
    if (length < 0x80) {
      this.#bytes[start - 1] = length;
      return;
    }
    // One byte was left free for the length; the content makes room for the others.
    const more = Math.floor((31 - Math.clz32(length)) / 7);
    this.#reserve(more);
    this.#bytes.copyWithin(start + more, start, this.#at);
    this.#at = start - 1;
    this.varint(length);
    this.#at += length;
  }

  #reserve(size: number): void {
    if (this.#at + size <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + size));
    this.#bytes.copy(grown, 0, 0, this.#at);
    this.#bytes = grown;
  }
}
