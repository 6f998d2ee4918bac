// SPDX-License-Identifier: Apache-2.0
/** Assembles the attach loop: what it watches, what wakes it, and which keys go first. */
import {
  type Caches,
  type Change,
  type Conclusion,
  type CSINode,
  defineLoop,
  isResync,
  type Lister,
  type Loop,
  type LoopTypes,
  stringifyJson,
  toObjectKey,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import { type AttachmentKey, attachmentKey, finalizersOf, isAttached, isDeleting } from '../attachment.ts';
import { annotations } from '../names.ts';
import { type Watched, queueNames } from '../watched.ts';
import { attach, type Observed } from './flow.ts';
import { type AttachContext, type AttachWatched, look } from './look.ts';

export interface AttachLoop extends LoopTypes {
  readonly key: AttachmentKey;
  readonly watched: AttachWatched;
  readonly observed: Observed;
  readonly conclusion: Conclusion;
  readonly context: AttachContext;
}

export function attachLoop(context: AttachContext, watched: Watched): Loop {
  const { driver, finalizer, memory, runs, settings } = context;
  return defineLoop<AttachLoop>({
    name: queueNames.attachments,
    settings,
    watches: watched,
    primary: {
      watch: 'attachments',
      keyOf: attachmentKey,
      forget: (_key, attachment) => runs.forget(attachment),
    },
    traced: (caches, key) => {
      const object = caches.attachments.get(key);
      return { object, volume: volumeOf(caches, object) };
    },
    handlers: {
      attachments: (change) => {
        const { previous, current } = change;
        if (current === undefined) {
          const key = previous && attachmentKey(previous);
          return key !== undefined && memory.publications.has(key) ? key : undefined;
        }
        if (current.spec.attacher !== driver.name) return undefined;
        return matters(change, finalizer) ? attachmentKey(current) : undefined;
      },
      csiNodes: (change, { attachments }) => waitingForNode(change, attachments),
    },
    sources: [runs.onForced],
    observe: (caches, key) => observe(context, caches, key),
    context,
    flow: (observed) => attach(observed, context),
    onEnd: ({ key, concluded }) => runs.end(key, concluded?.conclusion.outcome),
    lanes: { preferred: 'attach', other: 'detach', classify: laneOf },
  });
}

function observe(context: AttachContext, caches: Caches<AttachLoop>, key: AttachmentKey): Observed {
  const attachment = caches.attachments.get(key);
  const isOurs = attachment?.spec.attacher === context.driver.name;
  const uid = isOurs ? attachment.metadata?.uid : undefined;
  return {
    ...look({ context, caches, key }, uid),
    uid,
    isForced: isOurs && context.runs.isForced(attachment),
    volume: volumeOf(caches, attachment),
  };
}

function volumeOf({ volumes }: Caches<AttachLoop>, attachment: VolumeAttachment | undefined) {
  const name = attachment?.spec.source.persistentVolumeName;
  return name === undefined ? undefined : volumes.get(toObjectKey(undefined, name));
}

/**
 * Changes that the loop wrote itself do not wake it: our finalizer, the node id and errors are no reason to retry before the backoff
 * is over. Every other change does, including a resync and a change of `attached`.
 */
export function matters(change: Change<VolumeAttachment>, finalizer: string): boolean {
  const { previous, current } = change;
  if (previous === undefined || current === undefined || isResync(change)) return true;
  return relevant(previous, finalizer) !== relevant(current, finalizer);
}

function relevant(attachment: VolumeAttachment, finalizer: string): string {
  const { metadata, spec } = attachment;
  const {
    resourceVersion: _version,
    managedFields: _fields,
    finalizers: _all,
    annotations: allAnnotations,
    ...rest
  } = metadata ?? {};
  const { [annotations.nodeId]: _nodeId, ...others } = allAnnotations ?? {};
  const foreign = finalizersOf(attachment).filter((name) => name !== finalizer);
  return stringifyJson([rest, others, foreign, spec, isAttached(attachment)]);
}

/** The attachments that can continue at once, without waiting for their backoff, when the driver registers on their node. */
function waitingForNode(
  { previous, current }: Change<CSINode>,
  attachments: Lister<VolumeAttachment>,
): readonly AttachmentKey[] | undefined {
  if (current === undefined) return undefined;
  if (previous !== undefined && nodeIdIn(previous) === nodeIdIn(current)) return undefined;
  return attachments
    .byIndex('node', current.metadata?.name ?? '')
    .filter((attachment) => !isAttached(attachment) || isDeleting(attachment))
    .map(attachmentKey);
}

/** The cache keeps the entry of our driver only. */
function nodeIdIn({ spec }: CSINode): string | undefined {
  return spec.drivers[0]?.nodeID;
}

/** Within a lane the nodes take turns. */
function laneOf({ attachments }: Caches<AttachLoop>, key: AttachmentKey) {
  const attachment = attachments.get(key);
  const isLeaving = attachment === undefined || isDeleting(attachment);
  return { lane: isLeaving ? 'detach' : 'attach', group: attachment?.spec.nodeName ?? '' };
}
