// SPDX-License-Identifier: Apache-2.0
/**
 * An item of a list as a value. Items of built-in types carry neither `kind` nor `apiVersion`. They are put in front of
 * the text before it is parsed, not added to the object afterwards: so an object has the same properties in the same order
 * whether a list or a watch brought it, and the engine keeps one shape for all of them.
 */
import { hasLongInteger, parseJsonText } from '../../api/json.ts';
import { DecodeError } from './decode-error.ts';
import { foreignness, type ServerObject, type WireKind } from './watch-event.ts';

export type ListItem =
  | { readonly kind: 'object'; readonly object: ServerObject }
  | { readonly kind: 'foreign'; readonly what: string };

/** Throws DecodeError for what is no JSON: then nothing of the list can be trusted. */
export type DecodeListItem = (item: Uint8Array) => ListItem;

export function listItemDecoder(expected: WireKind): DecodeListItem {
  const opening = `{"kind":${JSON.stringify(expected.kind)},"apiVersion":${JSON.stringify(expected.apiVersion)},`;
  return (item) => {
    const text = Buffer.from(item.buffer, item.byteOffset, item.byteLength).toString('utf8');
    // A name that comes later in the text wins over an earlier one, so what the item says of itself is never hidden.
    const complete = lacksTypeMeta(text) ? opening + text.slice(1) : text;
    try {
      const object = parseJsonText(complete, hasLongInteger(item) ? 'exact' : 'fast');
      const foreign = foreignness(object, expected);
      return foreign === undefined
        ? { kind: 'object', object: object as ServerObject }
        : { kind: 'foreign', what: foreign };
    } catch (cause) {
      throw new DecodeError('unable to decode an item of a list', { bytes: item.length, cause });
    }
  };
}

/** Looks at the first property: Go writes both fields first, or, in sorted output, `apiVersion` before all we know. */
function lacksTypeMeta(text: string): boolean {
  return text.startsWith('{"') && !text.startsWith('{"kind"') && !text.startsWith('{"apiVersion"');
}
