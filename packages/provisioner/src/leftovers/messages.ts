// SPDX-License-Identifier: Apache-2.0
/** The reasons in the table of leftovers. */
import type { SettlingNode } from './state.ts';

export const recorded = (volume: string): string => `PersistentVolume ${volume} records the volume`;
export const notBound = (volume: string): string =>
  `PersistentVolume ${volume} records the volume, and the claim is not bound to it yet: without the finalizer another node would make a second volume`;
export const nodeGone = (volume: string, { name }: SettlingNode): string =>
  `node ${name}, whose instance settles the claim, is gone; volume ${volume} may exist and no PersistentVolume records it`;
export const deletedUnsettled = (volume: string): string =>
  `the claim is being deleted; volume ${volume} may exist and no PersistentVolume records it`;
export const liveUnsettled = (volume: string): string =>
  `volume ${volume} may exist and no PersistentVolume records it; the next provisioner finds it by its name unless the claim is deleted first`;
export const annotationAlone = 'the annotation means nothing without the finalizer';
export const sourceNeeded = (claim: string): string => `claim ${claim} may still be made from it`;
export const sourceOfUnknown = 'its driver is not known: remove the finalizer by hand once no claim is made from it';
export const sourceFree = 'no claim is being made from it';
export const kept = (policy: string): string => `policy ${policy} keeps the volume without the finalizer`;
export const keptUnreachable = (policy: string): string => `${kept(policy)}; no node can reach it`;
export const lastRecord = (handle: string): string =>
  `the object is being deleted and is the only record of volume ${handle}, which policy Retain keeps`;
export const waitsForDeletion = (handle: string): string =>
  `volume ${handle} is to be deleted: run a provisioner, or set the policy to Retain`;
export const waitsUnreachable = (handle: string): string =>
  `volume ${handle} is to be deleted, and no node can reach it: delete it in the storage system, then set the policy to Retain`;
export const willBeDeleted = 'a provisioner deletes the volume when its claim is gone';
export const instanceGone = 'the node of the instance that managed it is gone';
export const managedByOthers = 'another program manages it';
export const ownerRemovesIt = 'it goes with its owner';
export const stillInstalled =
  'it has no owner, and the driver is still installed: a provisioner that runs keeps it up to date';
export const notInstalled = 'it has no owner, and no node has the driver';
