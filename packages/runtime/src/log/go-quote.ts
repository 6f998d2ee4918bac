// SPDX-License-Identifier: Apache-2.0
/** A text in double quotes as Go's strconv.Quote writes it: messages of flags and every line of the log look like this. */
const named: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

/** Most texts need nothing: checked first, because this is on the path of every log line. */
const plain = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;
const special = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

export function goQuote(text: string): string {
  return plain.test(text) ? `"${text}"` : `"${text.replace(special, escaped)}"`;
}

function escaped(character: string): string {
  const name = named[character];
  if (name !== undefined) return name;
  const code = character.codePointAt(0) ?? 0;
  // Half of a surrogate pair is no character; Go writes the replacement character.
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
