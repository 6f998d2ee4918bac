// SPDX-License-Identifier: Apache-2.0
/**
 * Which nodes had a volume attached, according to the driver's journal.
 *
 * For certain: from the answer that it is attached to a node until the next call that is to detach it from there. Two nodes at
 * once are a violation. Possibly: from the first call that is to attach it (unless it was refused) until the answer that it is
 * detached. A call for another node in the meantime is early: the driver has to refuse it, as CSI demands. Pure.
 */
import type { PublishCall, UnpublishCall } from '../../driver/calls.ts';

export interface Meeting {
  readonly volume: string;
  /** The node that has the volume, or may have it. */
  readonly holder: string;
  /** The node that gets the volume, or should get it. */
  readonly other: string;
  readonly atMs: number;
}

export interface Holdings {
  /** Two nodes had the volume for certain. */
  readonly breaches: readonly Meeting[];
  /** A call should attach the volume to a node while another node might have it. */
  readonly early: readonly Meeting[];
  /** Volumes that a node may still have. */
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
  /** The outcome of the call. */
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
        // Unless a detach was requested since the call began: then it is unknown which came last.
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

/** In order of time; in the same millisecond, detaches come first. */
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
