// SPDX-License-Identifier: Apache-2.0
import { zoneKey } from './names.ts';
import type { Shape } from './story.ts';

/** Where a node is. In node deployment each node is a zone of its own. */
export function segmentsOf(number: number, { topology, deployment }: Shape): Readonly<Record<string, string>> {
  if (!topology) return {};
  if (deployment === 'nodes') return { [zoneKey]: `zone-${number}` };
  return { [zoneKey]: number % 2 === 0 ? 'zone-east' : 'zone-west' };
}
