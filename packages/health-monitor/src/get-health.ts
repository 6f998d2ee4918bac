// SPDX-License-Identifier: Apache-2.0
/** One ControllerGetVolumeHealth, and what its answer has to have so that anything follows from it. */
import type { CsiChannel } from '@csi-sidecars/csi';
import type { Clock } from '@csi-sidecars/runtime';
import type { HealthMetrics } from './metrics.ts';
import type { ReportedEntries } from './report/normalise.ts';

export interface GetDeps {
  readonly channel: CsiChannel;
  readonly metrics: HealthMetrics;
  readonly settings: { readonly timeoutMs: number };
}

/** Rejects if the driver does not answer, or not about this volume: a volume without an answer is not healthy. */
export async function getHealth(
  { channel, metrics, settings: { timeoutMs } }: GetDeps,
  { clock, signal }: { readonly clock: Pick<Clock, 'monotonicMs'>; readonly signal: AbortSignal },
  handle: string,
): Promise<ReportedEntries> {
  const startedMs = clock.monotonicMs();
  let result: 'success' | 'error' = 'error';
  try {
    const request = { volume_id: handle };
    const answer = await channel.call('/csi.v1.Controller/ControllerGetVolumeHealth', request, { timeoutMs, signal });
    const { volume_health: health } = answer;
    if (health === null) throw new Error('ControllerGetVolumeHealth answered without volume_health');
    if (health.volume_id !== '' && health.volume_id !== handle) {
      throw new Error('ControllerGetVolumeHealth answered about another volume');
    }
    result = 'success';
    return health.health_statuses;
  } finally {
    if (!signal.aborted) metrics.asked('ControllerGetVolumeHealth', result, clock.monotonicMs() - startedMs);
  }
}
