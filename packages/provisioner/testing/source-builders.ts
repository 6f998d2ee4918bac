// SPDX-License-Identifier: Apache-2.0
/** Builders of sources, and of the claims that name them. */
import type { PersistentVolumeClaim } from '@csi-sidecars/runtime';
import type { VolumeSnapshot, VolumeSnapshotContent } from '@csi-sidecars/volume';
import type { SourceAnswer } from '../src/source/source-answer.ts';
import { aClaim, type ClaimFacts, driverName } from './builders.ts';
import { cloningProtection, snapshotSourceProtection } from '../src/names.ts';

export const boundFinalizer = 'snapshot.storage.kubernetes.io/volumesnapshot-bound-protection';

export interface SourceFacts {
  readonly name?: string;
  readonly namespace?: string;
  /** Default: those of the snapshot controller and ours. */
  readonly finalizers?: readonly string[];
  readonly deleting?: 'yes';
}

/** Ready, of the content `content-of-<name>`, with our finalizer. */
export function aSnapshot(facts: SourceFacts = {}): VolumeSnapshot {
  const { name = 'daily', namespace = 'team' } = facts;
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: {
      name,
      namespace,
      uid: `uid-of-${name}`,
      finalizers: facts.finalizers ?? [boundFinalizer, snapshotSourceProtection],
      ...(facts.deleting === 'yes' ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: { source: { persistentVolumeClaimName: 'original' }, volumeSnapshotClassName: 'gold' },
    status: { boundVolumeSnapshotContentName: `content-of-${name}`, readyToUse: true, restoreSize: '1Gi' },
  };
}

export function aContent(
  facts: { readonly snapshot?: string; readonly namespace?: string; readonly driver?: string } = {},
): VolumeSnapshotContent {
  const { snapshot = 'daily', namespace = 'team', driver = driverName } = facts;
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name: `content-of-${snapshot}` },
    spec: {
      deletionPolicy: 'Delete',
      driver,
      source: { volumeHandle: 'handle-of-original' },
      volumeSnapshotRef: { name: snapshot, namespace, uid: `uid-of-${snapshot}` },
    },
    status: { readyToUse: true, snapshotHandle: `handle-of-${snapshot}` },
  };
}

/** A bound claim that is being deleted and was the source of a clone. */
export function aDyingClaim(facts: SourceFacts = {}): PersistentVolumeClaim {
  const { name = 'original', namespace = 'team' } = facts;
  const claim = aClaim({
    name,
    finalizers: facts.finalizers ?? [cloningProtection],
    deleting: 'yes',
    spec: { volumeName: `pv-of-${name}` },
  });
  return { ...claim, metadata: { ...claim.metadata, namespace }, status: { phase: 'Bound' } };
}

export interface UserFacts extends ClaimFacts {
  readonly namespace?: string;
  /** Default `Pending`. Empty: the PV controller has not seen it. */
  readonly phase?: string;
  readonly source?: Partial<NonNullable<NonNullable<PersistentVolumeClaim['spec']>['dataSource']>>;
  /** By `dataSourceRef` instead of `dataSource`. */
  readonly ref?: Partial<NonNullable<NonNullable<PersistentVolumeClaim['spec']>['dataSourceRef']>>;
}

const snapshotGroup = 'snapshot.storage.k8s.io';

/** A pending claim of our driver that restores the snapshot `daily`. */
export function aRestore(facts: UserFacts = {}): PersistentVolumeClaim {
  return using({ kind: 'VolumeSnapshot', apiGroup: snapshotGroup, name: 'daily' }, { name: 'restored', ...facts });
}

/** A pending claim of our driver that clones the claim `original`. */
export function aClone(facts: UserFacts = {}): PersistentVolumeClaim {
  return using({ kind: 'PersistentVolumeClaim', name: 'original' }, { name: 'clone', ...facts });
}

function using(
  source: { readonly kind: string; readonly name: string; readonly apiGroup?: string },
  { namespace = 'team', phase = 'Pending', source: named, ref, spec, ...facts }: UserFacts,
): PersistentVolumeClaim {
  const reference =
    ref === undefined ? { dataSource: { ...source, ...named } } : { dataSourceRef: { ...source, ...ref } };
  const claim = aClaim({ ...facts, spec: { ...reference, ...spec } });
  return {
    ...claim,
    metadata: { ...claim.metadata, namespace, uid: facts.uid ?? `uid-${facts.name ?? 'data'}` },
    status: phase === '' ? {} : { phase },
  };
}

/** The row of an answer, and what it says. */
export function showAnswer(answer: SourceAnswer): string {
  const { row, kind } = answer;
  return `${row} ${kind === 'refused' ? answer.message : kind === 'usable' ? `usable${answer.isProtected ? ', protected' : ''}` : `read ${answer.name}`}`;
}
