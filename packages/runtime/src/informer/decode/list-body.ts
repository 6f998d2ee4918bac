// SPDX-License-Identifier: Apache-2.0
/** One page of a list while it arrives. */
import { type BodyReader, readBody } from './body-reader.ts';
import { DecodeError } from './decode-error.ts';
import { listItemDecoder, type ListItem } from './list-item.ts';
import { createListScanner, type ListScannerOptions } from './list-scanner.ts';
import type { WireKind } from './watch-event.ts';

const metadataKind = 'PartialObjectMetadata';

export interface ListBody extends Pick<BodyReader, 'close'> {
  /** The next item if it has arrived, otherwise undefined. Throws DecodeError. */
  take(): ListItem | undefined;
  /** The next item, undefined at the end of the page. Throws what the body throws, and DecodeError. */
  next(): Promise<ListItem | undefined>;
  /** After the last item. Throws when the page is not complete: then none of its items may be used. */
  end(): PageEnd;
}

export interface PageEnd {
  readonly resourceVersion: string;
  readonly continue: string | undefined;
  readonly remainingItemCount: number | undefined;
}

interface Envelope {
  readonly kind?: string;
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  /** The items themselves have been handed out. */
  readonly items?: readonly [] | null;
}

export function readList(body: AsyncIterable<Uint8Array>, expected: WireKind, options?: ListScannerOptions): ListBody {
  const scanner = createListScanner(options);
  const reader = readBody(body, scanner);
  const decode = listItemDecoder(expected);
  const take = (): ListItem | undefined => {
    const item = reader.take();
    return item === undefined ? undefined : decode(item);
  };
  return {
    take,
    async next() {
      for (let item = take(); ; item = take()) {
        if (item !== undefined) return item;
        if (!(await reader.fill())) return undefined;
      }
    },
    end() {
      const { kind = '', metadata, items } = (scanner.end() ?? {}) as Envelope;
      // Without this check, an answer that is no list would be an empty one, and all objects would count as deleted.
      if (items === undefined) {
        const what = kind === '' ? 'something else' : `a ${kind}`;
        throw new DecodeError(`the server answered a list with ${what}`, { bytes: 0 });
      }
      // Without this check, items that do not name their kind would be taken for metadata.
      if (expected.kind === metadataKind && kind !== '' && kind !== `${metadataKind}List`) {
        throw new DecodeError(`the server answered a list of metadata with a ${kind}`, { bytes: 0 });
      }
      const { resourceVersion = '', continue: next = '', remainingItemCount } = metadata ?? {};
      return { resourceVersion, continue: next === '' ? undefined : next, remainingItemCount };
    },
    close: () => reader.close(),
  };
}
