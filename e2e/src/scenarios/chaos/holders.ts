// SPDX-License-Identifier: Apache-2.0
/**
 * Who had a volume attached, by the driver's journal.
 *
 * For certain: from the answer that it is attached to a node until the next call that is to detach it from there. Two nodes at
 * once are a breach. Perhaps: from the first call that is to attach it (unless it was refused) until the answer that it is
 * detached. Who asks for another node meanwhile asks early, and leaves it to the driver to refuse, as CSI demands of it. Pure.
 */
import type { PublishCall, UnpublishCall } from '../../driver/calls.ts';

export interface Meeting {
  readonly volume: string;
  /** Has it, or may have it. */
  readonly holder: string;
  /** Gets it, or is to get it. */
  readonly other: string;
  readonly atMs: number;
}

export interface Holdings {
  /** Two nodes had the volume for certain. */
  readonly breaches: readonly Meeting[];
  /** A node was to get the volume that another might have. */
  readonly early: readonly Meeting[];
  /** Volumes that somebody may still have. */
  readonly left: readonly string[];
}

export interface AttachCalls {
  readonly published: readonly PublishCall[];
  readonly unpublished: readonly UnpublishCall[];
}

type What = 'detached' | 'detach' | 'attach' | 'attached';

interface Moment {
  readonly atMs: number;
  readonly what: What;
  readonly volume: string;
  readonly node: string;
  /** Of the call. */
  readonly beganAtMs: number;
}

/** Node -> when the call began that made it a holder. */
type Holders = Map<string, number>;

export function holdingsOf(calls: AttachCalls): Holdings {
  const perhaps = new Map<string, Holders>();
  const certainly = new Map<string, Holders>();
  const [breaches, early]: [Meeting[], Meeting[]] = [[], []];
  for (const moment of momentsOf(calls)) {
    const { volume, node, beganAtMs } = moment;
    const mayHave = holdersOf(perhaps, volume);
    const has = holdersOf(certainly, volume);
    switch (moment.what) {
      case 'attach':
        early.push(...othersThan(moment, mayHave));
        mayHave.set(node, beganAtMs);
        break;
      case 'attached':
        // Not if it was to be detached since the call began: then nobody knows which came last.
        if (mayHave.get(node) !== beganAtMs) break;
        breaches.push(...othersThan(moment, has));
        has.set(node, beganAtMs);
        break;
      case 'detach':
        has.delete(node);
        break;
      case 'detached':
        if ((mayHave.get(node) ?? Infinity) <= beganAtMs) mayHave.delete(node);
    }
  }
  return { breaches, early, left: [...perhaps].filter(([, nodes]) => nodes.size > 0).map(([volume]) => volume) };
}

function holdersOf(all: Map<string, Holders>, volume: string): Holders {
  const holders = all.get(volume) ?? new Map<string, number>();
  all.set(volume, holders);
  return holders;
}

function othersThan({ volume, node, atMs }: Moment, holders: Holders): readonly Meeting[] {
  const others = [...holders.keys()].filter((holder) => holder !== node);
  return others.map((holder) => ({ volume, holder, other: node, atMs }));
}

const order: readonly What[] = ['detached', 'detach', 'attach', 'attached'];

/** As they happened; in the same millisecond what takes away comes first. */
function momentsOf({ published, unpublished }: AttachCalls): readonly Moment[] {
  const moments = [
    ...published
      .filter(({ outcome }) => outcome?.kind !== 'refused')
      .flatMap((call) => momentsOfCall(call, ['attach', 'attached'])),
    ...unpublished.flatMap((call) => momentsOfCall(call, ['detach', 'detached'])),
  ];
  return moments.toSorted((a, b) => a.atMs - b.atMs || order.indexOf(a.what) - order.indexOf(b.what));
}

function momentsOfCall(
  { request, beganAtMs, endedAtMs, outcome }: PublishCall | UnpublishCall,
  [begin, end]: readonly [What, What],
): readonly Moment[] {
  const base = { volume: request.volume_id, node: request.node_id, beganAtMs };
  const began = { ...base, what: begin, atMs: beganAtMs };
  return outcome?.kind === 'answered' ? [began, { ...base, what: end, atMs: endedAtMs ?? beganAtMs }] : [began];
}
