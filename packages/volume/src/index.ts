// SPDX-License-Identifier: Apache-2.0
export { toAccessMode } from './access-modes.ts';
export type { AccessModeSupport, CsiAccessMode } from './access-modes.ts';
export { driverOn, driversOn } from './csi-node.ts';
export type { NodeDriver } from './csi-node.ts';
export { isDnsLabel, isDnsSubdomain } from './dns-names.ts';
export {
  inTreePluginOf,
  inTreeSourceOf,
  isInTree,
  isSameVolume,
  mayRecord,
  repairVolumeHandle,
  replacesPlugin,
  toCsiNodeAffinity,
  toCsiVolume,
  toDriverClass,
  toInlineCsiVolume,
  toInTreeVolume,
  translateInTree,
} from './in-tree/translate.ts';
export type { CsiVolume } from './in-tree/translate.ts';
export type { CsiSource } from './in-tree/provider.ts';
export { isReachableFrom, toNodeAffinity } from './node-affinity.ts';
export type { Topology } from './node-affinity.ts';
export { selectsNode, type VolumeNodeAffinity } from './node-selector.ts';
export { compareQuantities, formatBytes, formatQuantity, parseQuantity, toBytes } from './quantity.ts';
export type { Quantity, QuantityFormat } from './quantity.ts';
export { ok, refuse } from './result.ts';
export type { Result } from './result.ts';
export { secretTemplateOf } from './secret-parameters.ts';
export type { SecretParameters } from './secret-parameters.ts';
export { expandTemplate, resolveSecret } from './secret-templates.ts';
export type { SecretReference, SecretTemplate, SecretTokens } from './secret-templates.ts';
export { isBoundTo, mayBindTo } from './snapshots/binding.ts';
export { classSecretOf, driverParametersOf } from './snapshots/class-parameters.ts';
export {
  annotationYes,
  contentNameOf,
  groupContentNameOf,
  managedByLabel,
  memberNamesOf,
  snapshotAnnotations,
  snapshotFinalizers,
  snapshotSecrets,
} from './snapshots/names.ts';
export type { MemberNames, SecretKeys } from './snapshots/names.ts';
export type * from './snapshots/objects.ts';
export {
  intersectPlaces,
  isOutside,
  namesTerms,
  readPlaces,
  toSelectorTerms,
  toTerms,
  toTopologies,
} from './snapshots/places.ts';
export type { Place } from './snapshots/places.ts';
export * from './snapshots/resources.ts';
export { millisToNanoseconds, nanosecondsToTime, toNanoseconds } from './snapshots/times.ts';
export type { ProtobufTimestamp } from './snapshots/times.ts';
export { toVolumeCapability } from './access-modes.ts';
export type { VolumeUse } from './access-modes.ts';
export { toVolumeName } from './volume-names.ts';
export type { VolumeNameOptions } from './volume-names.ts';
// The comparison of a driver's list with the cluster.
export { compareAttachments, pairOf } from './audit/attachments.ts';
export type { AttachmentsState } from './audit/attachments.ts';
export { snapshotCollector, volumeCollector } from './audit/collect.ts';
export type { Collector } from './audit/collect.ts';
export { auditGraceMs, createDaily } from './audit/daily.ts';
export type { DailyPass } from './audit/daily.ts';
export type * from './audit/facts.ts';
export { keysOf } from './audit/finding.ts';
export type { AuditClass, AuditRow, ClaimName, Finding, Level } from './audit/finding.ts';
export {
  isBeingCreated,
  isResizing,
  memberHandlesOf,
  recordedAttachmentOf,
  recordedSnapshotOf,
  recordedVolumeOf,
} from './audit/records.ts';
export { compareSnapshots, snapshotsCompared } from './audit/snapshots.ts';
export type { Slices } from './audit/slices.ts';
export type { SnapshotsComparison, SnapshotsState } from './audit/snapshots.ts';
export { compareVolumes, volumesCompared } from './audit/volumes.ts';
export type { VolumesComparison, VolumesState } from './audit/volumes.ts';
export { fnv1, fnv1a } from './fnv.ts';
