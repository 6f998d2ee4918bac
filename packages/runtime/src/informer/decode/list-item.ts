// SPDX-License-Identifier: Apache-2.0
/**
 * An item of a list as a value. Items of built-in types carry neither `kind` nor `apiVersion`. As a rule they are put in front
 * of the text before it is parsed: so an object has the same properties in the same order whether a list or a watch brought it,
 * and the engine keeps one shape for all of them. Where the text is written in another way, as indented JSON, they are
 * added to the parsed object.
 */
import { hasLongInteger, parseJsonText } from '../../api/json.ts';
import { DecodeError } from './decode-error.ts';
import { foreignness, type ServerObject, type WireKind } from './watch-event.ts';

export type ListItem =
  | { readonly kind: 'object'; readonly object: ServerObject }
  /** An item without metadata. */
  | { readonly kind: 'foreign'; readonly what: string };

/**
 * Throws DecodeError for invalid JSON and for an object of another kind: in this case no item of the list can be trusted, and
 * to skip the item would report the objects in the cache as deleted.
 */
export type DecodeListItem = (item: Uint8Array) => ListItem;

export function listItemDecoder(expected: WireKind): DecodeListItem {
  const opening = `{"kind":${JSON.stringify(expected.kind)},"apiVersion":${JSON.stringify(expected.apiVersion)},`;
  return (item) => {
    const text = Buffer.from(item.buffer, item.byteOffset, item.byteLength).toString('utf8');
    // A name that comes later in the text wins over an earlier one, so the item's own fields always take precedence.
    const complete = lacksTypeMeta(text) ? opening + text.slice(1) : text;
    const object = withTypeMeta(parse(complete, item), expected);
    const foreign = foreignness(object, expected);
    if (foreign === undefined) return { kind: 'object', object: object as ServerObject };
    if (isOtherKind(object, expected)) {
      throw new DecodeError(`the server answered a list with objects of another kind: ${foreign}`, {
        bytes: item.length,
      });
    }
    return { kind: 'foreign', what: foreign };
  };
}

function parse(text: string, item: Uint8Array): unknown {
  try {
    return parseJsonText(text, hasLongInteger(item) ? 'exact' : 'fast');
  } catch (cause) {
    throw new DecodeError('unable to decode an item of a list', { bytes: item.length, cause });
  }
}

function withTypeMeta(parsed: unknown, { kind, apiVersion }: WireKind): unknown {
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return parsed;
  const object: { readonly kind?: unknown; readonly apiVersion?: unknown } = parsed;
  return object.kind === undefined && object.apiVersion === undefined ? { kind, apiVersion, ...parsed } : parsed;
}

function isOtherKind(object: unknown, expected: WireKind): boolean {
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return false;
  const { kind, apiVersion } = object as Partial<WireKind>;
  return kind !== expected.kind || apiVersion !== expected.apiVersion;
}

/** Whether the text begins with another property: Go writes both fields first, or, in sorted output, `apiVersion` before all we know. */
function lacksTypeMeta(text: string): boolean {
  return text.startsWith('{"') && !text.startsWith('{"kind"') && !text.startsWith('{"apiVersion"');
}
