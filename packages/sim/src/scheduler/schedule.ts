// SPDX-License-Identifier: Apache-2.0
/**
 * Which node a pod gets, and what its claims need first. Pure, except for the choice among equal nodes, which the caller makes.
 * First match wins:
 *
 * | pod's claims | condition | action |
 * |---|---|---|
 * | | a claim is missing, being deleted or lost | unschedulable |
 * | | one with an immediate class is not bound | unschedulable |
 * | all bound | a node is suitable | assign |
 * | some wait for this pod | all of these have the same selected node, which is suitable | none: waits for the provisioner |
 * | some wait for this pod | a node is suitable | select: annotate the claims, or reserve a free volume for them |
 * | | no node is suitable | unschedulable |
 */
import type { Node, PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { bindCompleted, selectedNode } from '../annotations.ts';
import { filterNodes } from './filters.ts';
import { findMatch } from '../volume-binding/match.ts';
import type { PodClaim, ScheduleState } from './state.ts';

export interface Reservation {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
}

export type ScheduleAction =
  | { readonly kind: 'none' }
  | { readonly kind: 'unschedulable'; readonly message: string }
  | { readonly kind: 'assign'; readonly nodeName: string }
  | {
      readonly kind: 'select';
      readonly nodeName: string;
      readonly provision: readonly PersistentVolumeClaim[];
      readonly reserve: readonly Reservation[];
    };

/** Chooses one of the suitable nodes; never called without any. */
export type ChooseNode = (nodes: readonly Node[]) => Node;

export function decideSchedule(state: ScheduleState, choose: ChooseNode): ScheduleAction {
  for (const each of state.claims) {
    const problem = problemOf(each);
    if (problem !== undefined) return unschedulable(state, problem);
  }
  const waiting = state.claims.filter((each) => !isBound(each));
  const selected = new Set(waiting.map(({ claim }) => claim?.metadata?.annotations?.[selectedNode] ?? ''));
  const feasible = filterNodes(state, waiting);
  if (feasible.length === 0) return unschedulable(state, "node(s) didn't match the pod's volumes, selector or taints");
  // A claim that already has a node keeps it while that is possible.
  const preferred = feasible.filter(({ metadata }) => selected.has(metadata?.name ?? ''));
  if (preferred.length > 0 && selected.size === 1) return { kind: 'none' };
  const node = choose(preferred.length > 0 ? preferred : feasible);
  const nodeName = node.metadata?.name ?? '';
  if (waiting.length === 0) return { kind: 'assign', nodeName };
  return { kind: 'select', nodeName, ...share(state, waiting, node) };
}

/** A claim that a free volume of the node satisfies is bound to it; the others are provisioned. */
function share(
  state: ScheduleState,
  waiting: readonly PodClaim[],
  node: Node,
): Pick<Extract<ScheduleAction, { kind: 'select' }>, 'provision' | 'reserve'> {
  const provision: PersistentVolumeClaim[] = [];
  const reserve: Reservation[] = [];
  for (const { claim } of waiting) {
    if (claim === undefined) continue;
    const left = state.volumes.filter((volume) => !reserve.some((taken) => taken.volume === volume));
    const volume = findMatch(claim, left, node);
    if (volume === undefined) provision.push(claim);
    else reserve.push({ claim, volume });
  }
  return { provision, reserve };
}

function isBound({ claim }: PodClaim): boolean {
  return claim?.metadata?.annotations?.[bindCompleted] !== undefined && (claim.spec?.volumeName ?? '') !== '';
}

function problemOf(each: PodClaim): string | undefined {
  const { name, claim, storageClass } = each;
  if (claim === undefined) return `persistentvolumeclaim "${name}" not found`;
  if (claim.status?.phase === 'Lost') return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume`;
  if (claim.metadata?.deletionTimestamp !== undefined) return `persistentvolumeclaim "${name}" is being deleted`;
  if (isBound(each))
    return each.volume === undefined
      ? `persistentvolumeclaim "${name}" bound to non-existent persistentvolume`
      : undefined;
  return storageClass?.volumeBindingMode === 'WaitForFirstConsumer'
    ? undefined
    : 'pod has unbound immediate PersistentVolumeClaims';
}

function unschedulable(state: ScheduleState, why: string): ScheduleAction {
  return { kind: 'unschedulable', message: `0/${state.nodes.length} nodes are available: ${why}.` };
}
