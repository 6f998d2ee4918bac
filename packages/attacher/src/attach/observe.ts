// SPDX-License-Identifier: Apache-2.0
/** From the caches and from memory to the state of one VolumeAttachment. Synchronous, no network. */
import {
  type CSINode,
  type Lister,
  type PersistentVolume,
  toObjectKey,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import { refuse } from '@csi-sidecars/volume';
import type { AttachmentRuns } from '../attachment-runs.ts';
import { knownNodeId, registeredNodeId } from '../node-id.ts';
import type { AttachMemory } from './memory.ts';
import type { AttachmentName, Observed, Publication, Surroundings } from './state.ts';

export interface ObserveDeps {
  readonly driverName: string;
  /** With the index `node`. */
  readonly attachments: Lister<VolumeAttachment>;
  readonly volumes: Lister<PersistentVolume>;
  readonly csiNodes: Lister<CSINode>;
  readonly memory: AttachMemory;
  readonly runs: Pick<AttachmentRuns, 'isForced'>;
}

/** Undefined when the name is not, or no longer, one of ours. */
export function currentAttachment(
  { attachments, driverName }: ObserveDeps,
  name: AttachmentName,
): VolumeAttachment | undefined {
  const attachment = attachments.get(toObjectKey(undefined, name));
  return attachment?.spec.attacher === driverName ? attachment : undefined;
}

/** `uid` is that of the object which the run is about: another one under its name is the next run's. */
export function observe(deps: ObserveDeps, name: AttachmentName, uid: string | undefined): Observed {
  const current = currentAttachment(deps, name);
  const publication = deps.memory.publications.get(name);
  return {
    attachment: current?.metadata?.uid === uid ? current : undefined,
    publication,
    isPlaceTaken: publication !== undefined && isTaken(deps.attachments, publication),
  };
}

/** Another attachment of the same volume to the same node wants it there. */
function isTaken(attachments: Lister<VolumeAttachment>, publication: Publication): boolean {
  const { nodeName, volumeName, attachmentName } = publication;
  return (
    volumeName !== undefined &&
    attachments
      .byIndex('node', nodeName)
      .some(
        ({ metadata, spec }) => metadata?.name !== attachmentName && spec.source.persistentVolumeName === volumeName,
      )
  );
}

export function surroundingsOf(deps: ObserveDeps, attachment: VolumeAttachment | undefined): Surroundings {
  if (attachment === undefined) return nowhere;
  const { persistentVolumeName } = attachment.spec.source;
  const volume =
    persistentVolumeName === undefined ? undefined : deps.volumes.get(toObjectKey(undefined, persistentVolumeName));
  return {
    isForced: deps.runs.isForced(attachment),
    volume: volume === undefined ? { kind: 'unread' } : { kind: 'found', volume },
    registeredNodeId: registeredNodeId(deps, attachment),
    knownNodeId: knownNodeId(deps, attachment),
  };
}

/** What is gone has none. */
const nowhere: Surroundings = {
  isForced: false,
  volume: { kind: 'unread' },
  registeredNodeId: refuse('the VolumeAttachment is gone'),
  knownNodeId: refuse('the VolumeAttachment is gone'),
};
