// SPDX-License-Identifier: Apache-2.0
/** Whether the holder of a Lease lives. Clocks of holders may be wrong, so a Lease that seems to be over is read a second time. */
import { type KubeObject, type Lease, leases } from '@csi-sidecars/runtime';
import type { Reader } from '../cluster/reader.ts';
import { timeOf } from '../facts/objects.ts';

export type LeaseState =
  | {
      readonly kind: 'live';
      readonly lease: Lease;
      /** How far the clock of the holder seems to be behind ours. */ readonly behindMs: number;
    }
  | { readonly kind: 'stale'; readonly lease: Lease; readonly untilMs: number }
  | { readonly kind: 'released'; readonly lease: Lease }
  | { readonly kind: 'unknown'; readonly lease: Lease; readonly because: string };

/** Clocks may differ by that much without being worth a word. */
const toleranceMs = 5_000;
const longestPauseMs = 10_000;

export async function stateOf(reader: Reader, lease: Lease): Promise<LeaseState> {
  const { holderIdentity = '', leaseDurationSeconds = 15 } = lease.spec ?? {};
  if (holderIdentity === '') return { kind: 'released', lease };
  const renewedMs = timeOf(lease.spec?.renewTime);
  if (renewedMs === undefined) return { kind: 'unknown', lease, because: 'it has no time of renewal' };
  const durationMs = leaseDurationSeconds * 1_000;
  const untilMs = renewedMs + durationMs;
  const isAhead = renewedMs > reader.nowMs() + toleranceMs;
  if (!isAhead && reader.nowMs() < untilMs) return { kind: 'live', lease, behindMs: 0 };
  const pauseMs = Math.min(durationMs / 3 + 1_000, longestPauseMs);
  const later = await isRenewed(reader, lease, pauseMs);
  if (later === 'renewed') return { kind: 'live', lease, behindMs: reader.nowMs() - pauseMs - renewedMs };
  if (later === 'unknown') return { kind: 'unknown', lease, because: 'it could not be read a second time' };
  return isAhead
    ? { kind: 'unknown', lease, because: 'its time of renewal is in the future' }
    : { kind: 'stale', lease, untilMs };
}

/** Whether the holder writes it within the pause. */
export async function isRenewed(
  reader: Reader,
  { metadata }: KubeObject,
  pauseMs: number,
): Promise<'renewed' | 'silent' | 'unknown'> {
  try {
    await reader.sleep(pauseMs);
  } catch {
    return 'unknown';
  }
  const ref = { namespace: metadata?.namespace, name: metadata?.name ?? '' };
  const again = await reader.getAgain(leases, ref, `whether Lease ${ref.name} is renewed`);
  if (again.kind !== 'found') return again.kind === 'absent' ? 'silent' : 'unknown';
  return again.value.metadata?.resourceVersion === metadata?.resourceVersion ? 'silent' : 'renewed';
}
