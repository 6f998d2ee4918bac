// SPDX-License-Identifier: Apache-2.0
/** What a claim shows of the health of its volume: no row of its own, because nothing waits for it, but a risk beside every row. */
import type { PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { healthIn } from '../facts/health.ts';
import { change } from './context.ts';
import { noRisk, type Verdict } from '../verdict.ts';

export function withHealth(claim: PersistentVolumeClaim, verdict: Verdict): Verdict {
  const conditions = healthIn(claim);
  const lost = conditions.find(({ status }) => status === 'DataLoss');
  const shown = lost ?? conditions.find(({ status }) => status === 'Inaccessible') ?? conditions[0];
  if (shown === undefined) return verdict;
  const { status, reason, message = '' } = shown;
  const more = conditions.length === 1 ? '' : `; and ${conditions.length - 1} more`;
  const health = `the driver reports the volume as ${status} (${reason}${message === '' ? '' : `: ${message}`}${more})`;
  const { level, sentence } = verdict.risk ?? noRisk;
  return {
    ...verdict,
    risk: {
      level: lost === undefined && level !== 'certain' ? 'possible' : 'certain',
      of: verdict.risk?.of ?? 'loss',
      ifYou: verdict.risk?.ifYou,
      sentence: level === 'none' ? health : `${sentence}; ${health}`,
    },
    changes: verdict.changes ?? [change('what the driver names, in the storage system')],
    findings: [...(verdict.findings ?? []), 'health-2'],
  };
}
