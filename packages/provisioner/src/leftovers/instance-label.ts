// SPDX-License-Identifier: Apache-2.0
/** The label by which upstream's instances of nodes mark their CSIStorageCapacity objects. Ours publish none in node deployment. */
import { centralManagedBy } from '../capacity/object.ts';

const longestLabel = 63;
/** A hash of eight digits between two dashes. */
const hashLength = 10;

/** As upstream's `getNameWithMaxLength`. */
export function instanceLabelOf(nodeName: string): string {
  const name = `${centralManagedBy}-${nodeName}`;
  if (name.length <= longestLabel) return name;
  const baseLength = longestLabel - hashLength - nodeName.length;
  if (baseLength <= 0) return `${centralManagedBy}-${fnv1a(name)}`;
  return `${centralManagedBy.slice(0, baseLength)}-${fnv1a(centralManagedBy)}-${nodeName}`;
}

export function isInstanceLabel(label: string): boolean {
  return label.startsWith(`${centralManagedBy}-`) || label.includes(`-${fnv1a(centralManagedBy)}-`);
}

/** The 32-bit hash of Fowler, Noll and Vo, as Go's `fnv.New32a`. */
function fnv1a(text: string): string {
  let hash = 0x81_1c_9d_c5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01_00_01_93) >>> 0;
  return hash.toString(16).padStart(8, '0');
}
