// SPDX-License-Identifier: Apache-2.0
/** The calls to the driver that the claim loop makes, and their translation into what `decide` understands. */
import { type CsiChannel, CsiError } from '@csi-sidecars/csi';
import { type Clock, toError } from '@csi-sidecars/runtime';
import { type CreateOutcome, isOpen, toErrorOutcome, toResponseOutcome } from './outcome.ts';
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
  const wasUnsettled = state.unsettled === 'pinned' || state.isProtected;
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
    code: codeOf(error),
    message: toError(error).message,
    mayReschedule: facts.supportsTopology && facts.node !== '',
    wasUnsettled: facts.wasUnsettled,
  });
}

const cleanUpAttempts = 5;

/** Back to back within one timeout: whoever waits for the claim waits for this as well. */
export async function cleanUp(
  { channel, clock, context, unsettled }: CallDeps,
  { pinned }: ClaimState,
  { volume, secrets, signal }: Extract<Action, { kind: 'cleanUp' }> & { readonly signal: AbortSignal },
): Promise<Pick<ClaimState, 'cleanedUp'>> {
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
  if (pinned !== undefined) {
    const { deleting: _before, ...rest } = pinned;
    const isGoingOn = typeof cleanedUp === 'object' && cleanedUp.isOpen;
    unsettled.set({ ...rest, ...(isGoingOn ? { deleting: volume } : {}), kind: 'pinned' });
  }
  return { cleanedUp };
}

/** An answer that cannot be read was an answer, so its code says nothing about what was done. */
function codeOf(error: unknown): CsiError['code'] | undefined {
  return error instanceof CsiError && !error.isUnreadable ? error.code : undefined;
}
