// SPDX-License-Identifier: Apache-2.0
/** What each action of the expansion loop does. No decisions: those are in `decide`. */
import { CsiError } from '@csi-sidecars/csi';
import { ask, attempt, type Performers, type PersistentVolume, type Step } from '@csi-sidecars/runtime';
import { outcomeOfExpansion } from '../call-outcome.ts';
import { annotations } from '../names.ts';
import { readCallSecret } from '../secret.ts';
import { isLess, isSame, toSize, toText } from '../size.ts';
import { changeVolume } from '../write-volume.ts';
import { capacityOfVolume, preResizeCapacityOf } from '../volume.ts';
import * as messages from './messages.ts';
import type { ExpandContext, ExpandLoop, ExpandState } from './state.ts';
import { mark, saveFailure, saveResult } from './write-claim-status.ts';

export function performers(context: ExpandContext): Performers<ExpandLoop> {
  const { events, turns } = context;
  return {
    removeAnnotation: (step) => saving('annotationRemoved', () => removeAnnotation(step)),
    takeTurn: ({ key, logger, action: { row, volumeHandle } }) => {
      if (row === 'S10') logger.warn(messages.oldServer, { key });
      return { turn: turns.take(volumeHandle, 'expand', key) ? 'taken' : 'busy' };
    },
    mark: (step) => mark(context, step),
    announce: ({ action: { claim, volume, target } }) => {
      events.record(claim, messages.resizing(volume.metadata?.name ?? ''));
      return { isAnnounced: true, target };
    },
    readSecret: async ({ client, action, signal }) => ({
      secrets: await readCallSecret(client, action.reference, signal),
    }),
    expand: (step) => expand(context, step),
    skipCall: ({ key, action: { target } }) => {
      context.memory.delete(key);
      return { expanded: { value: { size: target, needsNode: true } } };
    },
    saveVolume: (step) => saving('volumeSaved', () => saveVolume(step)),
    saveResult: (step) => saveResult(context, step),
    saveFailure: (step) => saveFailure(context, step),
  };
}

async function saving(
  field: 'annotationRemoved' | 'volumeSaved',
  write: () => Promise<NonNullable<ExpandState['volume']>>,
): Promise<Partial<ExpandState>> {
  let volume: ExpandState['volume'];
  const saved = await attempt(async () => {
    volume = await write();
  });
  return { [field]: saved, ...(volume === undefined ? {} : { volume }) };
}

/** The record of a later expansion stays. */
function removeAnnotation(step: Step<ExpandLoop, 'removeAnnotation'>): Promise<PersistentVolume> {
  const { volume } = step.action;
  const record = preResizeCapacityOf(volume);
  return changeVolume(step, volume, (known) =>
    preResizeCapacityOf(known) === record ? { annotations: { [annotations.preResizeCapacity]: null } } : undefined,
  );
}

/** A size that another process has written meanwhile does not shrink. */
function saveVolume(step: Step<ExpandLoop, 'saveVolume'>): Promise<PersistentVolume> {
  const { volume, size, before } = step.action;
  return changeVolume(step, volume, (known) => {
    const capacity = capacityOfVolume(known);
    if (!isSame(capacity, capacityOfVolume(volume)) && !isLess(capacity, size)) return undefined;
    const isRecorded = before === undefined || preResizeCapacityOf(known) !== undefined;
    return {
      ...(isRecorded ? {} : { annotations: { [annotations.preResizeCapacity]: toText(toSize(before)) } }),
      spec: { capacity: { storage: toText(size) } },
    };
  });
}

const method = '/csi.v1.Controller/ControllerExpandVolume';

async function expand(
  { channel, memory, settings, openCalls }: ExpandContext,
  { key, clock, action: { claim, request, migrated }, signal }: Step<ExpandLoop, 'expand'>,
): Promise<Partial<ExpandState>> {
  const { expandTimeoutMs: timeoutMs } = settings;
  const volumeHandle = request.volume_id ?? '';
  const uid = claim.metadata?.uid ?? '';
  const startedMs = clock.monotonicMs();
  const before = memory.get(key, uid);
  // From here on the call may be under way, until an answer says otherwise.
  memory.delete(key);
  const answer = await ask(() => channel.call(method, request, { timeoutMs, signal, migrated }));
  if ('value' in answer) {
    openCalls.forget(key);
    const { capacity_bytes: bytes, node_expansion_required: needsNode } = answer.value;
    return { expanded: { value: { size: { nanos: BigInt(bytes) * 1_000_000_000n, format: 'BinarySI' }, needsNode } } };
  }
  const { failure } = answer;
  const outcome = outcomeOfExpansion(failure);
  openCalls.note({ key, volumeHandle, method, startedMs, isOpen: outcome === 'open' }, failure);
  if (outcome === 'infeasible') memory.set(key, { kind: 'infeasible', uid, sinceMs: clock.monotonicMs() });
  else if (outcome === 'final') memory.set(key, { kind: 'final', uid, isInUse: isInUseError(failure) });
  else if (outcome === 'notSent' && before !== undefined) memory.set(key, before);
  return { expanded: answer };
}

/** How a driver says that it expands this volume only while it is not in use. */
function isInUseError(failure: Error): boolean {
  return failure instanceof CsiError && failure.code === 'FailedPrecondition';
}
