// SPDX-License-Identifier: Apache-2.0
/** The gate CSIVolumeHealth of the API server. Only its metrics say whether it is on; they are read only if a health monitor runs. */
import { writesHealth } from './sidecars.ts';
import type { HealthGate } from './facts.ts';
import { isRead, type Source, value } from './source.ts';
import { isBelow, minorOf, oldestWithHealth } from './versions.ts';

export const healthGateSource: Source<HealthGate> = {
  rights: ['get /metrics'],
  async read({ get, reader }) {
    const workloads = await get('workloads');
    if (!isRead(workloads)) return workloads;
    const isAsked = workloads.value.all.some(({ sidecars }) => sidecars.some(writesHealth));
    // An API server without the field has no gate either.
    if (!isAsked || isBelow(minorOf(await reader.version()), oldestWithHealth)) return value({ isOn: undefined });
    const notKnown = 'whether the API server keeps the health of claims (gate CSIVolumeHealth)';
    const read = await reader.raw('/metrics', notKnown);
    if (read.kind === 'found') return value({ isOn: gateIn(String(read.value)) });
    const because = read.kind === 'unknown' ? read.because : 'absent';
    const missing = { verb: 'get', group: '', resource: '/metrics', namespace: undefined, because, notKnown } as const;
    return { kind: 'notRead', missing: [missing] };
  },
};

/** Undefined: the API server has no such gate. */
function gateIn(metrics: string): boolean | undefined {
  const [, shown] = /^kubernetes_feature_enabled\{name="CSIVolumeHealth"[^}]*\} ([01])\s*$/m.exec(metrics) ?? [];
  return shown === undefined ? undefined : shown === '1';
}
