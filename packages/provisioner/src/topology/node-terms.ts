// SPDX-License-Identifier: Apache-2.0
/**
 * Data that every attempt needs of every node: the topology keys that the driver registered there, and the node's term for such
 * keys. Both are computed once per object and kept with it, for as long as the cache keeps the object: cached objects
 * never change, and a changed node is another object. With thousands of nodes this computation takes most of an attempt's time.
 *
 * Equal lists and equal terms are usually the same object, so that a caller finds most duplicates by identity, but not all.
 */
import type { CSINode, Node } from '@csi-sidecars/runtime';
import { driverOn } from '@csi-sidecars/volume';
import { compareText, type Term, toTerm } from './terms.ts';

interface Keys {
  readonly driverName: string;
  readonly keys: readonly string[];
}

interface NodeTerm {
  readonly keys: readonly string[];
  readonly term: Term | undefined;
}

const keysOf = new WeakMap<CSINode, Keys>();
const termsOf = new WeakMap<Node, NodeTerm>();
/** Maximum size of each table. Zones and keys are few; if every node has its own term, nothing is shared or kept. */
const sharedSize = 256;
const sharedKeys = new Map<string, readonly string[]>();
const sharedTerms = new Map<string, Term>();

/** Sorted, without changing the cached object. Empty if the driver has no keys on this node. */
export function registeredKeys(csiNode: CSINode, driverName: string): readonly string[] {
  const known = keysOf.get(csiNode);
  if (known !== undefined && known.driverName === driverName) return known.keys;
  const driver = driverOn(csiNode, driverName);
  const keys = shared(sharedKeys, [...(driver?.topologyKeys ?? [])].sort(compareText));
  keysOf.set(csiNode, { driverName, keys });
  return keys;
}

const keysOfAttempts = new WeakMap<object, Keys & { readonly node: string | undefined }>();

/**
 * As `registeredKeys` of the selected node of a claim. While its plugin restarts, kubelet takes the driver out of the CSINode: then they are
 * those that an earlier attempt for the claim saw there, as upstream keeps them.
 */
export function keysOfAttempt(claim: object, csiNode: CSINode, driverName: string): readonly string[] {
  const keys = registeredKeys(csiNode, driverName);
  const node = csiNode.metadata?.name;
  const known = keysOfAttempts.get(claim);
  if (keys.length > 0) keysOfAttempts.set(claim, { driverName, node, keys });
  else if (known?.driverName === driverName && known.node === node) return known.keys;
  return keys;
}

/** Undefined if the node lacks one of the labels. */
export function termOf(keys: readonly string[], node: Node): Term | undefined {
  const known = termsOf.get(node);
  if (known !== undefined && known.keys === keys) return known.term;
  const labels = node.metadata?.labels ?? {};
  const isComplete = keys.every((key) => Object.hasOwn(labels, key));
  const term = isComplete ? shared(sharedTerms, toTerm(keys.map((key) => [key, labels[key] ?? '']))) : undefined;
  termsOf.set(node, { keys, term });
  return term;
}

function shared<T extends object>(table: Map<string, T>, value: T): T {
  const content = JSON.stringify(value);
  const known = table.get(content);
  if (known !== undefined) return known;
  if (table.size >= sharedSize) table.clear();
  table.set(content, value);
  return value;
}
