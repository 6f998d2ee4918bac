// SPDX-License-Identifier: Apache-2.0
/** The calls to the driver that the claim loop makes, and their translation into what `decide` understands. */
import { type CsiChannel, CsiError } from '@csi-sidecars/csi';
import { type Clock, toError } from '@csi-sidecars/runtime';
import { isOpen, toErrorOutcome, toResponseOutcome } from './outcome.ts';
import type { ClaimMemory, Entry } from './memory.ts';
import type { ClaimContext, ClaimState, Step } from './state.ts';

export interface CallDeps {
  readonly channel: CsiChannel;
  readonly clock: Clock;
  readonly context: ClaimContext;
  readonly memory: ClaimMemory;
}

export async function createVolume(
  deps: CallDeps,
  state: ClaimState,
  { pinned, request, isFirst, signal }: Extract<Step, { kind: 'createVolume' }> & { readonly signal: AbortSignal },
): Promise<Partial<ClaimState>> {
  const { claim, deletion } = state;
  const memory: Entry = { kind: 'pinned', claim, pinned, deletion };
  // Before the call: whatever happens from here on, a retry is this request and no other.
  deps.memory.set(memory);
  const { timeoutMs } = deps.context.settings;
  try {
    const response = await deps.channel.call('/csi.v1.Controller/CreateVolume', request, { timeoutMs, signal });
    return { memory, created: toResponseOutcome(response.volume, pinned.plan) };
  } catch (error) {
    const created = toErrorOutcome({
      code: codeOf(error),
      message: toError(error).message,
      isAnswer: !deps.channel.lost.aborted && !signal.aborted,
      mayReschedule: deps.context.supportsTopology && pinned.plan.selectedNode !== '',
      wasUnsettled: !isFirst,
    });
    return { memory, created };
  }
}

const cleanUpAttempts = 5;

/** Back to back within one timeout: the claim waits for it. */
export async function cleanUp(
  { channel, clock, context, memory }: CallDeps,
  { memory: entry }: ClaimState,
  { volume, secrets, signal }: Extract<Step, { kind: 'cleanUp' }> & { readonly signal: AbortSignal },
): Promise<Pick<Partial<ClaimState>, 'cleanedUp' | 'memory'>> {
  const endMs = clock.monotonicMs() + context.settings.timeoutMs;
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

/** An answer that cannot be read was an answer, so its code says nothing about what was done. */
function codeOf(error: unknown): CsiError['code'] | undefined {
  return error instanceof CsiError && !error.isUnreadable ? error.code : undefined;
}
