// SPDX-License-Identifier: Apache-2.0
/** What a driver reports of a volume, within the limits that the API server has for it. A report beyond them would be refused each time. */
import type { VolumeHealth } from '@csi-sidecars/csi';
import { type ConditionStatus, type HealthCondition, order, sorted } from './health-status.ts';

export type ReportedEntries = VolumeHealth['health_statuses'];

export interface UnknownEntry {
  /** The name of the value, or its number. */
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface Report {
  /** Sorted, unique by status and reason. */
  readonly conditions: readonly HealthCondition[];
  /** Entries that cannot be stored: their type is not one of the three that the API has. */
  readonly unknown: readonly UnknownEntry[];
  /** Entries that were dropped because another one has the same status and reason. */
  readonly doubles: number;
}

export const healthyReport: Report = { conditions: [], unknown: [], doubles: 0 };

/** The limits of the API server. */
export const limits = { conditions: 16, reasonBytes: 256, messageBytes: 1_024 } as const;

const noReason = 'Unspecified';

const statuses: Readonly<Record<string, ConditionStatus>> = {
  DEGRADED: 'Degraded',
  INACCESSIBLE: 'Inaccessible',
  DATA_LOSS: 'DataLoss',
};

/** The first are kept if there are too many. */
const severities: readonly ConditionStatus[] = ['Inaccessible', 'DataLoss', 'Degraded'];

export function normalise(entries: ReportedEntries): Report {
  const unknown: UnknownEntry[] = [];
  const conditions = new Map<string, HealthCondition>();
  let doubles = 0;
  for (const { status: type, reason: givenReason, message: givenMessage } of entries) {
    const message = cut(clean(givenMessage, ' '), limits.messageBytes);
    const status = statuses[type];
    if (status === undefined) {
      const reason = cut(clean(givenReason, '_'), limits.reasonBytes);
      unknown.push({ status: String(type), reason, message });
      continue;
    }
    const reason = validReason(givenReason);
    const condition = { status, reason, ...(message === '' ? {} : { message }) };
    const id = `${status} ${reason}`;
    if (conditions.has(id)) doubles += 1;
    else conditions.set(id, condition);
  }
  return { conditions: sorted(mostSevere([...conditions.values()])), unknown, doubles };
}

function mostSevere(conditions: readonly HealthCondition[]): readonly HealthCondition[] {
  if (conditions.length <= limits.conditions) return conditions;
  const rank = ({ status }: HealthCondition): number => severities.indexOf(status);
  const bySeverity = conditions.toSorted((left, right) => rank(left) - rank(right) || order(left.reason, right.reason));
  return bySeverity.slice(0, limits.conditions);
}

/** As the API server accepts reasons of conditions: a letter, then letters, digits and `_,:`, and neither a comma nor a colon at the end. */
function validReason(text: string): string {
  if (text === '') return noReason;
  const allowed = text.replaceAll(/[^A-Za-z0-9_,:]/gu, '_');
  const begun = /^[A-Za-z]/.test(allowed) ? allowed : `Reason_${allowed}`;
  return begun.slice(0, limits.reasonBytes).replace(/[,:]$/, '_');
}

/** Without control characters, line ends and halves of characters. */
function clean(text: string, replacement: string): string {
  return text.toWellFormed().replaceAll(/[\p{Cc}\u2028\u2029]/gu, replacement);
}

/** At most so many bytes of UTF-8, and no part of a character. */
export function cut(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
