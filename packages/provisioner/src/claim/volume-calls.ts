// SPDX-License-Identifier: Apache-2.0
/** The calls to the driver that the claim loop makes, and the translation of their results for `decide`. */
import { CsiError } from '@csi-sidecars/csi';
import {
  type ApiClient,
  isNotFound,
  type Lister,
  type PersistentVolume,
  persistentVolumes,
  type Step,
  toError,
} from '@csi-sidecars/runtime';
import { mayRecord } from '@csi-sidecars/volume';
import { isOpen, toErrorOutcome, toResponseOutcome, type Unusable } from './outcome.ts';
import type { Entry } from './memory.ts';
import * as messages from './messages.ts';
import type { ClaimDeps, ClaimLoop, ClaimState } from './state.ts';

type CallDeps = Pick<ClaimDeps, 'channel' | 'driver' | 'memory' | 'settings' | 'supportsTopology'>;

export async function createVolume(
  deps: CallDeps,
  {
    state: { claim, deletion },
    action: { pinned, request, isFirst },
    signal,
  }: Pick<Step<ClaimLoop, 'createVolume'>, 'state' | 'action' | 'signal'>,
): Promise<Partial<ClaimState>> {
  const memory: Entry = { kind: 'pinned', claim, pinned, deletion };
  // Pinned before the call: whatever happens from here on, a retry sends exactly this request.
  deps.memory.set(memory);
  const { timeoutMs } = deps.settings;
  const options = { timeoutMs, signal, migrated: pinned.plan.isMigrated };
  try {
    const response = await deps.channel.call('/csi.v1.Controller/CreateVolume', request, options);
    return { memory, created: toResponseOutcome(response.volume, { ...pinned, driverName: deps.driver.name }) };
  } catch (error) {
    const created = toErrorOutcome({
      code: codeOf(error),
      message: toError(error).message,
      isAnswer: !deps.channel.lost.aborted && !signal.aborted,
      mayReschedule: deps.supportsTopology && pinned.plan.selectedNode !== '',
      wasUnsettled: !isFirst,
    });
    return { memory, created };
  }
}

/** Enough in one of the places is enough. A volume has to fit into one piece of the space, too. */
export async function checkSpace(
  { channel, settings: { timeoutMs } }: Pick<CallDeps, 'channel' | 'settings'>,
  { requests, bytes }: Pick<Step<ClaimLoop, 'checkSpace'>['action'], 'requests' | 'bytes'>,
  signal: AbortSignal,
): Promise<ClaimState['space']> {
  for (const request of requests) {
    try {
      const answer = await channel.call('/csi.v1.Controller/GetCapacity', request, { timeoutMs, signal });
      const { available_capacity: available, maximum_volume_size: maximum } = answer;
      const fits = maximum === null || BigInt(maximum.value) >= bytes;
      if (fits && BigInt(available) >= bytes) return 'enough';
    } catch (error) {
      return { failure: `GetCapacity: ${toError(error).message}` };
    }
  }
  return 'short';
}

const cleanUpAttempts = 5;

interface CleanUpStep extends Pick<Step<ClaimLoop, 'cleanUp'>, 'client' | 'clock' | 'state' | 'action' | 'signal'> {
  readonly caches: { readonly volumes: Pick<Lister<PersistentVolume>, 'list'> };
}

/** Attempts follow each other without pause within one timeout, because the claim waits. */
export async function cleanUp(
  { channel, driver, settings, memory }: CallDeps,
  { client, clock, caches, state: { memory: entry, volumeName }, action: { volume, secrets }, signal }: CleanUpStep,
): Promise<Pick<Partial<ClaimState>, 'cleanedUp' | 'created' | 'memory'>> {
  const migrated = entry.kind === 'pinned' && entry.pinned.plan.isMigrated;
  const endMs = clock.monotonicMs() + settings.timeoutMs;
  const cleanedUp =
    (await whyKept({ client, volumes: caches.volumes, driver: driver.name, signal }, volume, volumeName)) ??
    (await deleteVolume(channel, { clock, endMs, volume, secrets, migrated, signal }));
  if (entry.kind !== 'pinned') return { cleanedUp, created: volume };
  const { deleting: _before, ...rest } = entry.pinned;
  const isGoingOn = typeof cleanedUp === 'object' && cleanedUp.isOpen;
  const pinned = { ...rest, ...(isGoingOn ? { deleting: volume } : {}) };
  memory.set({ ...entry, pinned });
  return { cleanedUp, created: volume, memory: { ...entry, pinned } };
}

interface Deletion extends Pick<Step<ClaimLoop, 'cleanUp'>, 'clock' | 'signal'> {
  readonly volume: Unusable;
  readonly secrets: Readonly<Record<string, string>>;
  readonly migrated: boolean;
  readonly endMs: number;
}

async function deleteVolume(
  channel: CallDeps['channel'],
  { clock, endMs, volume, secrets, migrated, signal }: Deletion,
): Promise<Exclude<ClaimState['cleanedUp'], 'no'>> {
  const request = { volume_id: volume.volumeId, secrets };
  let last = { failure: 'context deadline exceeded', isOpen: true };
  for (let attempt = 1; attempt <= cleanUpAttempts; attempt++) {
    const timeoutMs = endMs - clock.monotonicMs();
    if (timeoutMs <= 0) break;
    try {
      await channel.call('/csi.v1.Controller/DeleteVolume', request, { timeoutMs, signal, migrated });
      return 'yes';
    } catch (error) {
      last = { failure: toError(error).message, isOpen: isOpen(codeOf(error)) };
    }
  }
  return last;
}

interface Records {
  readonly client: ApiClient;
  readonly volumes: Pick<Lister<PersistentVolume>, 'list'>;
  readonly driver: string;
  readonly signal: AbortSignal;
}

/**
 * A driver that answers with a volume in use must not have it deleted. It was not made for this claim, or another replica has recorded it
 * under our name a moment ago. That record may not be in the cache yet, so it is read.
 */
async function whyKept(
  { client, volumes, driver, signal }: Records,
  { volumeId, attributes }: Unusable,
  volumeName: string,
): Promise<Extract<ClaimState['cleanedUp'], object> | undefined> {
  const csi = { driver, volumeHandle: volumeId, volumeAttributes: attributes };
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
