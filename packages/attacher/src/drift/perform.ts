// SPDX-License-Identifier: Apache-2.0
/** Lists what the driver has published, page by page. */
import type { CsiChannel } from '@csi-sidecars/csi';
import { type Clock, withDeadline } from '@csi-sidecars/runtime';
import { repeatedToken } from './messages.ts';
import type { Published } from './state.ts';

export interface ListDeps {
  readonly channel: CsiChannel;
  readonly clock: Clock;
}

export interface ListOptions {
  /** The most entries in one page; 0: the driver chooses. */
  readonly maxEntries: number;
  /** The deadline of one page. */
  readonly timeoutMs: number;
}

/** The deadline of the whole list, in deadlines of one page. A list that takes longer is too old to compare with. */
const maxTimeoutsPerList = 20;

/** Rejects if any page fails: with half a list, the volumes of the other half would look unpublished. */
export async function listPublished(
  { channel, clock }: ListDeps,
  { maxEntries, timeoutMs }: ListOptions,
  parent: AbortSignal,
): Promise<Published> {
  return withDeadline(clock, { parent, ms: timeoutMs * maxTimeoutsPerList }, async (signal) => {
    const published = new Map<string, ReadonlySet<string>>();
    let token = '';
    do {
      signal.throwIfAborted();
      const page = await channel.call(
        '/csi.v1.Controller/ListVolumes',
        { max_entries: maxEntries, starting_token: token },
        { timeoutMs, signal },
      );
      for (const { volume, status } of page.entries) {
        if (volume !== null && status !== null) published.set(volume.volume_id, new Set(status.published_node_ids));
      }
      // A driver that returns the token that it was given would be asked for the same page until the deadline of the whole list.
      if (page.next_token !== '' && page.next_token === token) throw new Error(`${repeatedToken}: ${token}`);
      token = page.next_token;
    } while (token !== '');
    return published;
  });
}
