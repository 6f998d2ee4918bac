// SPDX-License-Identifier: Apache-2.0
/** The calls to the driver that the claim loop makes, and the translation of their results for `decide`. */
import { CsiError } from '@csi-sidecars/csi';
import { type Lister, type PersistentVolume, type Step, toError } from '@csi-sidecars/runtime';
import { isOpen, toErrorOutcome, toResponseOutcome, type Unusable } from './outcome.ts';
import type { Entry } from './memory.ts';
import * as messages from './messages.ts';
import type { ClaimDeps, ClaimLoop, ClaimState } from './state.ts';

type CallDeps = Pick<ClaimDeps, 'channel' | 'memory' | 'settings' | 'supportsTopology'>;

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
  try {
    const response = await deps.channel.call('/csi.v1.Controller/CreateVolume', request, { timeoutMs, signal });
    return { memory, created: toResponseOutcome(response.volume, pinned) };
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

const cleanUpAttempts = 5;

interface CleanUpStep extends Pick<Step<ClaimLoop, 'cleanUp'>, 'clock' | 'state' | 'action' | 'signal'> {
  readonly caches: { readonly volumes: Pick<Lister<PersistentVolume>, 'list'> };
}

/** Attempts follow each other without pause within one timeout, because the claim waits. */
export async function cleanUp(
  { channel, settings, memory }: CallDeps,
  { clock, caches, state: { memory: entry }, action: { volume, secrets }, signal }: CleanUpStep,
): Promise<Pick<Partial<ClaimState>, 'cleanedUp' | 'memory'>> {
  const record = recordOf(caches.volumes, volume.volumeId);
  const cleanedUp =
    record === undefined
      ? await deleteVolume(channel, { clock, endMs: clock.monotonicMs() + settings.timeoutMs, volume, secrets, signal })
      : // A driver that answers with a volume in use must not have it deleted. It was not made for this claim.
        ({ failure: messages.recorded(volume.volumeId, record), isOpen: false } as const);
  if (entry.kind !== 'pinned') return { cleanedUp };
  const { deleting: _before, ...rest } = entry.pinned;
  const isGoingOn = typeof cleanedUp === 'object' && cleanedUp.isOpen;
  const pinned = { ...rest, ...(isGoingOn ? { deleting: volume } : {}) };
  memory.set({ ...entry, pinned });
  return { cleanedUp, memory: { ...entry, pinned } };
}

interface Deletion extends Pick<Step<ClaimLoop, 'cleanUp'>, 'clock' | 'signal'> {
  readonly volume: Unusable;
  readonly secrets: Readonly<Record<string, string>>;
  readonly endMs: number;
}

async function deleteVolume(
  channel: CallDeps['channel'],
  { clock, endMs, volume, secrets, signal }: Deletion,
): Promise<Exclude<ClaimState['cleanedUp'], 'no'>> {
  const request = { volume_id: volume.volumeId, secrets };
  let last = { failure: 'context deadline exceeded', isOpen: true };
  for (let attempt = 1; attempt <= cleanUpAttempts; attempt++) {
    const timeoutMs = endMs - clock.monotonicMs();
    if (timeoutMs <= 0) break;
    try {
      await channel.call('/csi.v1.Controller/DeleteVolume', request, { timeoutMs, signal });
      return 'yes';
    } catch (error) {
      last = { failure: toError(error).message, isOpen: isOpen(codeOf(error)) };
    }
  }
  return last;
}

/** The name of the PersistentVolume that has this volume. */
function recordOf(volumes: Pick<Lister<PersistentVolume>, 'list'>, volumeId: string): string | undefined {
  return volumes.list().find(({ spec }) => spec?.csi?.volumeHandle === volumeId)?.metadata?.name;
}

/** The driver did answer, so the code of an undecodable answer says nothing about its effect. */
function codeOf(error: unknown): CsiError['code'] | undefined {
  return error instanceof CsiError && !error.isUnreadable ? error.code : undefined;
}
