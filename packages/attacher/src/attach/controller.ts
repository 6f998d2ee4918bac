// SPDX-License-Identifier: Apache-2.0
/** The attach loop assembled: what wakes it, one run, and which lane a key belongs to. */
import {
  type CSINode,
  type Handler,
  type Lister,
  type Reconcile,
  runDecisions,
  stringifyJson,
  toObjectKey,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import type { AttachmentRuns } from '../attachment-runs.ts';
import { annotations } from '../names.ts';
import { finalizersOf, isAttached, isDeleting } from '../attachment-facts.ts';
import { decide } from './decide.ts';
import { currentAttachment, observe, type ObserveDeps, surroundingsOf } from './observe.ts';
import { perform, type PerformDeps, type Step } from './perform.ts';
import { type AttachContext, type AttachmentName, type AttachState, nameOf, nothingLearned } from './state.ts';

export interface AttachLoopDeps extends PerformDeps {
  readonly caches: ObserveDeps;
  readonly context: AttachContext;
  readonly runs: Pick<AttachmentRuns, 'noteCall'>;
}

export function createAttachReconcile(deps: AttachLoopDeps): Reconcile<AttachmentName> {
  return async (name, signal) => {
    const attachment = currentAttachment(deps.caches, name);
    const uid = attachment?.metadata?.uid;
    const initial: AttachState = {
      ...observe(deps.caches, name, uid),
      ...surroundingsOf(deps.caches, attachment),
      ...nothingLearned,
    };
    const { conclusion } = await runDecisions(initial, {
      subject: `attachment ${name}`,
      decide: (state) => decide(state, deps.context),
      perform: async (action, state) => {
        if (callsDriver(action)) deps.runs.noteCall(name);
        const learned = await perform(deps, name, { action, signal });
        return { ...state, ...learned, ...observe(deps.caches, name, uid) };
      },
    });
    return conclusion.outcome;
  };
}

function callsDriver({ kind }: Step): boolean {
  return kind === 'publish' || kind === 'unpublish' || kind === 'takeBack';
}

export interface AttachmentHandlerDeps {
  readonly caches: ObserveDeps;
  readonly finalizer: string;
  readonly enqueue: (name: AttachmentName) => void;
  /** The failures of a name that is gone are not those of the next object under it. */
  readonly forget: (name: AttachmentName) => void;
}

export function attachmentHandler({
  caches,
  finalizer,
  enqueue,
  forget,
}: AttachmentHandlerDeps): Handler<VolumeAttachment> {
  const { driverName, memory } = caches;
  const isOurs = ({ spec }: VolumeAttachment): boolean => spec.attacher === driverName;
  return {
    add: (attachment) => {
      if (isOurs(attachment)) enqueue(nameOf(attachment));
    },
    update: (previous, current) => {
      if (isOurs(current) && matters(previous, current, finalizer)) enqueue(nameOf(current));
    },
    delete: ({ object }) => {
      const name = nameOf(object);
      forget(name);
      if (memory.publications.has(name)) enqueue(name);
    },
  };
}

/**
 * Everything but what the loop writes itself: its own finalizer, node id and errors are no reason to try again before the backoff
 * is over. A resync is, and so is a change of `attached`.
 */
export function matters(previous: VolumeAttachment, current: VolumeAttachment, finalizer: string): boolean {
  if (previous.metadata?.resourceVersion === current.metadata?.resourceVersion) return true;
  return relevant(previous, finalizer) !== relevant(current, finalizer);
}

function relevant(attachment: VolumeAttachment, finalizer: string): string {
  const { metadata, spec } = attachment;
  const {
    resourceVersion: _version,
    managedFields: _fields,
    finalizers: _all,
    annotations: notes,
    ...rest
  } = metadata ?? {};
  const { [annotations.nodeId]: _nodeId, ...others } = notes ?? {};
  const foreign = finalizersOf(attachment).filter((name) => name !== finalizer);
  return stringifyJson([rest, others, foreign, spec, isAttached(attachment)]);
}

/** A node that is registered late need not wait for the backoff of what waits for it as well. */
export function csiNodeHandler(
  attachments: Lister<VolumeAttachment>,
  enqueue: (name: AttachmentName) => void,
): Handler<CSINode> {
  const wake = ({ metadata }: CSINode): void => {
    for (const attachment of attachments.byIndex('node', metadata?.name ?? '')) {
      if (!isAttached(attachment) || isDeleting(attachment)) enqueue(nameOf(attachment));
    }
  };
  return {
    add: (node, { isInInitialList }) => {
      if (!isInInitialList) wake(node);
    },
    update: (previous, current) => {
      if (nodeIdIn(previous) !== nodeIdIn(current)) wake(current);
    },
  };
}

/** Only our driver's entry is cached. */
function nodeIdIn({ spec }: CSINode): string | undefined {
  return spec.drivers[0]?.nodeID;
}

export type Lane = 'attach' | 'detach';

/** Attachments take turns by node. */
export function laneOf(
  attachments: Lister<VolumeAttachment>,
  name: AttachmentName,
): { readonly lane: Lane; readonly group: string } {
  const attachment = attachments.get(toObjectKey(undefined, name));
  const isLeaving = attachment === undefined || isDeleting(attachment);
  return { lane: isLeaving ? 'detach' : 'attach', group: attachment?.spec.nodeName ?? '' };
}
