// SPDX-License-Identifier: Apache-2.0
/** Objects and facts for tests: complete and valid by default, so that a test names only what it is about. */
import type { VolumeHealthInput } from '@csi-sidecars/csi';
import { driverName } from '@csi-sidecars/csi/testing';
import type { PersistentVolume } from '@csi-sidecars/runtime';
import type { Claim, HealthCondition, HealthStatus } from '../src/report/health-status.ts';
import type { HealthMonitorSettings } from '../src/settings.ts';

export { driverName };

export type Entries = NonNullable<VolumeHealthInput['health_statuses']>;

export function someSettings(settings: Partial<HealthMonitorSettings> = {}): HealthMonitorSettings {
  return {
    workerThreads: 10,
    retryIntervalStartMs: 1_000,
    retryIntervalMaxMs: 60_000,
    timeoutMs: 15_000,
    listIntervalMs: 300_000,
    monitorIntervalMs: 60_000,
    maxEntries: 0,
    ...settings,
  };
}

export interface VolumeFacts {
  readonly name?: string;
  readonly driver?: string;
  readonly handle?: string;
  readonly phase?: string;
  readonly deleting?: 'yes';
  readonly claim?: Partial<NonNullable<NonNullable<PersistentVolume['spec']>['claimRef']>> | 'none';
  readonly spec?: Partial<NonNullable<PersistentVolume['spec']>>;
}

/** By default `pv1`, Bound to the claim `data`, with the handle `volume-1`. */
export function aVolume(facts: VolumeFacts = {}): PersistentVolume {
  const { name = 'pv1', claim = {} } = facts;
  const claimName = claim === 'none' ? '' : (claim.name ?? claimNameOf(name));
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name,
      uid: `uid-of-${name}`,
      ...(facts.deleting === 'yes' ? { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] } : {}),
    },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      csi: {
        driver: facts.driver ?? driverName,
        volumeHandle: facts.handle ?? name.replace('pv', 'volume-'),
      },
      ...(claim === 'none'
        ? {}
        : {
            claimRef: {
              kind: 'PersistentVolumeClaim',
              namespace: 'team',
              name: claimName,
              uid: `uid-of-${claimName}`,
              ...claim,
            },
          }),
      ...facts.spec,
    },
    status: { phase: facts.phase ?? 'Bound' },
  };
}

/** `data` for `pv1`, `data-2` for `pv2`. */
const claimNameOf = (volumeName: string): string =>
  volumeName === 'pv1' ? 'data' : `data-${volumeName.replace('pv', '')}`;

export interface ClaimFacts {
  readonly name?: string;
  readonly uid?: string;
  readonly volumeName?: string;
  readonly health?: readonly HealthCondition[];
  readonly since?: string;
  readonly deleting?: 'yes';
  readonly status?: object;
}

/** By default `team/data`, bound to `pv1`. */
export function aClaim(facts: ClaimFacts = {}): Claim {
  const { volumeName = 'pv1' } = facts;
  const name = facts.name ?? claimNameOf(volumeName);
  const healthStatus: HealthStatus | undefined = facts.health && {
    healthConditions: facts.health,
    lastTransitionTime: facts.since ?? '2025-12-31T00:00:00Z',
  };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name,
      namespace: 'team',
      uid: facts.uid ?? `uid-of-${name}`,
      ...(facts.deleting === 'yes' ? { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] } : {}),
    },
    spec: { accessModes: ['ReadWriteOnce'], volumeName, resources: { requests: { storage: '1Gi' } } },
    status: {
      phase: 'Bound',
      capacity: { storage: '1Gi' },
      ...facts.status,
      ...(healthStatus === undefined ? {} : { healthStatus }),
    },
  };
}

/** A volume with its claim: `pv3` with `data-3`. */
export function aPair(number: number): readonly [PersistentVolume, Claim] {
  const name = `pv${number}`;
  return [aVolume({ name }), aClaim({ volumeName: name })];
}

export const degraded: Entries = [{ status: 'DEGRADED', reason: 'SlowDisk', message: 'the disk is slow' }];
export const inaccessible: Entries = [{ status: 'INACCESSIBLE', reason: 'Gone', message: 'no path' }];
export const storedDegraded: readonly HealthCondition[] = [
  { status: 'Degraded', reason: 'SlowDisk', message: 'the disk is slow' },
];
export const storedInaccessible: readonly HealthCondition[] = [
  { status: 'Inaccessible', reason: 'Gone', message: 'no path' },
];
