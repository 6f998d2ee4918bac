// SPDX-License-Identifier: Apache-2.0
/** What a driver can report of a volume, and what its claim has to show then: docs/behaviour/health-monitor.md, written by hand. */
import type { HealthCondition } from '@csi-sidecars/health-monitor';
import type { HealthEntry } from '@csi-sidecars/test-driver';

export interface Sickness {
  readonly reported: readonly HealthEntry[];
  readonly shown: readonly HealthCondition[];
}

const slow = { status: 'DEGRADED', reason: 'Latency', message: 'one path is left' } as const;
const away = { status: 'INACCESSIBLE', reason: 'NoPath', message: '' } as const;
const shownSlow = { status: 'Degraded', reason: 'Latency', message: 'one path is left' } as const;
const shownAway = { status: 'Inaccessible', reason: 'NoPath' } as const;
const many = Array.from({ length: 17 }, (_, number) => String.fromCharCode(65 + number));

export const sicknesses: Readonly<Record<string, Sickness>> = {
  none: { reported: [], shown: [] },
  slow: { reported: [slow], shown: [shownSlow] },
  away: { reported: [away], shown: [shownAway] },
  both: { reported: [away, slow], shown: [shownSlow, shownAway] },
  /** Only the message differs. */
  slower: { reported: [{ ...slow, message: 'it is slow' }], shown: [{ ...shownSlow, message: 'it is slow' }] },
  lost: {
    reported: [{ status: 'DATA_LOSS', reason: '', message: 'block 7\nblock 9' }],
    shown: [{ status: 'DataLoss', reason: 'Unspecified', message: 'block 7 block 9' }],
  },
  doubled: { reported: [slow, { ...slow, message: 'again' }], shown: [shownSlow] },
  unknown: { reported: [{ status: 99, reason: 'Future', message: '' }], shown: [] },
  partlyUnknown: { reported: [{ status: 99, reason: 'Future', message: '' }, away], shown: [shownAway] },
  many: {
    reported: many.map((reason) => ({ status: 'DEGRADED', reason, message: '' })),
    shown: many.slice(0, 16).map((reason) => ({ status: 'Degraded', reason })),
  },
};

/** What a person writes into a claim by hand. */
export const byHand: readonly HealthCondition[] = [{ status: 'Degraded', reason: 'ByHand' }];

/** What the claim of a volume has to show. `undefined`: the storage has found nothing. */
export function shownOf(reported: readonly HealthEntry[] | undefined): readonly HealthCondition[] | undefined {
  const text = JSON.stringify(reported ?? []);
  return Object.values(sicknesses).find((each) => JSON.stringify(each.reported) === text)?.shown;
}
