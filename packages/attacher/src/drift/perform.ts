// SPDX-License-Identifier: Apache-2.0
/** What the driver has published, all pages of it. */
import type { CsiChannel } from '@csi-sidecars/csi';
import { type Clock, withDeadline } from '@csi-sidecars/runtime';
import type { Published } from './state.ts';

export interface ListDeps {
  readonly channel: CsiChannel;
  readonly clock: Clock;
}

export interface ListOptions {
  /** Of one page; 0: as the driver likes. */
  readonly maxEntries: number;
  /** For one page. */
  readonly timeoutMs: number;
}

/** A list of this many pages that each take their whole time is given up; it is no snapshot of anything by then. */
const maxTimeoutsPerList = 20;

/** Rejects when any page fails: half a list would say that the other half is not published. */
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
      token = page.next_token;
    } while (token !== '');
    return published;
  });
}
