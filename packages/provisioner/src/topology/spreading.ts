// SPDX-License-Identifier: Apache-2.0
/**
 * Where a claim with immediate binding starts in the list of topologies. Claims of one StatefulSet member get the
 * same entry, and consecutive ordinals go round-robin, because the hash excludes the ordinal and the claim template.
 */
import { fnv1 } from '../fnv.ts';

const statefulName = /^(.*)-([0-9]+)$/s;
const maxUint32 = 0xffffffff;

/** An index below `count`, the same for the same name in every process. */
export function spread(claimName: string, count: number): number {
  const { text, ordinal } = splitName(claimName);
  return ((fnv1(text) + ordinal) >>> 0) % count;
}

function splitName(claimName: string): { readonly text: string; readonly ordinal: number } {
  const [, before, digits] = statefulName.exec(claimName) ?? [];
  const ordinal = Number(digits);
  if (before === undefined || !(ordinal <= maxUint32)) return { text: claimName, ordinal: 0 };
  return { text: before.slice(before.lastIndexOf('-') + 1), ordinal };
}
