// SPDX-License-Identifier: Apache-2.0
/** The calls to the driver that the claim loop makes, and what their answers mean. */
import { CsiError, type GetCapacityRequestInput } from '@csi-sidecars/csi';
import { isNotFound, persistentVolumes, toError } from '@csi-sidecars/runtime';
import { mayRecord } from '@csi-sidecars/volume';
import { logSource } from './log-lines.ts';
import { pinnedOf } from './known.ts';
import { lookAgain } from './observe.ts';
import type { ClaimRecord, PinnedRequest } from './memory.ts';
import * as messages from './messages.ts';
import { type CreateOutcome, isOpen, toErrorOutcome, toResponseOutcome, type Unusable } from './outcome.ts';
import type { Changes, ClaimRun, Known } from './state.ts';

export interface Call {
  readonly pinned: PinnedRequest;
  /** No earlier CreateVolume of this claim can have made a volume. */
  readonly isFirst: boolean;
}

type Created = Changes & { readonly created: CreateOutcome };

export async function createVolume(run: ClaimRun, s: Known, { pinned, isFirst }: Call): Promise<Created> {
  const { context, signal, span, logger } = run;
  const { channel, driver, settings, supportsTopology } = context;
  logSource(logger, s);
  const memory: ClaimRecord = { kind: 'pinned', claim: s.claim, pinned, deletion: s.deletion };
  // Pinned before the call: whatever happens from here on, a retry sends exactly this request.
  context.memory.set(memory);
  const options = { timeoutMs: settings.timeoutMs, signal, span, migrated: pinned.plan.isMigrated };
  try {
    const response = await channel.call('/csi.v1.Controller/CreateVolume', pinned.request, options);
    const created = toResponseOutcome(response.volume, { ...pinned, driverName: driver.name });
    return { ...lookAgain(run, s), memory, created };
  } catch (error) {
    const created = toErrorOutcome({
      code: codeOf(error),
      message: toError(error).message,
      isAnswer: !channel.lost.aborted && !signal.aborted,
      mayReschedule: supportsTopology && pinned.plan.selectedNode !== '',
      wasUnsettled: !isFirst,
    });
    return { ...lookAgain(run, s), memory, created };
  }
}

/** Whether one of these places has enough for so many bytes. A volume has to fit into one piece of the space, too. */
export async function checkSpace(
  { key, logger, signal, span, context }: Pick<ClaimRun, 'key' | 'logger' | 'signal' | 'span' | 'context'>,
  requests: readonly GetCapacityRequestInput[],
  bytes: bigint,
): Promise<'enough' | 'short' | 'unknown'> {
  const { channel } = context;
  const options = { timeoutMs: context.settings.timeoutMs, signal, span };
  for (const request of requests) {
    try {
      const answer = await channel.call('/csi.v1.Controller/GetCapacity', request, options);
      const { available_capacity: available, maximum_volume_size: maximum } = answer;
      const fits = maximum === null || BigInt(maximum.value) >= bytes;
      if (fits && BigInt(available) >= bytes) return 'enough';
    } catch (error) {
      const reason = `GetCapacity: ${toError(error).message}`;
      logger.info(3, 'proceeding with becoming owner although the capacity check failed', { claim: key, reason });
      return 'unknown';
    }
  }
  return 'short';
}

const cleanUpAttempts = 5;

type CleanedUp = 'yes' | { readonly failure: string; readonly isOpen: boolean };

/** Attempts follow each other without pause within one timeout, because the claim waits. */
export async function cleanUp(
  run: ClaimRun,
  s: Known,
  volume: Unusable,
): Promise<Changes & { readonly cleanedUp: CleanedUp }> {
  const { clock, context } = run;
  const endMs = clock.monotonicMs() + context.settings.timeoutMs;
  const cleanedUp = (await whyKept(run, volume, s.volumeName)) ?? (await deleteVolume(run, s, { volume, endMs }));
  const changes = lookAgain(run, s);
  const { deleting: _before, ...rest } = pinnedOf(s).pinned;
  const isGoingOn = typeof cleanedUp === 'object' && cleanedUp.isOpen;
  const memory = { ...pinnedOf(s), pinned: { ...rest, ...(isGoingOn ? { deleting: volume } : {}) } };
  context.memory.set(memory);
  return { ...changes, cleanedUp, memory };
}

interface Deletion {
  readonly volume: Unusable;
  readonly endMs: number;
}

async function deleteVolume(
  { clock, signal, span, context: { channel } }: ClaimRun,
  s: Known,
  { volume, endMs }: Deletion,
): Promise<CleanedUp> {
  const { pinned } = pinnedOf(s);
  const request = { volume_id: volume.volumeId, secrets: pinned.request.secrets ?? {} };
  const migrated = pinned.plan.isMigrated;
  let last = { failure: 'context deadline exceeded', isOpen: true };
  for (let attempt = 1; attempt <= cleanUpAttempts; attempt++) {
    const timeoutMs = endMs - clock.monotonicMs();
    if (timeoutMs <= 0) break;
    try {
      await channel.call('/csi.v1.Controller/DeleteVolume', request, { timeoutMs, signal, migrated, span });
      return 'yes';
    } catch (error) {
      last = { failure: toError(error).message, isOpen: isOpen(codeOf(error)) };
    }
  }
  return last;
}

/**
 * A driver that answers with a volume in use must not have it deleted. It was not made for this claim, or another replica has recorded it
 * under our name a moment ago. That record may not be in the cache yet, so it is read.
 */
async function whyKept(
  { client, caches: { volumes }, context: { driver }, signal }: ClaimRun,
  { volumeId, attributes }: Unusable,
  volumeName: string,
): Promise<CleanedUp | undefined> {
  const csi = { driver: driver.name, volumeHandle: volumeId, volumeAttributes: attributes };
  const cached = volumes.list().find((volume) => mayRecord(volume, csi));
  if (cached !== undefined) {
    return { failure: messages.recorded(volumeId, cached.metadata?.name ?? ''), isOpen: false };
  }
  try {
    const latest = await client.get(persistentVolumes, { name: volumeName }, { signal });
    return mayRecord(latest, csi) ? { failure: messages.recorded(volumeId, volumeName), isOpen: false } : undefined;
  } catch (error) {
    // Whether the volume may be deleted is found out before CreateVolume is called again.
    return isNotFound(error) ? undefined : { failure: toError(error).message, isOpen: true };
  }
}

/** The driver did answer, so the code of an undecodable answer says nothing about its effect. */
function codeOf(error: unknown): CsiError['code'] | undefined {
  return error instanceof CsiError && !error.isUnreadable ? error.code : undefined;
}
