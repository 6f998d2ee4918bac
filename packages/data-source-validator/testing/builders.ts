// SPDX-License-Identifier: Apache-2.0
/** Objects for tests: complete and valid by default, so that a test names only what it is about. */
import type { KubeObject, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import type { ResourceType } from '@csi-sidecars/runtime/testing';
import { type SourceKind, type VolumePopulator, volumePopulators } from '../src/populator.ts';
import { settingsOf, type DataSourceValidatorSettings } from '../src/settings.ts';

export const populatorType: ResourceType = { ...volumePopulators, custom: true, status: 'absent', generation: true };

export const validKind: SourceKind = { group: 'valid.storage.k8s.io', kind: 'Valid' };
export const foreignKind: SourceKind = { group: 'example.com', kind: 'Foreign' };

export function someSettings(settings: Partial<DataSourceValidatorSettings> = {}): DataSourceValidatorSettings {
  return { ...settingsOf({ workerThreads: 10, claims: 'trimmed' }), ...settings };
}

type DataSourceRef = NonNullable<NonNullable<PersistentVolumeClaim['spec']>['dataSourceRef']>;

export interface ClaimOptions {
  readonly name?: string;
  readonly uid?: string;
  readonly phase?: 'Pending' | 'Bound' | 'Lost';
  readonly isDeleting?: true;
  readonly spec?: PersistentVolumeClaim['spec'];
}

/** The claim `team/data`, which waits for its volume. Without a source it is to be empty. */
export function aClaim(source?: Partial<DataSourceRef>, options: ClaimOptions = {}): PersistentVolumeClaim {
  const { name = 'data', uid = `uid-of-${name}`, phase = 'Pending', isDeleting, spec } = options;
  const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['kubernetes.io/pvc-protection'] };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { namespace: 'team', name, uid, ...(isDeleting === undefined ? {} : deleting) },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      ...(source === undefined ? {} : { dataSourceRef: { kind: 'Unset', name: 'origin', ...source } }),
      ...spec,
    },
    status: { phase },
  };
}

/** A claim whose source has this kind. */
export const claimOf = ({ group, kind }: SourceKind, options: ClaimOptions = {}): PersistentVolumeClaim =>
  aClaim({ apiGroup: group, kind }, options);

export function aPopulator(sourceKind: SourceKind = validKind, name = 'populator'): VolumePopulator {
  return { apiVersion: 'populator.storage.k8s.io/v1beta1', kind: 'VolumePopulator', metadata: { name }, sourceKind };
}

/** One whose schema was bypassed. */
export function aBrokenPopulator(sourceKind: unknown, name = 'broken'): KubeObject {
  return { ...aPopulator(validKind, name), sourceKind } as KubeObject;
}
