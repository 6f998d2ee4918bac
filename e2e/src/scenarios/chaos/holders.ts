// SPDX-License-Identifier: Apache-2.0
/**
 * Who may have had a volume attached, by the driver's journal: from the moment that somebody asks to attach it to a node (unless
 * the driver refuses) until the driver has said that it is detached from there. Stricter than what the driver remembers: a call
 * that never got its answer counts as attached. Pure.
 */
import type { PublishCall, UnpublishCall } from '../../driver/calls.ts';

export interface Breach {
  readonly volume: string;
  /** Had it, or may have had it. */
  readonly holder: string;
  /** Was to get it meanwhile. */
  readonly other: string;
  readonly atMs: number;
}

export interface Holdings {
  readonly breaches: readonly Breach[];
  /** Volumes that somebody may still have attached. */
  readonly left: readonly string[];
}

export interface AttachCalls {
  readonly published: readonly PublishCall[];
  readonly unpublished: readonly UnpublishCall[];
}

interface Moment {
  readonly atMs: number;
  readonly volume: string;
  readonly node: string;
  /** Of a detachment: attaching that began later is not undone by it. */
  readonly beganAtMs: number;
  readonly kind: 'lost' | 'asked';
  readonly isRefused: boolean;
}

export function holdingsOf({ published, unpublished }: AttachCalls): Holdings {
  const holders = new Map<string, Map<string, number>>();
  const breaches: Breach[] = [];
  for (const moment of momentsOf({ published, unpublished })) {
    const { volume, node, atMs, beganAtMs } = moment;
    const nodes = holders.get(volume) ?? new Map<string, number>();
    holders.set(volume, nodes);
    if (moment.kind === 'lost') {
      if ((nodes.get(node) ?? Infinity) <= beganAtMs) nodes.delete(node);
      continue;
    }
    for (const holder of nodes.keys()) if (holder !== node) breaches.push({ volume, holder, other: node, atMs });
    if (!moment.isRefused) nodes.set(node, atMs);
  }
  return { breaches, left: [...holders].filter(([, nodes]) => nodes.size > 0).map(([volume]) => volume) };
}

/** In the order in which they happened; what ends in a millisecond ends before what begins in it. */
function momentsOf({ published, unpublished }: AttachCalls): readonly Moment[] {
  const asked = published.map(({ request, beganAtMs, outcome }): Moment => ({
    atMs: beganAtMs,
    volume: request.volume_id,
    node: request.node_id,
    beganAtMs,
    kind: 'asked',
    isRefused: outcome?.kind === 'refused',
  }));
  const lost = unpublished.flatMap(({ request, beganAtMs, endedAtMs, outcome }): readonly Moment[] =>
    outcome?.kind === 'answered'
      ? [
          {
            atMs: endedAtMs ?? beganAtMs,
            volume: request.volume_id,
            node: request.node_id,
            beganAtMs,
            kind: 'lost',
            isRefused: false,
          },
        ]
      : [],
  );
  return [...lost, ...asked].toSorted((a, b) => a.atMs - b.atMs);
}
