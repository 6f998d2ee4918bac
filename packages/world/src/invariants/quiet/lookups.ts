// SPDX-License-Identifier: Apache-2.0
/** What several subjects ask of a settled cluster. */
import { events, type KubeObject, persistentVolumeClaims, type Pod, pods } from '@csi-sidecars/runtime';
import type { ObjectAccess } from '@csi-sidecars/runtime/testing';
import type { DriverActor } from '../../driver.ts';
import type { World } from '../../world.ts';

export const isDeleting = ({ metadata }: KubeObject): boolean => metadata?.deletionTimestamp !== undefined;

/** Something was said about this very object. */
export function hasEvent(objects: ObjectAccess, { metadata }: KubeObject): boolean {
  return objects.list(events).some(({ involvedObject }) => involvedObject?.uid === metadata?.uid);
}

/** A claim that waits to be restored from the snapshot keeps it. */
export function isSource(objects: ObjectAccess, { metadata }: KubeObject): boolean {
  return objects
    .list(persistentVolumeClaims)
    .some(
      ({ spec, status }) =>
        status?.phase !== 'Bound' &&
        spec?.dataSource?.kind === 'VolumeSnapshot' &&
        spec.dataSource.name === metadata?.name,
    );
}

/** It has the finalizer of csi-provisioner: a volume may exist that is not recorded. */
export function isUnsettled({ metadata }: KubeObject): boolean {
  return metadata?.finalizers?.some((each) => each.startsWith('provisioning-protection')) === true;
}

export function podsOf(objects: ObjectAccess, claim: string): readonly Pod[] {
  return objects
    .list(pods)
    .filter(({ spec }) => spec?.volumes?.some(({ persistentVolumeClaim: use }) => use?.claimName === claim) === true);
}

/** Whether a volume may be there without an object: it was retained, or the story fell into a window that the page documents. */
export function isAdmitted(
  { mayLeak }: World,
  { checks }: DriverActor,
  { id, name }: { readonly id: string; readonly name: string },
): boolean {
  const isDenied = [...checks.denied].some((denied) => name === denied || name.startsWith(`${denied}-`));
  if (checks.retained.has(id) || isDenied) return true;
  return mayLeak && checks.orphaned.has(name);
}
