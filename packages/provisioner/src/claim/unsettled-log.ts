// SPDX-License-Identifier: Apache-2.0
/** Claims that no user sees any more get no events, so the log names them once an hour while their CreateVolume is repeated. */
import { definePeriodicLoop, type Loop } from '@csi-sidecars/runtime';
import type { ClaimMemory } from './memory.ts';

const everyMs = 60 * 60_000;
const namedClaims = 20;

export function unsettledLog(memory: Pick<ClaimMemory, 'unsettledDeleted'>): Loop {
  return definePeriodicLoop<object>({
    name: 'unsettled-claims',
    watches: {},
    pauseMs: everyMs,
    begin: 'afterPause',
    pass: async ({ logger }) => {
      const claims = memory.unsettledDeleted();
      if (claims.length === 0) return;
      const names = claims.map(({ metadata }) => `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`);
      logger.warn('Volumes may exist for claims that are deleted or gone, the work on them continues', {
        count: claims.length,
        PVCs: names.slice(0, namedClaims).join(', '),
      });
    },
    failed: 'Logging unsettled claims failed',
  });
}
