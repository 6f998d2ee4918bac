// SPDX-License-Identifier: Apache-2.0
/** Texts that users see on claims. Upstream's texts keep upstream's spelling. */
import type { PersistentVolumeClaim, RecordedEvent } from '@csi-sidecars/runtime';
import { fnv1a } from '@csi-sidecars/volume';
import { provisioningFinalizer } from '../names.ts';
import type { SourceRef } from '../source/source.ts';

const eventReasons = {
  provisioning: 'Provisioning',
  failed: 'ProvisioningFailed',
  succeeded: 'ProvisioningSucceeded',
  givenUp: 'ProvisioningGivenUp',
} as const;

export const provisioning = (namespace: string, name: string): RecordedEvent => ({
  type: 'Normal',
  reason: eventReasons.provisioning,
  message: `External provisioner is provisioning volume for claim "${namespace}/${name}"`,
  isStart: true,
}); // C13

export const populator: RecordedEvent = {
  type: 'Normal',
  reason: eventReasons.provisioning,
  message: 'Assuming an external populator will provision the volume',
}; // C15

export const failed = (message: string): RecordedEvent => ({ type: 'Warning', reason: eventReasons.failed, message });

export const infeasible = (message: string): RecordedEvent =>
  failed(`Volume provisioning failed with infeasible error. Retries will be delayed. ${message}`); // C24

export const succeeded = (volumeName: string): RecordedEvent => ({
  type: 'Normal',
  reason: eventReasons.succeeded,
  message: `Successfully provisioned volume ${volumeName}`,
}); // C32

export const classMissing = (className: string): string => `storageClass "${className}" not found`; // C8

export const classForeign = (className: string, provisioner: string): string =>
  `storageClass "${className}" belongs to provisioner ${provisioner}`; // C12

export const attributesForeign = (name: string, drivers: { readonly of: string; readonly ours: string }): string =>
  `VAC ${name} referenced in PVC is for driver ${drivers.of} which does not match driver name ${drivers.ours}`; // C20

export const unsupportedPopulator = 'creating a volume from a populator is not supported by this provisioner'; // C15

interface SnapshotAndClass {
  readonly snapshot: string;
  readonly className: string;
}

/** Upstream's text, of a change that is not released. */
export const disjointTopologies = ({ snapshot, className }: SnapshotAndClass): string =>
  `no compatible topology: snapshot ${snapshot} NodeAffinity does not intersect StorageClass ${className} AllowedTopologies, so the volume cannot be provisioned where the snapshot is accessible`; // C18

export const incomparableTopologies = ({ snapshot, className }: SnapshotAndClass, why: string): string =>
  `no compatible topology: snapshot ${snapshot} NodeAffinity and StorageClass ${className} AllowedTopologies cannot be compared: ${why}`; // C18

export const unregisteredKeys = (
  { snapshot, driverName }: { readonly snapshot: string; readonly driverName: string },
  keys: readonly string[],
): string =>
  `no compatible topology: snapshot ${snapshot} is accessible by topology keys that CSI driver ${driverName} registered together on no node: ${keys.join(', ')}`; // C18

export const nodeOutside = (node: string, snapshot: string): string =>
  `selected node ${node} is outside of the topology where snapshot ${snapshot} is accessible`; // C65

export const unusableSource = ({ kind, name }: SourceRef, why: string): string =>
  `error getting handle for DataSource Type ${kind === 'snapshot' ? 'VolumeSnapshot' : 'PersistentVolumeClaim'} by Name ${name}: ${why}`; // C44

export const untranslatableClass = (why: string): string => `failed to translate storage class: ${why}`; // C14

export interface FinalizerFacts {
  readonly driverName: string;
  /** The volume that may exist. */
  readonly volumeName: string;
  /** With `always`, a deleted claim is kept without a bound. */
  readonly isEndless: boolean;
}

/** The reason why a deleted claim stays, and the remedy: appended to the messages of its failures. */
export const whileSettling = (message: string, { driverName, volumeName, isEndless }: FinalizerFacts): string =>
  `${message}; finalizer ${provisioningFinalizer(driverName)} keeps the claim ${isEndless ? '' : 'for some minutes '}until it is known whether volume ${volumeName} was created; to give that volume up, remove this finalizer`;

/** `since`: what made an answer necessary. */
export const givenUp = (
  { driverName, volumeName }: FinalizerFacts,
  since: 'the claim was deleted' | 'a volume of another node was recorded',
): string =>
  `volume ${volumeName} may exist: CSI driver ${driverName} gave no conclusive answer after ${since}, so the claim was released; delete the volume in the storage system if it is there`; // C37, C62

/** `node` is empty if no instance is known. */
export const instanceGone = ({ driverName, volumeName }: FinalizerFacts, node: string): string => {
  const why =
    node === '' ? 'no instance works on the claim' : `node ${node}, whose instance worked on the claim, is gone`;
  return `volume ${volumeName} of CSI driver ${driverName} may exist: ${why}, so the claim was released; delete the volume in the storage system if it is there`;
}; // C50

export const instanceSilent = ({ driverName, volumeName }: FinalizerFacts, node: string): string =>
  `volume ${volumeName} of CSI driver ${driverName} may exist: the instance of node ${node} did not settle the claim within an hour, so the claim was released; delete the volume in the storage system if it is there`; // C50

/** `node` is empty if no instance is known. */
export const keptForInstance = ({ driverName, volumeName }: FinalizerFacts, node: string): string => {
  const why =
    node === '' ? 'no instance works on the claim' : `node ${node}, whose instance worked on the claim, is gone`;
  return `${why}, and volume ${volumeName} of CSI driver ${driverName} may exist; --provisioning-protection=always keeps the claim: to give that volume up, use csi-sidecars leftovers, or remove finalizer ${provisioningFinalizer(driverName)}`;
}; // C58

/** All instances see the same claim, so their events are one object. */
export const sharedFailure = ({ metadata }: PersistentVolumeClaim, message: string): RecordedEvent => ({
  ...failed(message),
  name: `${metadata?.uid ?? ''}.${fnv1a(message).toString(16)}`,
}); // C49, C58

export const waitsForInstance = ({
  driverName,
  volumeName,
  instance,
}: Pick<FinalizerFacts, 'driverName' | 'volumeName'> & { readonly instance: string }): string =>
  `waiting for the instance of node ${instance} to find out whether it created volume ${volumeName}; to give that volume up, remove finalizer ${provisioningFinalizer(driverName)}`; // C49

export const notSelected = ({ metadata }: PersistentVolumeClaim, node: string, why: string): string =>
  `node check failed: PVC ${metadata?.namespace ?? ''}/${metadata?.name ?? ''}: selecting node ${JSON.stringify(node)} for PVC failed: ${why}`; // C56

export const givenUpEvent = (message: string): RecordedEvent => ({
  type: 'Warning',
  reason: eventReasons.givenUp,
  message,
}); // C37

export const unprotectable = (driverName: string): string =>
  `cannot put finalizer ${provisioningFinalizer(driverName)} on the claim, which --provisioning-protection=always asks for before a volume is created`; // C36

export const nameTaken = (volumeName: string, owner: string): string =>
  `PersistentVolume ${volumeName} already exists and belongs to claim ${owner}`; // C11, C34

export const nameConflict = (volumeName: string, volumeHandle: string): string =>
  `PersistentVolume ${volumeName} already exists with another volume; volume ${volumeHandle} is kept`; // C35

export const saveRefused = (volumeName: string, message: string): string =>
  `error saving volume ${volumeName}: ${message}`; // C35

export const secondVolume = (record: string, volumeId: string): string =>
  `PersistentVolume ${record} records a volume of another node for the claim, so volume ${volumeId} of this node is not used`; // C60

export const maybeSecondVolume = (record: string, volumeId: string): string =>
  `volume ${volumeId} may exist twice: PersistentVolume ${record} records a volume of this id on another node, and this node has one as well; delete the one of this node in the storage system if it is another one`; // C61

export const recordUnread = (record: string, why: string): string =>
  `cannot read PersistentVolume ${record} before CreateVolume is repeated: ${why}`; // C59

export const recorded = (volumeId: string, volumeName: string): string =>
  `volume ${volumeId} is not deleted, because PersistentVolume ${volumeName} has it`; // C30

/** Upstream begins the second sentence with a small letter if the content source is missing. It has no such text for O11. */
export const orphaned = (
  { row, message }: { readonly row: string; readonly message: string },
  { volumeName, cause }: { readonly volumeName: string; readonly cause: string },
): string =>
  `${message}. ${row === 'O8' ? 'Cleanup' : 'cleanup'} of volume ${volumeName} failed, volume is orphaned: ${cause}`; // C30
