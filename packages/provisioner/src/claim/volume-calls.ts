// SPDX-License-Identifier: Apache-2.0
/** The calls to the driver that the claim loop makes, and the translation of their results for `decide`. */
import { CsiError } from '@csi-sidecars/csi';
import { type Step, toError } from '@csi-sidecars/runtime';
import { isOpen, toErrorOutcome, toResponseOutcome } from './outcome.ts';
import type { Entry } from './memory.ts';
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

/** Attempts follow each other without pause within one timeout, because the claim waits. */
export async function cleanUp(
  { channel, settings, memory }: CallDeps,
  {
    clock,
    state: { memory: entry },
    action: { volume, secrets },
    signal,
  }: Pick<Step<ClaimLoop, 'cleanUp'>, 'clock' | 'state' | 'action' | 'signal'>,
): Promise<Pick<Partial<ClaimState>, 'cleanedUp' | 'memory'>> {
  const endMs = clock.monotonicMs() + settings.timeoutMs;
  const request = { volume_id: volume.volumeId, secrets };
  let cleanedUp: ClaimState['cleanedUp'] = { failure: 'context deadline exceeded', isOpen: true };
  for (let attempt = 1; attempt <= cleanUpAttempts && cleanedUp !== 'yes'; attempt++) {
    const timeoutMs = endMs - clock.monotonicMs();
    if (timeoutMs <= 0) break;
    try {
      await channel.call('/csi.v1.Controller/DeleteVolume', request, { timeoutMs, signal });
      cleanedUp = 'yes';
    } catch (error) {
      cleanedUp = { failure: toError(error).message, isOpen: isOpen(codeOf(error)) };
    }
  }
  if (entry.kind !== 'pinned') return { cleanedUp };
  const { deleting: _before, ...rest } = entry.pinned;
  const isGoingOn = typeof cleanedUp === 'object' && cleanedUp.isOpen;
  const pinned = { ...rest, ...(isGoingOn ? { deleting: volume } : {}) };
  memory.set({ ...entry, pinned });
  return { cleanedUp, memory: { ...entry, pinned } };
}

/** The driver did answer, so the code of an undecodable answer says nothing about its effect. */
function codeOf(error: unknown): CsiError['code'] | undefined {
  return error instanceof CsiError && !error.isUnreadable ? error.code : undefined;
}
