// SPDX-License-Identifier: Apache-2.0
/**
 * Parses the JSON of a frame without unused fields. Half of a claim or volume are its managedFields. Where their end is easy
 * to find, the array is removed from the text before it is parsed, so that it is empty afterwards. The engine's own search
 * finds the array, so this costs little compared to what it saves.
 */
import { hasLongInteger, parseJsonText } from '../../api/json.ts';

export function parseWatched(frame: Uint8Array): unknown {
  const text = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('utf8');
  const numbers = hasLongInteger(frame) ? 'exact' : 'fast';
  const shorter = withoutManagedFields(text);
  if (shorter !== undefined) {
    try {
      return parseJsonText(shorter, numbers);
    } catch {
      // The array had another array inside, or the frame is no JSON.
    }
  }
  return parseJsonText(text, numbers);
}

const opening = ',"managedFields":[';
const closing = ']},"spec":';

/**
 * As the API server writes its own kinds: last in the metadata, which the spec follows. A quote behind a comma is never
 * escaped, and begins a string if a name comes next: so both marks are outside of strings. Between them is no `]`, so one is
 * the other's end, or an array inside is left open and what remains cannot be parsed.
 */
function withoutManagedFields(text: string): string | undefined {
  const at = text.indexOf(opening);
  if (at < 0) return undefined;
  const from = at + opening.length;
  const to = text.indexOf(']', from);
  return text.startsWith(closing, to) ? text.slice(0, from) + text.slice(to) : undefined;
}
