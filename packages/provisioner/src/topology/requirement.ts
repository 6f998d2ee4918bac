// SPDX-License-Identifier: Apache-2.0
/**
 * CreateVolume's accessibility_requirements: a function of the class, the selected node and the current CSINodes and
 * Nodes.
 *
 * | selected node | strict | allowedTopologies | immediate | requisite | preferred |
 * |---|---|---|---|---|---|
 * | yes | yes | none | any | the node's term | the same |
 * | yes | yes | set | any | the node's term, if an allowed term contains it; else an error | the same |
 * | yes | no | none | any | terms of every node that covers the node's keys | rotated to the node's term |
 * | yes | no | set | any | the allowed terms | rotated to the first that contains the node |
 * | no | any | set | any | the allowed terms | rotated by the claim's name |
 * | no | any | none | yes | terms of every key set in the cluster | rotated by the claim's name |
 * | no | any | none | no | no requirement | |
 *
 * Not here: keeping a requirement the same while a CreateVolume is outstanding. The claim loop keeps the whole request
 * (`claim/memory.ts`). The only memory is that of `keysOfAttempt`.
 */
import type { CSINode, Node, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { fnv1 } from '@csi-sidecars/volume';
import { keysOfAttempt, registeredKeys, termOf } from './node-terms.ts';
import {
  type AllowedTopologies,
  compareText,
  flatten,
  formatTerm,
  formatTerms,
  isSubset,
  rotate,
  sortUnique,
  type Term,
} from './terms.ts';

export interface TopologyQuestion {
  readonly driverName: string;
  /** Together with the selected node. What an attempt learned of that node is kept with it, and is lost when the claim changes. */
  readonly claim: Pick<PersistentVolumeClaim, 'metadata'>;
  readonly allowedTopologies: AllowedTopologies;
  /** Empty means immediate binding, whatever the class's binding mode is. */
  readonly selectedNode: string;
  readonly strict: boolean;
  readonly immediate: boolean;
}

export interface ClusterTopology {
  csiNode(name: string): CSINode | undefined;
  csiNodes(): readonly CSINode[];
  node(name: string): Node | undefined;
}

export interface TopologyRequirement {
  readonly requisite: readonly TopologySegments[];
  readonly preferred: readonly TopologySegments[];
}
export interface TopologySegments {
  readonly segments: Readonly<Record<string, string>>;
}

export type TopologyAnswer =
  | { readonly kind: 'requirement'; readonly requirement: TopologyRequirement }
  | { readonly kind: 'none' }
  /** The selected node no longer exists: another one should be selected. */
  | { readonly kind: 'nodeGone'; readonly message: string }
  | { readonly kind: 'error'; readonly message: string };

export function toTopologyRequirement(question: TopologyQuestion, cluster: ClusterTopology): TopologyAnswer {
  if (question.selectedNode === '') return withoutNode(question, cluster);
  const selected = selectedTerm(question, cluster);
  return selected.kind === 'term' ? withNode(question, { cluster, ...selected }) : selected;
}

function withoutNode(question: TopologyQuestion, cluster: ClusterTopology): TopologyAnswer {
  const { allowedTopologies } = question;
  if (allowedTopologies.length > 0) return spreadOver(flatten(allowedTopologies), question);
  if (!question.immediate) return { kind: 'none' };
  const registered = registrations(question.driverName, cluster);
  const keySets = distinctKeySets(registered);
  if (keySets.length === 0) return { kind: 'error', message: 'no available topology found' };
  const terms = keySets.flatMap((keys) => coveredTerms(keys, registered, cluster));
  if (terms.length === 0) {
    const list = keySets.map((keys) => `[${keys.join(' ')}]`).join(' ');
    return { kind: 'error', message: `topologyKeys [${list}] were not found on any nodes` };
  }
  return spreadOver(terms, question);
}

function spreadOver(terms: readonly Term[], question: TopologyQuestion): TopologyAnswer {
  const requisite = sortUnique(terms);
  if (requisite.length === 0) return { kind: 'none' };
  return toAnswer(requisite, rotate(requisite, spread(question.claim.metadata?.name ?? '', requisite.length)));
}

interface Selected {
  readonly term: Term;
  /** Sorted. */
  readonly keys: readonly string[];
}

function withNode(question: TopologyQuestion, known: Selected & { readonly cluster: ClusterTopology }): TopologyAnswer {
  const { selectedNode } = question;
  const { term, keys, cluster } = known;
  const allowed = flatten(question.allowedTopologies);
  const isRestricted = question.allowedTopologies.length > 0;
  if (question.strict) {
    if (isRestricted && !allowed.some((candidate) => isSubset(candidate, term))) {
      const message = `selected node '${JSON.stringify(selectedNode)}' topology '${formatTerm(term)}' is not in allowed topologies: ${formatTerms(allowed)}`;
      return { kind: 'error', message };
    }
    return toAnswer([term], [term]);
  }
  const terms = isRestricted ? allowed : coveredTerms(keys, registrations(question.driverName, cluster), cluster);
  const requisite = sortUnique(terms);
  if (requisite.length === 0 && isRestricted) return { kind: 'none' };
  // Only if the driver is not registered on the selected node either.
  if (requisite.length === 0) {
    return { kind: 'error', message: `topologyKeys [${keys.join(' ')}] were not found on any nodes` };
  }
  const first = requisite.findIndex((candidate) => isSubset(candidate, term));
  if (first < 0) {
    const message = `topology ${formatTerm(term)} from selected node ${JSON.stringify(selectedNode)} is not in requisite: ${formatTerms(requisite)}`;
    return { kind: 'error', message };
  }
  return toAnswer(requisite, rotate(requisite, first));
}

function selectedTerm(
  question: TopologyQuestion,
  cluster: ClusterTopology,
): ({ readonly kind: 'term' } & Selected) | Extract<TopologyAnswer, { kind: 'nodeGone' | 'error' }> {
  const name = question.selectedNode;
  const csiNode = cluster.csiNode(name);
  if (csiNode === undefined) {
    const cause = `csinode.storage.k8s.io ${JSON.stringify(name)} not found`;
    return { kind: 'nodeGone', message: `failed to get selected CSINode ${name}: ${cause}` };
  }
  const keys = keysOfAttempt(question.claim, csiNode, question.driverName);
  if (keys.length === 0) return { kind: 'error', message: `no topology key found for node ${name}` };
  const node = cluster.node(name);
  const labels = node?.metadata?.labels ?? {};
  const term = node && termOf(keys, node);
  if (term !== undefined) return { kind: 'term', term, keys };
  const known = Object.entries(labels)
    .sort(([left], [right]) => compareText(left, right))
    .map(([key, value]) => `${key}:${value}`);
  const message = `topology labels from selected node map[${known.join(' ')}] does not match topology keys from CSINode [${keys.join(' ')}]`;
  return { kind: node === undefined ? 'nodeGone' : 'error', message };
}

interface Registration {
  readonly nodeName: string;
  readonly keys: readonly string[];
}

/** Nodes on which the driver registered at least one topology key. */
function registrations(driverName: string, cluster: ClusterTopology): readonly Registration[] {
  return cluster
    .csiNodes()
    .map((csiNode) => ({ nodeName: csiNode.metadata?.name ?? '', keys: registeredKeys(csiNode, driverName) }))
    .filter(({ keys }) => keys.length > 0);
}

function distinctKeySets(registered: readonly Registration[]): readonly (readonly string[])[] {
  // Usually all nodes share one list, so most comparisons need not compare the keys.
  const lists = new Set(registered.map(({ keys }) => keys));
  const byContent = new Map([...lists].map((keys) => [JSON.stringify(keys), keys]));
  return [...byContent.values()].sort(compareKeySets);
}

/** Element by element; a set that another one begins with comes first. */
function compareKeySets(left: readonly string[], right: readonly string[]): number {
  for (const [index, key] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const order = compareText(key, other);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** One term per node that registered at least these keys and carries all of them as labels. */
function coveredTerms(
  keys: readonly string[],
  registered: readonly Registration[],
  cluster: ClusterTopology,
): readonly Term[] {
  const terms = new Set<Term>();
  for (const registration of registered) {
    if (registration.keys !== keys && !keys.every((key) => registration.keys.includes(key))) continue;
    const node = cluster.node(registration.nodeName);
    const term = node && termOf(keys, node);
    if (term !== undefined) terms.add(term);
  }
  return [...terms];
}

function toAnswer(requisite: readonly Term[], preferred: readonly Term[]): TopologyAnswer {
  return {
    kind: 'requirement',
    requirement: { requisite: requisite.map(toSegments), preferred: preferred.map(toSegments) },
  };
}

function toSegments(term: Term): TopologySegments {
  return { segments: Object.fromEntries(term) };
}

const statefulName = /^(.*)-([0-9]+)$/s;
const maxUint32 = 0xffffffff;

/**
 * Where a claim with immediate binding starts in the list of topologies: an index below `count`, the same for the same name in every process.
 * Claims of one StatefulSet member get the same entry, and consecutive ordinals go round-robin, because the hash excludes the ordinal and the
 * claim template.
 */
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
