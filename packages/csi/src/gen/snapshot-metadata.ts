// SPDX-License-Identifier: Apache-2.0
// Generated from proto/snapshotmetadata/schema.proto by "npm run generate". Do not edit.

/** A number is a value this version does not know. */
export type BlockMetadataType =
  | 'UNKNOWN'
  | 'FIXED_LENGTH'
  | 'VARIABLE_LENGTH'
  | number;

export interface BlockMetadata {
  readonly byte_offset: string;
  readonly size_bytes: string;
}

export interface BlockMetadataInput {
  readonly byte_offset?: string | undefined;
  readonly size_bytes?: string | undefined;
}

export interface GetMetadataAllocatedRequest {
  readonly security_token: string;
  readonly namespace: string;
  readonly snapshot_name: string;
  readonly starting_offset: string;
  readonly max_results: number;
}

export interface GetMetadataAllocatedRequestInput {
  readonly security_token?: string | undefined;
  readonly namespace?: string | undefined;
  readonly snapshot_name?: string | undefined;
  readonly starting_offset?: string | undefined;
  readonly max_results?: number | undefined;
}

export interface GetMetadataAllocatedResponse {
  readonly block_metadata_type: BlockMetadataType;
  readonly volume_capacity_bytes: string;
  readonly block_metadata: readonly BlockMetadata[];
}

export interface GetMetadataAllocatedResponseInput {
  readonly block_metadata_type?: BlockMetadataType | undefined;
  readonly volume_capacity_bytes?: string | undefined;
  readonly block_metadata?: readonly BlockMetadataInput[] | undefined;
}

export interface GetMetadataDeltaRequest {
  readonly security_token: string;
  readonly namespace: string;
  readonly base_snapshot_id: string;
  readonly target_snapshot_name: string;
  readonly starting_offset: string;
  readonly max_results: number;
}

export interface GetMetadataDeltaRequestInput {
  readonly security_token?: string | undefined;
  readonly namespace?: string | undefined;
  readonly base_snapshot_id?: string | undefined;
  readonly target_snapshot_name?: string | undefined;
  readonly starting_offset?: string | undefined;
  readonly max_results?: number | undefined;
}

export interface GetMetadataDeltaResponse {
  readonly block_metadata_type: BlockMetadataType;
  readonly volume_capacity_bytes: string;
  readonly block_metadata: readonly BlockMetadata[];
}

export interface GetMetadataDeltaResponseInput {
  readonly block_metadata_type?: BlockMetadataType | undefined;
  readonly volume_capacity_bytes?: string | undefined;
  readonly block_metadata?: readonly BlockMetadataInput[] | undefined;
}

/** Full name of every server-streaming method: what a client sends and gets, and what a server gets and sends. */
export interface PublicMetadataMethods {
  readonly '/snapshotmetadata.SnapshotMetadata/GetMetadataAllocated': {
    readonly request: GetMetadataAllocatedRequestInput;
    readonly response: GetMetadataAllocatedResponse;
    readonly decodedRequest: GetMetadataAllocatedRequest;
    readonly responseInput: GetMetadataAllocatedResponseInput;
  };
  readonly '/snapshotmetadata.SnapshotMetadata/GetMetadataDelta': {
    readonly request: GetMetadataDeltaRequestInput;
    readonly response: GetMetadataDeltaResponse;
    readonly decodedRequest: GetMetadataDeltaRequest;
    readonly responseInput: GetMetadataDeltaResponseInput;
  };
}
