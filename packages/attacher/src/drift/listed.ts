// SPDX-License-Identifier: Apache-2.0
/** What the driver has published, page by page, and under which names it lists an attachment. */
import type { CsiChannel } from '@csi-sidecars/csi';
import {
  type Clock,
  type Lister,
  type PersistentVolume,
  toObjectKey,
  type VolumeAttachment,
  withDeadline,
} from '@csi-sidecars/runtime';
import {
  type CsiVolume,
  ok,
  refuse,
  repairVolumeHandle,
  type Result,
  toCsiVolume,
  toInlineCsiVolume,
} from '@csi-sidecars/volume';
import { knownNodeId, type NodeIdDeps } from '../node-id.ts';
import { volumeNotFound, type VolumeSource, volumeSourceOf } from '../volume-source.ts';

/** Volume handles, each with the ids of the nodes where the driver has the volume published. */
export type Published = ReadonlyMap<string, ReadonlySet<string>>;

const repeatedToken = 'ListVolumes answered with the token of the page that it was asked for';

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

/** The names under which the driver lists the volume and the node of an attachment. */
export interface ListedNames {
  readonly volumeHandle: string;
  readonly nodeId: string;
}

export interface NamesDeps extends NodeIdDeps {
  readonly volumes: Lister<PersistentVolume>;
}

/** A PersistentVolume that is being deleted has the same names. */
export function namesOf(deps: NamesDeps, attachment: VolumeAttachment): Result<ListedNames> {
  const nodeId = knownNodeId(deps, attachment);
  if (nodeId.kind === 'error') return nodeId;
  const source = volumeSourceOf(attachment);
  if (source.kind === 'error') return source;
  const volume = csiVolumeOf(deps, source.value);
  if (volume.kind === 'error') return volume;
  const { csi, migrated } = volume.value;
  // An inline spec is the translation of an in-tree volume, so its handle has the same unspecified parts.
  const isTranslated = migrated || source.value.kind === 'inline';
  const handle = isTranslated ? repairVolumeHandle(csi, nodeId.value) : ok(csi.volumeHandle);
  return handle.kind === 'error' ? handle : ok({ volumeHandle: handle.value, nodeId: nodeId.value });
}

function csiVolumeOf({ volumes }: NamesDeps, source: VolumeSource): Result<CsiVolume> {
  if (source.kind === 'inline') return toInlineCsiVolume(source.spec);
  const volume = volumes.get(toObjectKey(undefined, source.name));
  return volume === undefined ? refuse(volumeNotFound(source.name)) : toCsiVolume(volume);
}
