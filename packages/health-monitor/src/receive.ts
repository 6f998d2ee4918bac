// SPDX-License-Identifier: Apache-2.0
/** A report of the driver about one volume: counted, remembered if it matters, and handed to the claim loop. */
import {
  type Cache,
  type EventRecorder,
  keyOf,
  type Logger,
  type ObjectKey,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '@csi-sidecars/runtime';
import { mismatchOf } from './claim/loop.ts';
import { messages } from './claim/messages.ts';
import type { HealthMemory } from './memory.ts';
import type { HealthMetrics } from './metrics.ts';
import { unknownCondition } from './names.ts';
import { hasHealth } from './report/health-status.ts';
import { cut, limits, type Report, type UnknownEntry } from './report/normalise.ts';
import { claimKeyOf, claimRefOf, isMonitored } from './watched.ts';

export interface ReceiveDeps {
  readonly memory: HealthMemory;
  readonly metrics: HealthMetrics;
  readonly events: EventRecorder;
  readonly wake: (key: ObjectKey) => void;
}

export interface ReceivePorts {
  readonly claims: Pick<Cache<PersistentVolumeClaim>, 'get'>;
  readonly logger: Logger;
}

/** By what the driver reported last, else by what the claim shows. */
export function isBelievedUnhealthy(
  memory: HealthMemory,
  claims: ReceivePorts['claims'],
  volume: PersistentVolume,
): boolean {
  return memory.isUnhealthy(keyOf(volume)) ?? hasHealth(claimOf(claims, volume));
}

/** Does nothing for a volume that was healthy and still is, and for one that is not monitored any more. */
export function receive(
  { memory, metrics, events, wake }: ReceiveDeps,
  { claims, logger }: ReceivePorts,
  { volume, report }: { readonly volume: PersistentVolume; readonly report: Report },
): void {
  const key = keyOf(volume);
  const claim = claimRefOf(volume);
  if (claim === undefined || !isMonitored(volume)) return;
  const { conditions, unknown, doubles } = report;
  const isAdverse = conditions.length > 0 || unknown.length > 0;
  const isNews = isAdverse || memory.of(key) !== undefined || hasHealth(claimOf(claims, volume));
  if (!isNews) return;
  if (doubles > 0) metrics.doubles(doubles);
  for (const { status } of unknown) metrics.unknown(status);
  memory.report(key, { claim, conditions, hasUnknown: unknown.length > 0 });
  const shown = claimOf(claims, volume);
  if (unknown.length > 0 && shown !== undefined) {
    const text = textOf(unknown);
    if (memory.isEventDue(key, text)) {
      logger.info(0, messages.unknown, { PV: key, conditions: text });
      events.record(shown, {
        type: 'Warning',
        reason: unknownCondition.reason,
        message: `${unknownCondition.text}: ${text}`,
      });
    }
  }
  wake(key);
}

/** The claim that the volume is bound to, if the cache has it. */
function claimOf(claims: ReceivePorts['claims'], volume: PersistentVolume): PersistentVolumeClaim | undefined {
  const ref = claimRefOf(volume);
  const claim = ref && claims.get(claimKeyOf(ref));
  return claim !== undefined && mismatchOf(claim, { ref: ref!, key: keyOf(volume) }) === undefined ? claim : undefined;
}

/** The same text for the same entries, in whatever order they came, and not longer than a message, however many there are. */
function textOf(unknown: readonly UnknownEntry[]): string {
  const text = unknown
    .map(({ status, reason, message }) =>
      [status, reason === '' ? '' : ` (reason: ${reason})`, message === '' ? '' : `: ${message}`].join(''),
    )
    .toSorted()
    .join('; ');
  return cut(text, limits.messageBytes);
}
