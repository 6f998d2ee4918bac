// SPDX-License-Identifier: Apache-2.0
// Generated from proto/csi/v1/csi.proto by "npm run generate". Do not edit.

/** A number is a value this version does not know. */
export type VolumeCapability_AccessMode_Mode =
  | 'UNKNOWN'
  | 'SINGLE_NODE_WRITER'
  | 'SINGLE_NODE_READER_ONLY'
  | 'MULTI_NODE_READER_ONLY'
  | 'MULTI_NODE_SINGLE_WRITER'
  | 'MULTI_NODE_MULTI_WRITER'
  | 'SINGLE_NODE_SINGLE_WRITER'
  | 'SINGLE_NODE_MULTI_WRITER'
  | number;

/** A number is a value this version does not know. */
export type VolumeHealthErrorType =
  | 'UNKNOWN_VOLUME_HEALTH_TYPE'
  | 'DEGRADED'
  | 'INACCESSIBLE'
  | 'DATA_LOSS'
  | number;

/** A number is a value this version does not know. */
export type StorageHealthErrorType =
  | 'UNKNOWN_STORAGE_HEALTH_ERROR_TYPE'
  | 'STORAGE_DEGRADED'
  | 'STORAGE_UNREACHABLE'
  | number;

/** A number is a value this version does not know. */
export type VolumeUsage_Unit =
  | 'UNKNOWN'
  | 'BYTES'
  | 'INODES'
  | number;

/** A number is a value this version does not know. */
export type BlockMetadataType =
  | 'UNKNOWN'
  | 'FIXED_LENGTH'
  | 'VARIABLE_LENGTH'
  | number;

/** A number is a value this version does not know. */
export type PluginCapability_Service_Type =
  | 'UNKNOWN'
  | 'CONTROLLER_SERVICE'
  | 'VOLUME_ACCESSIBILITY_CONSTRAINTS'
  | 'GROUP_CONTROLLER_SERVICE'
  | 'SNAPSHOT_METADATA_SERVICE'
  | 'SNAPSHOT_ACCESSIBILITY_CONSTRAINTS'
  | number;

/** A number is a value this version does not know. */
export type PluginCapability_VolumeExpansion_Type =
  | 'UNKNOWN'
  | 'ONLINE'
  | 'OFFLINE'
  | number;

/** A number is a value this version does not know. */
export type ControllerServiceCapability_RPC_Type =
  | 'UNKNOWN'
  | 'CREATE_DELETE_VOLUME'
  | 'PUBLISH_UNPUBLISH_VOLUME'
  | 'LIST_VOLUMES'
  | 'GET_CAPACITY'
  | 'CREATE_DELETE_SNAPSHOT'
  | 'LIST_SNAPSHOTS'
  | 'CLONE_VOLUME'
  | 'PUBLISH_READONLY'
  | 'EXPAND_VOLUME'
  | 'LIST_VOLUMES_PUBLISHED_NODES'
  | 'GET_VOLUME'
  | 'SINGLE_NODE_MULTI_WRITER'
  | 'MODIFY_VOLUME'
  | 'GET_SNAPSHOT'
  | 'GET_VOLUME_HEALTH'
  | 'LIST_VOLUME_HEALTH'
  | number;

/** A number is a value this version does not know. */
export type NodeServiceCapability_RPC_Type =
  | 'UNKNOWN'
  | 'STAGE_UNSTAGE_VOLUME'
  | 'GET_VOLUME_STATS'
  | 'EXPAND_VOLUME'
  | 'SINGLE_NODE_MULTI_WRITER'
  | 'VOLUME_MOUNT_GROUP'
  | 'GET_VOLUME_HEALTH'
  | 'GET_STORAGE_HEALTH'
  | number;

/** A number is a value this version does not know. */
export type GroupControllerServiceCapability_RPC_Type =
  | 'UNKNOWN'
  | 'CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT'
  | number;

export interface VolumeCapability {
  readonly block?: VolumeCapability_BlockVolume | undefined;
  readonly mount?: VolumeCapability_MountVolume | undefined;
  readonly access_mode: VolumeCapability_AccessMode | null;
  readonly access_type?: 'block' | 'mount' | undefined;
}

export interface VolumeCapabilityInput {
  readonly block?: VolumeCapability_BlockVolumeInput | null | undefined;
  readonly mount?: VolumeCapability_MountVolumeInput | null | undefined;
  readonly access_mode?: VolumeCapability_AccessModeInput | null | undefined;
}

export type VolumeCapability_BlockVolume = Readonly<Record<string, never>>;

export type VolumeCapability_BlockVolumeInput = Readonly<Record<string, never>>;

export interface VolumeCapability_MountVolume {
  readonly fs_type: string;
  readonly mount_flags: readonly string[];
  readonly volume_mount_group: string;
}

export interface VolumeCapability_MountVolumeInput {
  readonly fs_type?: string | undefined;
  readonly mount_flags?: readonly string[] | undefined;
  readonly volume_mount_group?: string | undefined;
}

export interface VolumeCapability_AccessMode {
  readonly mode: VolumeCapability_AccessMode_Mode;
}

export interface VolumeCapability_AccessModeInput {
  readonly mode?: VolumeCapability_AccessMode_Mode | undefined;
}

export interface CapacityRange {
  readonly required_bytes: string;
  readonly limit_bytes: string;
}

export interface CapacityRangeInput {
  readonly required_bytes?: string | undefined;
  readonly limit_bytes?: string | undefined;
}

export interface Volume {
  readonly capacity_bytes: string;
  readonly volume_id: string;
  readonly volume_context: Readonly<Record<string, string>>;
  readonly content_source: VolumeContentSource | null;
  readonly accessible_topology: readonly Topology[];
}

export interface VolumeInput {
  readonly capacity_bytes?: string | undefined;
  readonly volume_id?: string | undefined;
  readonly volume_context?: Readonly<Record<string, string>> | undefined;
  readonly content_source?: VolumeContentSourceInput | null | undefined;
  readonly accessible_topology?: readonly TopologyInput[] | undefined;
}

export interface VolumeContentSource {
  readonly snapshot?: VolumeContentSource_SnapshotSource | undefined;
  readonly volume?: VolumeContentSource_VolumeSource | undefined;
  readonly type?: 'snapshot' | 'volume' | undefined;
}

export interface VolumeContentSourceInput {
  readonly snapshot?: VolumeContentSource_SnapshotSourceInput | null | undefined;
  readonly volume?: VolumeContentSource_VolumeSourceInput | null | undefined;
}

export interface VolumeContentSource_SnapshotSource {
  readonly snapshot_id: string;
}

export interface VolumeContentSource_SnapshotSourceInput {
  readonly snapshot_id?: string | undefined;
}

export interface VolumeContentSource_VolumeSource {
  readonly volume_id: string;
}

export interface VolumeContentSource_VolumeSourceInput {
  readonly volume_id?: string | undefined;
}

export interface TopologyRequirement {
  readonly requisite: readonly Topology[];
  readonly preferred: readonly Topology[];
}

export interface TopologyRequirementInput {
  readonly requisite?: readonly TopologyInput[] | undefined;
  readonly preferred?: readonly TopologyInput[] | undefined;
}

export interface Topology {
  readonly segments: Readonly<Record<string, string>>;
}

export interface TopologyInput {
  readonly segments?: Readonly<Record<string, string>> | undefined;
}

export interface Snapshot {
  readonly size_bytes: string;
  readonly snapshot_id: string;
  readonly source_volume_id: string;
  readonly creation_time: Timestamp | null;
  readonly ready_to_use: boolean;
  readonly group_snapshot_id: string;
  readonly accessible_topology: readonly Topology[];
}

export interface SnapshotInput {
  readonly size_bytes?: string | undefined;
  readonly snapshot_id?: string | undefined;
  readonly source_volume_id?: string | undefined;
  readonly creation_time?: TimestampInput | null | undefined;
  readonly ready_to_use?: boolean | undefined;
  readonly group_snapshot_id?: string | undefined;
  readonly accessible_topology?: readonly TopologyInput[] | undefined;
}

export interface VolumeGroupSnapshot {
  readonly group_snapshot_id: string;
  readonly snapshots: readonly Snapshot[];
  readonly creation_time: Timestamp | null;
  readonly ready_to_use: boolean;
}

export interface VolumeGroupSnapshotInput {
  readonly group_snapshot_id?: string | undefined;
  readonly snapshots?: readonly SnapshotInput[] | undefined;
  readonly creation_time?: TimestampInput | null | undefined;
  readonly ready_to_use?: boolean | undefined;
}

export interface VolumeHealth {
  readonly volume_id: string;
  readonly health_statuses: readonly VolumeHealth_VolumeHealthEntry[];
}

export interface VolumeHealthInput {
  readonly volume_id?: string | undefined;
  readonly health_statuses?: readonly VolumeHealth_VolumeHealthEntryInput[] | undefined;
}

export interface VolumeHealth_VolumeHealthEntry {
  readonly status: VolumeHealthErrorType;
  readonly reason: string;
  readonly message: string;
}

export interface VolumeHealth_VolumeHealthEntryInput {
  readonly status?: VolumeHealthErrorType | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface VolumeUsage {
  readonly available: string;
  readonly total: string;
  readonly used: string;
  readonly unit: VolumeUsage_Unit;
}

export interface VolumeUsageInput {
  readonly available?: string | undefined;
  readonly total?: string | undefined;
  readonly used?: string | undefined;
  readonly unit?: VolumeUsage_Unit | undefined;
}

export interface BlockMetadata {
  readonly byte_offset: string;
  readonly size_bytes: string;
}

export interface BlockMetadataInput {
  readonly byte_offset?: string | undefined;
  readonly size_bytes?: string | undefined;
}

export interface PluginCapability {
  readonly service?: PluginCapability_Service | undefined;
  readonly volume_expansion?: PluginCapability_VolumeExpansion | undefined;
  readonly type?: 'service' | 'volume_expansion' | undefined;
}

export interface PluginCapabilityInput {
  readonly service?: PluginCapability_ServiceInput | null | undefined;
  readonly volume_expansion?: PluginCapability_VolumeExpansionInput | null | undefined;
}

export interface PluginCapability_Service {
  readonly type: PluginCapability_Service_Type;
}

export interface PluginCapability_ServiceInput {
  readonly type?: PluginCapability_Service_Type | undefined;
}

export interface PluginCapability_VolumeExpansion {
  readonly type: PluginCapability_VolumeExpansion_Type;
}

export interface PluginCapability_VolumeExpansionInput {
  readonly type?: PluginCapability_VolumeExpansion_Type | undefined;
}

export interface ControllerServiceCapability {
  readonly rpc?: ControllerServiceCapability_RPC | undefined;
  readonly type?: 'rpc' | undefined;
}

export interface ControllerServiceCapabilityInput {
  readonly rpc?: ControllerServiceCapability_RPCInput | null | undefined;
}

export interface ControllerServiceCapability_RPC {
  readonly type: ControllerServiceCapability_RPC_Type;
}

export interface ControllerServiceCapability_RPCInput {
  readonly type?: ControllerServiceCapability_RPC_Type | undefined;
}

export interface NodeServiceCapability {
  readonly rpc?: NodeServiceCapability_RPC | undefined;
  readonly type?: 'rpc' | undefined;
}

export interface NodeServiceCapabilityInput {
  readonly rpc?: NodeServiceCapability_RPCInput | null | undefined;
}

export interface NodeServiceCapability_RPC {
  readonly type: NodeServiceCapability_RPC_Type;
}

export interface NodeServiceCapability_RPCInput {
  readonly type?: NodeServiceCapability_RPC_Type | undefined;
}

export interface GroupControllerServiceCapability {
  readonly rpc?: GroupControllerServiceCapability_RPC | undefined;
  readonly type?: 'rpc' | undefined;
}

export interface GroupControllerServiceCapabilityInput {
  readonly rpc?: GroupControllerServiceCapability_RPCInput | null | undefined;
}

export interface GroupControllerServiceCapability_RPC {
  readonly type: GroupControllerServiceCapability_RPC_Type;
}

export interface GroupControllerServiceCapability_RPCInput {
  readonly type?: GroupControllerServiceCapability_RPC_Type | undefined;
}

export type GetPluginInfoRequest = Readonly<Record<string, never>>;

export type GetPluginInfoRequestInput = Readonly<Record<string, never>>;

export interface GetPluginInfoResponse {
  readonly name: string;
  readonly vendor_version: string;
  readonly manifest: Readonly<Record<string, string>>;
}

export interface GetPluginInfoResponseInput {
  readonly name?: string | undefined;
  readonly vendor_version?: string | undefined;
  readonly manifest?: Readonly<Record<string, string>> | undefined;
}

export type GetPluginCapabilitiesRequest = Readonly<Record<string, never>>;

export type GetPluginCapabilitiesRequestInput = Readonly<Record<string, never>>;

export interface GetPluginCapabilitiesResponse {
  readonly capabilities: readonly PluginCapability[];
}

export interface GetPluginCapabilitiesResponseInput {
  readonly capabilities?: readonly PluginCapabilityInput[] | undefined;
}

export type ProbeRequest = Readonly<Record<string, never>>;

export type ProbeRequestInput = Readonly<Record<string, never>>;

export interface ProbeResponse {
  readonly ready: BoolValue | null;
}

export interface ProbeResponseInput {
  readonly ready?: BoolValueInput | null | undefined;
}

export interface CreateVolumeRequest {
  readonly name: string;
  readonly capacity_range: CapacityRange | null;
  readonly volume_capabilities: readonly VolumeCapability[];
  readonly parameters: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly volume_content_source: VolumeContentSource | null;
  readonly accessibility_requirements: TopologyRequirement | null;
  readonly mutable_parameters: Readonly<Record<string, string>>;
}

export interface CreateVolumeRequestInput {
  readonly name?: string | undefined;
  readonly capacity_range?: CapacityRangeInput | null | undefined;
  readonly volume_capabilities?: readonly VolumeCapabilityInput[] | undefined;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
  readonly volume_content_source?: VolumeContentSourceInput | null | undefined;
  readonly accessibility_requirements?: TopologyRequirementInput | null | undefined;
  readonly mutable_parameters?: Readonly<Record<string, string>> | undefined;
}

export interface CreateVolumeResponse {
  readonly volume: Volume | null;
}

export interface CreateVolumeResponseInput {
  readonly volume?: VolumeInput | null | undefined;
}

export interface DeleteVolumeRequest {
  readonly volume_id: string;
  readonly secrets: Readonly<Record<string, string>>;
}

export interface DeleteVolumeRequestInput {
  readonly volume_id?: string | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
}

export type DeleteVolumeResponse = Readonly<Record<string, never>>;

export type DeleteVolumeResponseInput = Readonly<Record<string, never>>;

export interface ControllerPublishVolumeRequest {
  readonly volume_id: string;
  readonly node_id: string;
  readonly volume_capability: VolumeCapability | null;
  readonly readonly: boolean;
  readonly secrets: Readonly<Record<string, string>>;
  readonly volume_context: Readonly<Record<string, string>>;
}

export interface ControllerPublishVolumeRequestInput {
  readonly volume_id?: string | undefined;
  readonly node_id?: string | undefined;
  readonly volume_capability?: VolumeCapabilityInput | null | undefined;
  readonly readonly?: boolean | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
  readonly volume_context?: Readonly<Record<string, string>> | undefined;
}

export interface ControllerPublishVolumeResponse {
  readonly publish_context: Readonly<Record<string, string>>;
}

export interface ControllerPublishVolumeResponseInput {
  readonly publish_context?: Readonly<Record<string, string>> | undefined;
}

export interface ControllerUnpublishVolumeRequest {
  readonly volume_id: string;
  readonly node_id: string;
  readonly secrets: Readonly<Record<string, string>>;
}

export interface ControllerUnpublishVolumeRequestInput {
  readonly volume_id?: string | undefined;
  readonly node_id?: string | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
}

export type ControllerUnpublishVolumeResponse = Readonly<Record<string, never>>;

export type ControllerUnpublishVolumeResponseInput = Readonly<Record<string, never>>;

export interface ValidateVolumeCapabilitiesRequest {
  readonly volume_id: string;
  readonly volume_context: Readonly<Record<string, string>>;
  readonly volume_capabilities: readonly VolumeCapability[];
  readonly parameters: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly mutable_parameters: Readonly<Record<string, string>>;
}

export interface ValidateVolumeCapabilitiesRequestInput {
  readonly volume_id?: string | undefined;
  readonly volume_context?: Readonly<Record<string, string>> | undefined;
  readonly volume_capabilities?: readonly VolumeCapabilityInput[] | undefined;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
  readonly mutable_parameters?: Readonly<Record<string, string>> | undefined;
}

export interface ValidateVolumeCapabilitiesResponse {
  readonly confirmed: ValidateVolumeCapabilitiesResponse_Confirmed | null;
  readonly message: string;
}

export interface ValidateVolumeCapabilitiesResponseInput {
  readonly confirmed?: ValidateVolumeCapabilitiesResponse_ConfirmedInput | null | undefined;
  readonly message?: string | undefined;
}

export interface ValidateVolumeCapabilitiesResponse_Confirmed {
  readonly volume_context: Readonly<Record<string, string>>;
  readonly volume_capabilities: readonly VolumeCapability[];
  readonly parameters: Readonly<Record<string, string>>;
  readonly mutable_parameters: Readonly<Record<string, string>>;
}

export interface ValidateVolumeCapabilitiesResponse_ConfirmedInput {
  readonly volume_context?: Readonly<Record<string, string>> | undefined;
  readonly volume_capabilities?: readonly VolumeCapabilityInput[] | undefined;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly mutable_parameters?: Readonly<Record<string, string>> | undefined;
}

export interface ListVolumesRequest {
  readonly max_entries: number;
  readonly starting_token: string;
}

export interface ListVolumesRequestInput {
  readonly max_entries?: number | undefined;
  readonly starting_token?: string | undefined;
}

export interface ListVolumesResponse {
  readonly entries: readonly ListVolumesResponse_Entry[];
  readonly next_token: string;
}

export interface ListVolumesResponseInput {
  readonly entries?: readonly ListVolumesResponse_EntryInput[] | undefined;
  readonly next_token?: string | undefined;
}

export interface ListVolumesResponse_VolumeStatus {
  readonly published_node_ids: readonly string[];
}

export interface ListVolumesResponse_VolumeStatusInput {
  readonly published_node_ids?: readonly string[] | undefined;
}

export interface ListVolumesResponse_Entry {
  readonly volume: Volume | null;
  readonly status: ListVolumesResponse_VolumeStatus | null;
}

export interface ListVolumesResponse_EntryInput {
  readonly volume?: VolumeInput | null | undefined;
  readonly status?: ListVolumesResponse_VolumeStatusInput | null | undefined;
}

export interface ControllerGetVolumeRequest {
  readonly volume_id: string;
}

export interface ControllerGetVolumeRequestInput {
  readonly volume_id?: string | undefined;
}

export interface ControllerGetVolumeResponse {
  readonly volume: Volume | null;
  readonly status: ControllerGetVolumeResponse_VolumeStatus | null;
}

export interface ControllerGetVolumeResponseInput {
  readonly volume?: VolumeInput | null | undefined;
  readonly status?: ControllerGetVolumeResponse_VolumeStatusInput | null | undefined;
}

export interface ControllerGetVolumeResponse_VolumeStatus {
  readonly published_node_ids: readonly string[];
}

export interface ControllerGetVolumeResponse_VolumeStatusInput {
  readonly published_node_ids?: readonly string[] | undefined;
}

export interface ControllerModifyVolumeRequest {
  readonly volume_id: string;
  readonly secrets: Readonly<Record<string, string>>;
  readonly mutable_parameters: Readonly<Record<string, string>>;
}

export interface ControllerModifyVolumeRequestInput {
  readonly volume_id?: string | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
  readonly mutable_parameters?: Readonly<Record<string, string>> | undefined;
}

export type ControllerModifyVolumeResponse = Readonly<Record<string, never>>;

export type ControllerModifyVolumeResponseInput = Readonly<Record<string, never>>;

export interface GetCapacityRequest {
  readonly volume_capabilities: readonly VolumeCapability[];
  readonly parameters: Readonly<Record<string, string>>;
  readonly accessible_topology: Topology | null;
}

export interface GetCapacityRequestInput {
  readonly volume_capabilities?: readonly VolumeCapabilityInput[] | undefined;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly accessible_topology?: TopologyInput | null | undefined;
}

export interface GetCapacityResponse {
  readonly available_capacity: string;
  readonly maximum_volume_size: Int64Value | null;
  readonly minimum_volume_size: Int64Value | null;
}

export interface GetCapacityResponseInput {
  readonly available_capacity?: string | undefined;
  readonly maximum_volume_size?: Int64ValueInput | null | undefined;
  readonly minimum_volume_size?: Int64ValueInput | null | undefined;
}

export type ControllerGetCapabilitiesRequest = Readonly<Record<string, never>>;

export type ControllerGetCapabilitiesRequestInput = Readonly<Record<string, never>>;

export interface ControllerGetCapabilitiesResponse {
  readonly capabilities: readonly ControllerServiceCapability[];
}

export interface ControllerGetCapabilitiesResponseInput {
  readonly capabilities?: readonly ControllerServiceCapabilityInput[] | undefined;
}

export interface ControllerExpandVolumeRequest {
  readonly volume_id: string;
  readonly capacity_range: CapacityRange | null;
  readonly secrets: Readonly<Record<string, string>>;
  readonly volume_capability: VolumeCapability | null;
}

export interface ControllerExpandVolumeRequestInput {
  readonly volume_id?: string | undefined;
  readonly capacity_range?: CapacityRangeInput | null | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
  readonly volume_capability?: VolumeCapabilityInput | null | undefined;
}

export interface ControllerExpandVolumeResponse {
  readonly capacity_bytes: string;
  readonly node_expansion_required: boolean;
}

export interface ControllerExpandVolumeResponseInput {
  readonly capacity_bytes?: string | undefined;
  readonly node_expansion_required?: boolean | undefined;
}

export interface ControllerListVolumeHealthRequest {
  readonly max_entries: number;
  readonly starting_token: string;
  readonly secrets: Readonly<Record<string, string>>;
}

export interface ControllerListVolumeHealthRequestInput {
  readonly max_entries?: number | undefined;
  readonly starting_token?: string | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
}

export interface ControllerListVolumeHealthResponse {
  readonly entries: readonly VolumeHealth[];
  readonly next_token: string;
}

export interface ControllerListVolumeHealthResponseInput {
  readonly entries?: readonly VolumeHealthInput[] | undefined;
  readonly next_token?: string | undefined;
}

export interface ControllerGetVolumeHealthRequest {
  readonly volume_id: string;
  readonly secrets: Readonly<Record<string, string>>;
}

export interface ControllerGetVolumeHealthRequestInput {
  readonly volume_id?: string | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
}

export interface ControllerGetVolumeHealthResponse {
  readonly volume_health: VolumeHealth | null;
}

export interface ControllerGetVolumeHealthResponseInput {
  readonly volume_health?: VolumeHealthInput | null | undefined;
}

export interface CreateSnapshotRequest {
  readonly source_volume_id: string;
  readonly name: string;
  readonly secrets: Readonly<Record<string, string>>;
  readonly parameters: Readonly<Record<string, string>>;
  readonly accessibility_requirements: TopologyRequirement | null;
}

export interface CreateSnapshotRequestInput {
  readonly source_volume_id?: string | undefined;
  readonly name?: string | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly accessibility_requirements?: TopologyRequirementInput | null | undefined;
}

export interface CreateSnapshotResponse {
  readonly snapshot: Snapshot | null;
}

export interface CreateSnapshotResponseInput {
  readonly snapshot?: SnapshotInput | null | undefined;
}

export interface DeleteSnapshotRequest {
  readonly snapshot_id: string;
  readonly secrets: Readonly<Record<string, string>>;
}

export interface DeleteSnapshotRequestInput {
  readonly snapshot_id?: string | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
}

export type DeleteSnapshotResponse = Readonly<Record<string, never>>;

export type DeleteSnapshotResponseInput = Readonly<Record<string, never>>;

export interface ListSnapshotsRequest {
  readonly max_entries: number;
  readonly starting_token: string;
  readonly source_volume_id: string;
  readonly snapshot_id: string;
  readonly secrets: Readonly<Record<string, string>>;
}

export interface ListSnapshotsRequestInput {
  readonly max_entries?: number | undefined;
  readonly starting_token?: string | undefined;
  readonly source_volume_id?: string | undefined;
  readonly snapshot_id?: string | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
}

export interface ListSnapshotsResponse {
  readonly entries: readonly ListSnapshotsResponse_Entry[];
  readonly next_token: string;
}

export interface ListSnapshotsResponseInput {
  readonly entries?: readonly ListSnapshotsResponse_EntryInput[] | undefined;
  readonly next_token?: string | undefined;
}

export interface ListSnapshotsResponse_Entry {
  readonly snapshot: Snapshot | null;
}

export interface ListSnapshotsResponse_EntryInput {
  readonly snapshot?: SnapshotInput | null | undefined;
}

export interface GetSnapshotRequest {
  readonly snapshot_id: string;
  readonly secrets: Readonly<Record<string, string>>;
}

export interface GetSnapshotRequestInput {
  readonly snapshot_id?: string | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
}

export interface GetSnapshotResponse {
  readonly snapshot: Snapshot | null;
}

export interface GetSnapshotResponseInput {
  readonly snapshot?: SnapshotInput | null | undefined;
}

export type GroupControllerGetCapabilitiesRequest = Readonly<Record<string, never>>;

export type GroupControllerGetCapabilitiesRequestInput = Readonly<Record<string, never>>;

export interface GroupControllerGetCapabilitiesResponse {
  readonly capabilities: readonly GroupControllerServiceCapability[];
}

export interface GroupControllerGetCapabilitiesResponseInput {
  readonly capabilities?: readonly GroupControllerServiceCapabilityInput[] | undefined;
}

export interface CreateVolumeGroupSnapshotRequest {
  readonly name: string;
  readonly source_volume_ids: readonly string[];
  readonly secrets: Readonly<Record<string, string>>;
  readonly parameters: Readonly<Record<string, string>>;
}

export interface CreateVolumeGroupSnapshotRequestInput {
  readonly name?: string | undefined;
  readonly source_volume_ids?: readonly string[] | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

export interface CreateVolumeGroupSnapshotResponse {
  readonly group_snapshot: VolumeGroupSnapshot | null;
}

export interface CreateVolumeGroupSnapshotResponseInput {
  readonly group_snapshot?: VolumeGroupSnapshotInput | null | undefined;
}

export interface DeleteVolumeGroupSnapshotRequest {
  readonly group_snapshot_id: string;
  readonly snapshot_ids: readonly string[];
  readonly secrets: Readonly<Record<string, string>>;
}

export interface DeleteVolumeGroupSnapshotRequestInput {
  readonly group_snapshot_id?: string | undefined;
  readonly snapshot_ids?: readonly string[] | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
}

export type DeleteVolumeGroupSnapshotResponse = Readonly<Record<string, never>>;

export type DeleteVolumeGroupSnapshotResponseInput = Readonly<Record<string, never>>;

export interface GetVolumeGroupSnapshotRequest {
  readonly group_snapshot_id: string;
  readonly snapshot_ids: readonly string[];
  readonly secrets: Readonly<Record<string, string>>;
}

export interface GetVolumeGroupSnapshotRequestInput {
  readonly group_snapshot_id?: string | undefined;
  readonly snapshot_ids?: readonly string[] | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
}

export interface GetVolumeGroupSnapshotResponse {
  readonly group_snapshot: VolumeGroupSnapshot | null;
}

export interface GetVolumeGroupSnapshotResponseInput {
  readonly group_snapshot?: VolumeGroupSnapshotInput | null | undefined;
}

export interface GetMetadataAllocatedRequest {
  readonly snapshot_id: string;
  readonly starting_offset: string;
  readonly max_results: number;
  readonly secrets: Readonly<Record<string, string>>;
}

export interface GetMetadataAllocatedRequestInput {
  readonly snapshot_id?: string | undefined;
  readonly starting_offset?: string | undefined;
  readonly max_results?: number | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
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
  readonly base_snapshot_id: string;
  readonly target_snapshot_id: string;
  readonly starting_offset: string;
  readonly max_results: number;
  readonly secrets: Readonly<Record<string, string>>;
}

export interface GetMetadataDeltaRequestInput {
  readonly base_snapshot_id?: string | undefined;
  readonly target_snapshot_id?: string | undefined;
  readonly starting_offset?: string | undefined;
  readonly max_results?: number | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
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

export interface NodeStageVolumeRequest {
  readonly volume_id: string;
  readonly publish_context: Readonly<Record<string, string>>;
  readonly staging_target_path: string;
  readonly volume_capability: VolumeCapability | null;
  readonly secrets: Readonly<Record<string, string>>;
  readonly volume_context: Readonly<Record<string, string>>;
}

export interface NodeStageVolumeRequestInput {
  readonly volume_id?: string | undefined;
  readonly publish_context?: Readonly<Record<string, string>> | undefined;
  readonly staging_target_path?: string | undefined;
  readonly volume_capability?: VolumeCapabilityInput | null | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
  readonly volume_context?: Readonly<Record<string, string>> | undefined;
}

export type NodeStageVolumeResponse = Readonly<Record<string, never>>;

export type NodeStageVolumeResponseInput = Readonly<Record<string, never>>;

export interface NodeUnstageVolumeRequest {
  readonly volume_id: string;
  readonly staging_target_path: string;
}

export interface NodeUnstageVolumeRequestInput {
  readonly volume_id?: string | undefined;
  readonly staging_target_path?: string | undefined;
}

export type NodeUnstageVolumeResponse = Readonly<Record<string, never>>;

export type NodeUnstageVolumeResponseInput = Readonly<Record<string, never>>;

export interface NodePublishVolumeRequest {
  readonly volume_id: string;
  readonly publish_context: Readonly<Record<string, string>>;
  readonly staging_target_path: string;
  readonly target_path: string;
  readonly volume_capability: VolumeCapability | null;
  readonly readonly: boolean;
  readonly secrets: Readonly<Record<string, string>>;
  readonly volume_context: Readonly<Record<string, string>>;
}

export interface NodePublishVolumeRequestInput {
  readonly volume_id?: string | undefined;
  readonly publish_context?: Readonly<Record<string, string>> | undefined;
  readonly staging_target_path?: string | undefined;
  readonly target_path?: string | undefined;
  readonly volume_capability?: VolumeCapabilityInput | null | undefined;
  readonly readonly?: boolean | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
  readonly volume_context?: Readonly<Record<string, string>> | undefined;
}

export type NodePublishVolumeResponse = Readonly<Record<string, never>>;

export type NodePublishVolumeResponseInput = Readonly<Record<string, never>>;

export interface NodeUnpublishVolumeRequest {
  readonly volume_id: string;
  readonly target_path: string;
}

export interface NodeUnpublishVolumeRequestInput {
  readonly volume_id?: string | undefined;
  readonly target_path?: string | undefined;
}

export type NodeUnpublishVolumeResponse = Readonly<Record<string, never>>;

export type NodeUnpublishVolumeResponseInput = Readonly<Record<string, never>>;

export interface NodeGetVolumeStatsRequest {
  readonly volume_id: string;
  readonly volume_path: string;
  readonly staging_target_path: string;
}

export interface NodeGetVolumeStatsRequestInput {
  readonly volume_id?: string | undefined;
  readonly volume_path?: string | undefined;
  readonly staging_target_path?: string | undefined;
}

export interface NodeGetVolumeStatsResponse {
  readonly usage: readonly VolumeUsage[];
}

export interface NodeGetVolumeStatsResponseInput {
  readonly usage?: readonly VolumeUsageInput[] | undefined;
}

export interface NodeExpandVolumeRequest {
  readonly volume_id: string;
  readonly volume_path: string;
  readonly capacity_range: CapacityRange | null;
  readonly staging_target_path: string;
  readonly volume_capability: VolumeCapability | null;
  readonly secrets: Readonly<Record<string, string>>;
}

export interface NodeExpandVolumeRequestInput {
  readonly volume_id?: string | undefined;
  readonly volume_path?: string | undefined;
  readonly capacity_range?: CapacityRangeInput | null | undefined;
  readonly staging_target_path?: string | undefined;
  readonly volume_capability?: VolumeCapabilityInput | null | undefined;
  readonly secrets?: Readonly<Record<string, string>> | undefined;
}

export interface NodeExpandVolumeResponse {
  readonly capacity_bytes: string;
}

export interface NodeExpandVolumeResponseInput {
  readonly capacity_bytes?: string | undefined;
}

export type NodeGetCapabilitiesRequest = Readonly<Record<string, never>>;

export type NodeGetCapabilitiesRequestInput = Readonly<Record<string, never>>;

export interface NodeGetCapabilitiesResponse {
  readonly capabilities: readonly NodeServiceCapability[];
}

export interface NodeGetCapabilitiesResponseInput {
  readonly capabilities?: readonly NodeServiceCapabilityInput[] | undefined;
}

export type NodeGetInfoRequest = Readonly<Record<string, never>>;

export type NodeGetInfoRequestInput = Readonly<Record<string, never>>;

export interface NodeGetInfoResponse {
  readonly node_id: string;
  readonly max_volumes_per_node: string;
  readonly accessible_topology: Topology | null;
}

export interface NodeGetInfoResponseInput {
  readonly node_id?: string | undefined;
  readonly max_volumes_per_node?: string | undefined;
  readonly accessible_topology?: TopologyInput | null | undefined;
}

export interface NodeGetVolumeHealthRequest {
  readonly volume_id: string;
  readonly volume_publish_path: string;
  readonly staging_target_path: string;
}

export interface NodeGetVolumeHealthRequestInput {
  readonly volume_id?: string | undefined;
  readonly volume_publish_path?: string | undefined;
  readonly staging_target_path?: string | undefined;
}

export interface NodeGetVolumeHealthResponse {
  readonly volume_health: VolumeHealth | null;
}

export interface NodeGetVolumeHealthResponseInput {
  readonly volume_health?: VolumeHealthInput | null | undefined;
}

export interface NodeGetStorageHealthRequest {
  readonly secrets: Readonly<Record<string, string>>;
}

export interface NodeGetStorageHealthRequestInput {
  readonly secrets?: Readonly<Record<string, string>> | undefined;
}

export interface NodeGetStorageHealthResponse {
  readonly backend_health: readonly NodeGetStorageHealthResponse_StorageBackendHealth[];
}

export interface NodeGetStorageHealthResponseInput {
  readonly backend_health?: readonly NodeGetStorageHealthResponse_StorageBackendHealthInput[] | undefined;
}

export interface NodeGetStorageHealthResponse_StorageBackendHealth {
  readonly status: StorageHealthErrorType;
  readonly reason: string;
  readonly message: string;
  readonly volume_capability: VolumeCapability | null;
}

export interface NodeGetStorageHealthResponse_StorageBackendHealthInput {
  readonly status?: StorageHealthErrorType | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly volume_capability?: VolumeCapabilityInput | null | undefined;
}

export interface Timestamp {
  readonly seconds: string;
  readonly nanos: number;
}

export interface TimestampInput {
  readonly seconds?: string | undefined;
  readonly nanos?: number | undefined;
}

export interface Int64Value {
  readonly value: string;
}

export interface Int64ValueInput {
  readonly value?: string | undefined;
}

export interface BoolValue {
  readonly value: boolean;
}

export interface BoolValueInput {
  readonly value?: boolean | undefined;
}

/** Full name of every unary method: what a client sends and gets, and what a server gets and sends. */
export interface Methods {
  readonly '/csi.v1.Identity/GetPluginInfo': {
    readonly request: GetPluginInfoRequestInput;
    readonly response: GetPluginInfoResponse;
    readonly decodedRequest: GetPluginInfoRequest;
    readonly responseInput: GetPluginInfoResponseInput;
  };
  readonly '/csi.v1.Identity/GetPluginCapabilities': {
    readonly request: GetPluginCapabilitiesRequestInput;
    readonly response: GetPluginCapabilitiesResponse;
    readonly decodedRequest: GetPluginCapabilitiesRequest;
    readonly responseInput: GetPluginCapabilitiesResponseInput;
  };
  readonly '/csi.v1.Identity/Probe': {
    readonly request: ProbeRequestInput;
    readonly response: ProbeResponse;
    readonly decodedRequest: ProbeRequest;
    readonly responseInput: ProbeResponseInput;
  };
  readonly '/csi.v1.Controller/CreateVolume': {
    readonly request: CreateVolumeRequestInput;
    readonly response: CreateVolumeResponse;
    readonly decodedRequest: CreateVolumeRequest;
    readonly responseInput: CreateVolumeResponseInput;
  };
  readonly '/csi.v1.Controller/DeleteVolume': {
    readonly request: DeleteVolumeRequestInput;
    readonly response: DeleteVolumeResponse;
    readonly decodedRequest: DeleteVolumeRequest;
    readonly responseInput: DeleteVolumeResponseInput;
  };
  readonly '/csi.v1.Controller/ControllerPublishVolume': {
    readonly request: ControllerPublishVolumeRequestInput;
    readonly response: ControllerPublishVolumeResponse;
    readonly decodedRequest: ControllerPublishVolumeRequest;
    readonly responseInput: ControllerPublishVolumeResponseInput;
  };
  readonly '/csi.v1.Controller/ControllerUnpublishVolume': {
    readonly request: ControllerUnpublishVolumeRequestInput;
    readonly response: ControllerUnpublishVolumeResponse;
    readonly decodedRequest: ControllerUnpublishVolumeRequest;
    readonly responseInput: ControllerUnpublishVolumeResponseInput;
  };
  readonly '/csi.v1.Controller/ValidateVolumeCapabilities': {
    readonly request: ValidateVolumeCapabilitiesRequestInput;
    readonly response: ValidateVolumeCapabilitiesResponse;
    readonly decodedRequest: ValidateVolumeCapabilitiesRequest;
    readonly responseInput: ValidateVolumeCapabilitiesResponseInput;
  };
  readonly '/csi.v1.Controller/ListVolumes': {
    readonly request: ListVolumesRequestInput;
    readonly response: ListVolumesResponse;
    readonly decodedRequest: ListVolumesRequest;
    readonly responseInput: ListVolumesResponseInput;
  };
  readonly '/csi.v1.Controller/GetCapacity': {
    readonly request: GetCapacityRequestInput;
    readonly response: GetCapacityResponse;
    readonly decodedRequest: GetCapacityRequest;
    readonly responseInput: GetCapacityResponseInput;
  };
  readonly '/csi.v1.Controller/ControllerGetCapabilities': {
    readonly request: ControllerGetCapabilitiesRequestInput;
    readonly response: ControllerGetCapabilitiesResponse;
    readonly decodedRequest: ControllerGetCapabilitiesRequest;
    readonly responseInput: ControllerGetCapabilitiesResponseInput;
  };
  readonly '/csi.v1.Controller/CreateSnapshot': {
    readonly request: CreateSnapshotRequestInput;
    readonly response: CreateSnapshotResponse;
    readonly decodedRequest: CreateSnapshotRequest;
    readonly responseInput: CreateSnapshotResponseInput;
  };
  readonly '/csi.v1.Controller/DeleteSnapshot': {
    readonly request: DeleteSnapshotRequestInput;
    readonly response: DeleteSnapshotResponse;
    readonly decodedRequest: DeleteSnapshotRequest;
    readonly responseInput: DeleteSnapshotResponseInput;
  };
  readonly '/csi.v1.Controller/ListSnapshots': {
    readonly request: ListSnapshotsRequestInput;
    readonly response: ListSnapshotsResponse;
    readonly decodedRequest: ListSnapshotsRequest;
    readonly responseInput: ListSnapshotsResponseInput;
  };
  readonly '/csi.v1.Controller/GetSnapshot': {
    readonly request: GetSnapshotRequestInput;
    readonly response: GetSnapshotResponse;
    readonly decodedRequest: GetSnapshotRequest;
    readonly responseInput: GetSnapshotResponseInput;
  };
  readonly '/csi.v1.Controller/ControllerExpandVolume': {
    readonly request: ControllerExpandVolumeRequestInput;
    readonly response: ControllerExpandVolumeResponse;
    readonly decodedRequest: ControllerExpandVolumeRequest;
    readonly responseInput: ControllerExpandVolumeResponseInput;
  };
  readonly '/csi.v1.Controller/ControllerGetVolume': {
    readonly request: ControllerGetVolumeRequestInput;
    readonly response: ControllerGetVolumeResponse;
    readonly decodedRequest: ControllerGetVolumeRequest;
    readonly responseInput: ControllerGetVolumeResponseInput;
  };
  readonly '/csi.v1.Controller/ControllerModifyVolume': {
    readonly request: ControllerModifyVolumeRequestInput;
    readonly response: ControllerModifyVolumeResponse;
    readonly decodedRequest: ControllerModifyVolumeRequest;
    readonly responseInput: ControllerModifyVolumeResponseInput;
  };
  readonly '/csi.v1.Controller/ControllerListVolumeHealth': {
    readonly request: ControllerListVolumeHealthRequestInput;
    readonly response: ControllerListVolumeHealthResponse;
    readonly decodedRequest: ControllerListVolumeHealthRequest;
    readonly responseInput: ControllerListVolumeHealthResponseInput;
  };
  readonly '/csi.v1.Controller/ControllerGetVolumeHealth': {
    readonly request: ControllerGetVolumeHealthRequestInput;
    readonly response: ControllerGetVolumeHealthResponse;
    readonly decodedRequest: ControllerGetVolumeHealthRequest;
    readonly responseInput: ControllerGetVolumeHealthResponseInput;
  };
  readonly '/csi.v1.GroupController/GroupControllerGetCapabilities': {
    readonly request: GroupControllerGetCapabilitiesRequestInput;
    readonly response: GroupControllerGetCapabilitiesResponse;
    readonly decodedRequest: GroupControllerGetCapabilitiesRequest;
    readonly responseInput: GroupControllerGetCapabilitiesResponseInput;
  };
  readonly '/csi.v1.GroupController/CreateVolumeGroupSnapshot': {
    readonly request: CreateVolumeGroupSnapshotRequestInput;
    readonly response: CreateVolumeGroupSnapshotResponse;
    readonly decodedRequest: CreateVolumeGroupSnapshotRequest;
    readonly responseInput: CreateVolumeGroupSnapshotResponseInput;
  };
  readonly '/csi.v1.GroupController/DeleteVolumeGroupSnapshot': {
    readonly request: DeleteVolumeGroupSnapshotRequestInput;
    readonly response: DeleteVolumeGroupSnapshotResponse;
    readonly decodedRequest: DeleteVolumeGroupSnapshotRequest;
    readonly responseInput: DeleteVolumeGroupSnapshotResponseInput;
  };
  readonly '/csi.v1.GroupController/GetVolumeGroupSnapshot': {
    readonly request: GetVolumeGroupSnapshotRequestInput;
    readonly response: GetVolumeGroupSnapshotResponse;
    readonly decodedRequest: GetVolumeGroupSnapshotRequest;
    readonly responseInput: GetVolumeGroupSnapshotResponseInput;
  };
  readonly '/csi.v1.Node/NodeStageVolume': {
    readonly request: NodeStageVolumeRequestInput;
    readonly response: NodeStageVolumeResponse;
    readonly decodedRequest: NodeStageVolumeRequest;
    readonly responseInput: NodeStageVolumeResponseInput;
  };
  readonly '/csi.v1.Node/NodeUnstageVolume': {
    readonly request: NodeUnstageVolumeRequestInput;
    readonly response: NodeUnstageVolumeResponse;
    readonly decodedRequest: NodeUnstageVolumeRequest;
    readonly responseInput: NodeUnstageVolumeResponseInput;
  };
  readonly '/csi.v1.Node/NodePublishVolume': {
    readonly request: NodePublishVolumeRequestInput;
    readonly response: NodePublishVolumeResponse;
    readonly decodedRequest: NodePublishVolumeRequest;
    readonly responseInput: NodePublishVolumeResponseInput;
  };
  readonly '/csi.v1.Node/NodeUnpublishVolume': {
    readonly request: NodeUnpublishVolumeRequestInput;
    readonly response: NodeUnpublishVolumeResponse;
    readonly decodedRequest: NodeUnpublishVolumeRequest;
    readonly responseInput: NodeUnpublishVolumeResponseInput;
  };
  readonly '/csi.v1.Node/NodeGetVolumeStats': {
    readonly request: NodeGetVolumeStatsRequestInput;
    readonly response: NodeGetVolumeStatsResponse;
    readonly decodedRequest: NodeGetVolumeStatsRequest;
    readonly responseInput: NodeGetVolumeStatsResponseInput;
  };
  readonly '/csi.v1.Node/NodeExpandVolume': {
    readonly request: NodeExpandVolumeRequestInput;
    readonly response: NodeExpandVolumeResponse;
    readonly decodedRequest: NodeExpandVolumeRequest;
    readonly responseInput: NodeExpandVolumeResponseInput;
  };
  readonly '/csi.v1.Node/NodeGetCapabilities': {
    readonly request: NodeGetCapabilitiesRequestInput;
    readonly response: NodeGetCapabilitiesResponse;
    readonly decodedRequest: NodeGetCapabilitiesRequest;
    readonly responseInput: NodeGetCapabilitiesResponseInput;
  };
  readonly '/csi.v1.Node/NodeGetInfo': {
    readonly request: NodeGetInfoRequestInput;
    readonly response: NodeGetInfoResponse;
    readonly decodedRequest: NodeGetInfoRequest;
    readonly responseInput: NodeGetInfoResponseInput;
  };
  readonly '/csi.v1.Node/NodeGetVolumeHealth': {
    readonly request: NodeGetVolumeHealthRequestInput;
    readonly response: NodeGetVolumeHealthResponse;
    readonly decodedRequest: NodeGetVolumeHealthRequest;
    readonly responseInput: NodeGetVolumeHealthResponseInput;
  };
  readonly '/csi.v1.Node/NodeGetStorageHealth': {
    readonly request: NodeGetStorageHealthRequestInput;
    readonly response: NodeGetStorageHealthResponse;
    readonly decodedRequest: NodeGetStorageHealthRequest;
    readonly responseInput: NodeGetStorageHealthResponseInput;
  };
}

/** Full name of every server-streaming method: what a client sends and gets, and what a server gets and sends. */
export interface StreamingMethods {
  readonly '/csi.v1.SnapshotMetadata/GetMetadataAllocated': {
    readonly request: GetMetadataAllocatedRequestInput;
    readonly response: GetMetadataAllocatedResponse;
    readonly decodedRequest: GetMetadataAllocatedRequest;
    readonly responseInput: GetMetadataAllocatedResponseInput;
  };
  readonly '/csi.v1.SnapshotMetadata/GetMetadataDelta': {
    readonly request: GetMetadataDeltaRequestInput;
    readonly response: GetMetadataDeltaResponse;
    readonly decodedRequest: GetMetadataDeltaRequest;
    readonly responseInput: GetMetadataDeltaResponseInput;
  };
}
