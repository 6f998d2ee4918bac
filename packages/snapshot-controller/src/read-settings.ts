// SPDX-License-Identifier: Apache-2.0
/** From flags to settings: what is refused here ends the program before anything is connected. */
import type { SnapshotControllerValues } from './flags.ts';
import type { SnapshotControllerSettings } from './settings.ts';

/** Why this command line cannot be run; undefined when it can. Upstream starts and then does nothing. */
export function refusedFlags(values: SnapshotControllerValues): string | undefined {
  return values['worker-threads'] <= 0 ? '--worker-threads must be at least 1' : undefined;
}

const shortestCrdWaitMs = 1_000;

export function crdWaitMs(values: SnapshotControllerValues): number {
  return Math.max(values['retry-crd-interval-max'], shortestCrdWaitMs);
}

export function toSettings(
  values: SnapshotControllerValues,
  { groups }: Pick<SnapshotControllerSettings, 'groups'>,
): SnapshotControllerSettings {
  return {
    workerThreads: values['worker-threads'],
    retryIntervalStartMs: values['retry-interval-start'],
    retryIntervalMaxMs: values['retry-interval-max'],
    resyncMs: values['resync-period'],
    distributed: values['enable-distributed-snapshotting'],
    recordVolumeMode: values['prevent-volume-mode-conversion'],
    groups,
  };
}
