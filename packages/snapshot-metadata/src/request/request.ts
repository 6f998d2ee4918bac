// SPDX-License-Identifier: Apache-2.0
/** What a caller asks for, and which requests are refused by what they say alone. */
import type { PublicMetadataRequest } from '@csi-sidecars/csi';
import { Refusal, type RefusalRow } from './refusal.ts';

export const publicMethods = {
  allocated: '/snapshotmetadata.SnapshotMetadata/GetMetadataAllocated',
  delta: '/snapshotmetadata.SnapshotMetadata/GetMetadataDelta',
} as const;

export type AllocatedRequest = PublicMetadataRequest<(typeof publicMethods)['allocated']>;
export type DeltaRequest = PublicMetadataRequest<(typeof publicMethods)['delta']>;

interface Asked {
  readonly token: string;
  readonly namespace: string;
  /** The VolumeSnapshot; of a delta the target. */
  readonly snapshotName: string;
  /** Decimal digits: an int64. */
  readonly startingOffset: string;
  readonly maxResults: number;
}

export type MetadataRequest =
  | (Asked & { readonly kind: 'allocated' })
  | (Asked & {
      readonly kind: 'delta';
      /** The driver's handle of the base snapshot. It is passed on as it is. */
      readonly baseSnapshotId: string;
    });

export function allocatedRequest(message: AllocatedRequest): MetadataRequest {
  return { kind: 'allocated', ...askedIn(message), snapshotName: message.snapshot_name };
}

export function deltaRequest(message: DeltaRequest): MetadataRequest {
  return {
    kind: 'delta',
    ...askedIn(message),
    snapshotName: message.target_snapshot_name,
    baseSnapshotId: message.base_snapshot_id,
  };
}

function askedIn(message: AllocatedRequest | DeltaRequest): Omit<Asked, 'snapshotName'> {
  return {
    token: message.security_token,
    namespace: message.namespace,
    startingOffset: message.starting_offset,
    maxResults: message.max_results,
  };
}

/** The first that applies; undefined if the request may go on. */
export function refusedArguments(request: MetadataRequest): Refusal | undefined {
  if (request.token === '') return invalid('Q1', 'securityToken is missing');
  if (request.namespace === '') return invalid('Q2', 'namespace parameter cannot be empty');
  if (request.kind === 'delta') {
    if (request.baseSnapshotId === '') return invalid('Q4', 'baseSnapshotId cannot be empty');
    if (request.snapshotName === '') return invalid('Q5', 'targetSnapshotName cannot be empty');
  } else if (request.snapshotName === '') {
    return invalid('Q3', 'snapshotName cannot be empty');
  }
  if (request.startingOffset.startsWith('-')) {
    return new Refusal('Q6', { code: 'OutOfRange', message: 'starting_offset must not be negative' });
  }
  return request.maxResults < 0 ? invalid('Q7', 'max_results must not be negative') : undefined;
}

function invalid(row: RefusalRow, message: string): Refusal {
  return new Refusal(row, { code: 'InvalidArgument', message });
}
