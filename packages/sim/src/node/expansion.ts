// SPDX-License-Identifier: Apache-2.0
/**
 * The node's part of a resize, as status of the claim: in progress before the call, the new capacity after it, or the mark
 * that makes the resizer look again. Pure.
 */
import { CsiError } from '@csi-sidecars/csi';
import type { PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { outgrows } from './mount-calls.ts';

const notRequired = 'volume.kubernetes.io/node-expansion-not-required';
const resizeConditions: ReadonlySet<string> = new Set([
  'Resizing',
  'FileSystemResizePending',
  'ControllerResizeError',
  'NodeResizeError',
]);

type ClaimStatus = NonNullable<PersistentVolumeClaim['status']>;

/** What kubelet acts on. An older resizer writes no status, and an older kubelet does not read it. */
const asksNode: ReadonlySet<string | undefined> = new Set([undefined, 'NodeResizePending', 'NodeResizeInProgress']);

/** `beforeRecovery`: kubelet without the gate RecoverVolumeExpansionFailure, as before Kubernetes 1.32. It does not know the resize status. */
export type ExpansionOfNode = 'withRecovery' | 'beforeRecovery';

export function needsExpansion(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  kind: ExpansionOfNode = 'withRecovery',
): boolean {
  if (kind === 'beforeRecovery') return claim.status?.phase === 'Bound' && outgrows(volume, claim);
  if (claim.metadata?.annotations?.[notRequired] === 'true') return false;
  if (!asksNode.has(claim.status?.allocatedResourceStatuses?.['storage'])) return false;
  return claim.status?.phase === 'Bound' && outgrows(volume, claim);
}

export function inProgress(status: ClaimStatus = {}): ClaimStatus {
  const allocatedResourceStatuses = { ...status.allocatedResourceStatuses, storage: 'NodeResizeInProgress' };
  return { ...status, allocatedResourceStatuses };
}

export function finished(
  volume: PersistentVolume,
  status: ClaimStatus = {},
  kind: ExpansionOfNode = 'withRecovery',
): ClaimStatus {
  const { allocatedResourceStatuses = {}, conditions = [], ...rest } = status;
  const { storage: _storage, ...known } = allocatedResourceStatuses;
  const others = kind === 'beforeRecovery' ? allocatedResourceStatuses : known;
  const left = conditions.filter(({ type }) => !resizeConditions.has(type));
  return {
    ...rest,
    capacity: { ...rest.capacity, storage: volume.spec?.capacity?.['storage'] ?? '' },
    ...(Object.keys(others).length === 0 ? {} : { allocatedResourceStatuses: others }),
    ...(left.length === 0 ? {} : { conditions: left }),
  };
}

/** Errors that no retry can resolve. */
export function isInfeasible(error: unknown): boolean {
  return error instanceof CsiError && ['InvalidArgument', 'OutOfRange', 'NotFound'].includes(error.code);
}

export function infeasible(message: string, status: ClaimStatus = {}): ClaimStatus {
  const allocatedResourceStatuses = { ...status.allocatedResourceStatuses, storage: 'NodeResizeInfeasible' };
  const others = (status.conditions ?? []).filter(({ type }) => type !== 'NodeResizeError');
  const condition = { type: 'NodeResizeError', status: 'True', message };
  return { ...status, allocatedResourceStatuses, conditions: [...others, condition] };
}
