// SPDX-License-Identifier: Apache-2.0
/** The value of the label by which the instance of a node finds its objects again. Upstream's, so that either adopts the other's objects. */
import { fnv1a } from '@csi-sidecars/volume';
import { centralManagedBy } from './object.ts';

/** The longest value of a label. */
const maxLength = 63;
const hashLength = 8;

/** Too long a name shortens the part in front of it; if that is not enough, a hash stands for both. */
export function managedByOf(nodeName: string): string {
  const joined = `${centralManagedBy}-${nodeName}`;
  if (joined.length <= maxLength) return joined;
  const room = maxLength - nodeName.length - hashLength - 2;
  return room > 0
    ? `${centralManagedBy.slice(0, room)}-${hashOf(centralManagedBy)}-${nodeName}`
    : `${centralManagedBy}-${hashOf(joined)}`;
}

/** Whether the instance of a node may have this label: no other manager's looks like it. */
export function isOfNode(managedBy: string): boolean {
  return managedBy.startsWith(`${centralManagedBy}-`) || managedBy.includes(`-${hashOf(centralManagedBy)}-`);
}

/** Eight digits. */
function hashOf(text: string): string {
  return fnv1a(text).toString(16).padStart(hashLength, '0');
}
