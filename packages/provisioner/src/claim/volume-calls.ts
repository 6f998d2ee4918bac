// SPDX-License-Identifier: Apache-2.0
/** The calls to the driver that the claim loop makes, and their translation into what `decide` understands. */
import { type CsiChannel, CsiError } from '@csi-sidecars/csi';
import type { Clock } from '@csi-sidecars/runtime';
import { type CreateOutcome, toErrorOutcome, toResponseOutcome } from './outcome.ts';
import type { Action, ClaimContext, ClaimState } from './state.ts';
import type { UnsettledClaims } from './unsettled.ts';

export interface CallDeps {
  readonly channel: CsiChannel;
  readonly clock: Clock;
  readonly context: ClaimContext;
  readonly unsettled: UnsettledClaims;
}

export async function createVolume(
  deps: CallDeps,
  state: ClaimState,
  { pinned, request, signal }: Extract<Action, { kind: 'createVolume' }> & { readonly signal: AbortSignal },
): Promise<Partial<ClaimState>> {
  const wasUnsettled = state.unsettled === 'pinned' || state.isGuarded;
  // Before the call: whatever happens from here on, a retry is this request and no other.
  deps.unsettled.set({ ...pinned, kind: 'pinned' });
  const learned = { unsettled: 'pinned', pinned } as const;
  const { timeoutMs } = deps.context.settings;
  try {
    const response = await deps.channel.call('/csi.v1.Controller/CreateVolume', request, { timeoutMs, signal });
    return { ...learned, created: toResponseOutcome(response.volume, pinned.plan) };
  } catch (error) {
    return { ...learned, created: toOutcome(error, { ...deps.context, wasUnsettled, node: pinned.plan.selectedNode }) };
  }
}

function toOutcome(
  error: unknown,
  facts: { readonly supportsTopology: boolean; readonly wasUnsettled: boolean; readonly node: string },
): CreateOutcome {
  return toErrorOutcome({
    // An answer that cannot be read was an answer: the volume may well be there.
    code: error instanceof CsiError && !error.isUnreadable ? error.code : undefined,
    message: error instanceof Error ? error.message : String(error),
    mayReschedule: facts.supportsTopology && facts.node !== '',
    wasUnsettled: facts.wasUnsettled,
  });
}

const cleanUpAttempts = 5;

/** Back to back within one timeout: whoever waits for the claim waits for this as well. */
export async function cleanUp(
  { channel, clock, context }: CallDeps,
  { volumeId, secrets }: Extract<Action, { kind: 'cleanUp' }>,
  signal: AbortSignal,
): Promise<ClaimState['cleanedUp']> {
  const endMs = clock.monotonicMs() + context.settings.timeoutMs;
  let failure = 'context deadline exceeded';
  for (let attempt = 1; attempt <= cleanUpAttempts; attempt++) {
    const timeoutMs = endMs - clock.monotonicMs();
    if (timeoutMs <= 0) break;
    try {
      await channel.call('/csi.v1.Controller/DeleteVolume', { volume_id: volumeId, secrets }, { timeoutMs, signal });
      return 'yes';
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    }
  }
  return { failure };
}
