// SPDX-License-Identifier: Apache-2.0
/**
 * Cuts the body of a list into its items while it arrives, so that a list of any size needs memory for one item at a
 * time: the scanner follows strings, escapes and nesting until it meets the top-level `items` array, hands out the bytes
 * of one element after the other, and keeps the rest (the envelope: kind, metadata) for the end. `metadata` may stand
 * before or after `items`, so nothing about the list is final before `end`.
 *
 * Most of an item are its managedFields, which caches do not use. Where one chunk holds them all the array is handed out empty: that
 * costs the scanner nothing, and parsing the item a third less. A caller that reads them asks for whole items. (The frames of a watch
 * are not scanned: see `parse-watched.ts`.)
 *
 * Guarantees: an item is handed out once and is a view that is valid until the next call; a body that ends early, or
 * goes on after its end, is an error. Not here: whether the items are valid JSON; parsing them shows it.
 */
import { parseJson } from '../../api/json.ts';
import { DecodeError } from './decode-error.ts';

export interface ListScannerOptions {
  /** Items keep their managedFields. Default: no. */
  readonly whole?: boolean;
}

export interface ListScanner {
  /** Only when `next` has nothing left. */
  feed(chunk: Uint8Array): void;
  /** The bytes of the next item; undefined when another chunk is needed. */
  next(): Uint8Array | undefined;
  /** The end of the body: everything but the items. Throws DecodeError when the body is not complete. */
  end(): unknown;
}

const [quote, backslash, comma, colon, space] = [0x22, 0x5c, 0x2c, 0x3a, 0x20];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const itemsKey = Buffer.from('items');
/** Metadata of a list is a few hundred bytes. Much more means that this is no list. */
const maxEnvelopeBytes = 1024 * 1024;

export function createListScanner({ whole = false }: ListScannerOptions = {}): ListScanner {
  let chunk: Uint8Array = new Uint8Array();
  let at = 0;
  let place: 'envelope' | 'items' = 'envelope';
  let inString = false;
  let escaped = false;
  /** Nesting, of the envelope. */
  let depth = 0;
  /** Whether a string at depth 1 would be a key. */
  let keyExpected = false;
  /** How many characters of the current key equal `items`; -1 once they do not. */
  let keyMatch = -1;
  /** The last thing read at depth 1 was the key `items`, perhaps with its colon. */
  let afterItemsKey = false;
  const envelope: Uint8Array[] = [];
  let envelopeBytes = 0;
  /** The beginning of an item whose end was not seen yet. */
  let pieces: Uint8Array[] = [];
  let inside: InsideItem = outermost;

  const keepEnvelope = (from: number): void => {
    envelope.push(chunk.slice(from, at));
    envelopeBytes += at - from;
    if (envelopeBytes > maxEnvelopeBytes) {
      throw new DecodeError('too much besides items in the body of a list', { bytes: envelopeBytes });
    }
  };

  const readEnvelope = (): void => {
    const from = at;
    while (at < chunk.length) {
      const byte = chunk[at]!;
      at += 1;
      if (inString) {
        followString(byte);
      } else if (byte === openBracket && afterItemsKey) {
        place = 'items';
        break;
      } else if (byte > space) {
        followStructure(byte);
      }
    }
    keepEnvelope(from);
  };

  const followString = (byte: number): void => {
    if (!escaped && byte === quote) {
      inString = false;
      afterItemsKey = keyMatch === itemsKey.length;
      return;
    }
    escaped = !escaped && byte === backslash;
    if (keyMatch >= 0) keyMatch = itemsKey[keyMatch] === byte ? keyMatch + 1 : -1;
  };

  const followStructure = (byte: number): void => {
    if (byte === quote) {
      inString = true;
      keyMatch = depth === 1 && keyExpected ? 0 : -1;
    }
    if (byte === openBrace || byte === openBracket) depth += 1;
    if (byte === closeBrace || byte === closeBracket) depth -= 1;
    keyExpected = byte === openBrace || byte === comma;
    afterItemsKey &&= byte === colon;
  };

  /** Leaves `at` behind the comma or bracket that ends the item. */
  const readItem = (): Uint8Array | undefined => {
    const { length } = chunk;
    let from = at;
    if (pieces.length === 0) {
      while (from < length && chunk[from]! <= space) from += 1;
      inside = outermost;
    }
    const followed = followItem(chunk, from, inside);
    inside = followed;
    const { end, unread } = followed;
    if (unread !== undefined && !whole) {
      pieces.push(chunk.subarray(from, unread.from));
      from = unread.to;
    }
    const part = chunk.subarray(from, end);
    at = end + 1;
    if (end === length) {
      if (part.length > 0) pieces.push(part);
      return undefined;
    }
    if (chunk[end] === closeBracket) leaveItems(end);
    const item = pieces.length === 0 ? part : Buffer.concat([...pieces, part]);
    pieces = [];
    return item.length === 0 && place === 'envelope' ? undefined : item;
  };

  const leaveItems = (end: number): void => {
    place = 'envelope';
    // The envelope saw the opening bracket without counting it, so it gets the closing one here.
    depth = 1;
    keyExpected = false;
    afterItemsKey = false;
    envelope.push(chunk.slice(end, end + 1));
  };

  return {
    feed(next) {
      chunk = next;
      at = 0;
    },
    next() {
      while (at < chunk.length) {
        if (place === 'envelope') {
          readEnvelope();
        } else {
          const item = readItem();
          if (item !== undefined) return item;
        }
      }
      return undefined;
    },
    end() {
      if (place === 'items' || depth > 0 || inString || envelopeBytes === 0) {
        throw new DecodeError('the body of a list ended early', { bytes: envelopeBytes });
      }
      try {
        return parseJson(Buffer.concat(envelope));
      } catch (error) {
        throw new DecodeError('the body of a list is no JSON', { bytes: envelopeBytes, cause: error });
      }
    },
  };
}

/** Where inside an item a chunk ended. */
interface InsideItem {
  readonly inString: boolean;
  /** Behind a backslash. */
  readonly escaped: boolean;
  readonly depth: number;
}

const outermost: InsideItem = { inString: false, escaped: false, depth: 0 };

interface Followed extends InsideItem {
  readonly end: number;
  /** What stands in the array of managed fields, when all of it is here. */
  readonly unread: { readonly from: number; readonly to: number } | undefined;
}

/**
 * Goes on to the comma or bracket that ends the item, or to the end of the bytes. The hot loop: most bytes are in strings, so
 * these have a loop of their own; all is in locals; and it is no closure, for which every constant would be a variable.
 */
function followItem(bytes: Uint8Array, from: number, inside: InsideItem): Followed {
  const { length } = bytes;
  let { inString, escaped, depth } = inside;
  let inMetadata = false;
  let [unreadFrom, unreadTo] = [0, 0];
  let end = from;
  for (; end < length; end += 1) {
    if (inString) {
      if (!escaped) while (end < length && bytes[end] !== quote && bytes[end] !== backslash) end += 1;
      if (end === length) break;
      inString = escaped || bytes[end] !== quote;
      escaped = !escaped && bytes[end] === backslash;
      continue;
    }
    const byte = bytes[end]!;
    if (byte === quote) {
      inString = true;
    } else if (byte === openBrace) {
      if (depth === 1) inMetadata = isBehindKey(bytes, end, metadataKey);
      depth += 1;
    } else if (byte === openBracket) {
      if (depth === 2 && inMetadata && isBehindKey(bytes, end, managedFieldsKey)) unreadFrom = end + 1;
      depth += 1;
    } else if (depth > 0) {
      if (byte !== closeBrace && byte !== closeBracket) continue;
      depth -= 1;
      if (depth === 2 && unreadFrom > unreadTo) unreadTo = end;
    } else if (byte === comma || byte === closeBracket) {
      break;
    }
  }
  const unread = unreadTo > unreadFrom ? { from: unreadFrom, to: unreadTo } : undefined;
  return { inString, escaped, depth, end, unread };
}

const metadataKey = Buffer.from('"metadata":');
const managedFieldsKey = Buffer.from('"managedFields":');

/** Whether the key, as the API server writes it, ends there. False where a chunk began within it. */
function isBehindKey(bytes: Uint8Array, at: number, key: Uint8Array): boolean {
  const start = at - key.length;
  const before = bytes[start - 1];
  if (before !== comma && before !== openBrace) return false;
  for (let i = 0; i < key.length; i += 1) if (bytes[start + i] !== key[i]) return false;
  return true;
}
