// SPDX-License-Identifier: Apache-2.0
/**
 * The drivers registered on a node, and their representation in the API: entries of the CSINode, the node id annotation and the
 * topology labels of the Node. Topology labels stay when a driver is unregistered, as with kubelet.
 *
 * One change at a time, like kubelet's plugin manager: a driver is registered again only after it has been unregistered, however slow that is.
 */
import { csiNodes, isAlreadyExists, nodes, type ApiClient } from '@csi-sidecars/runtime';
import { csiNodeId } from '../annotations.ts';
import { readNodeDriver, type NodeDriver } from './driver.ts';

export interface Registrations {
  readonly get: (name: string) => NodeDriver | undefined;
  /** Replaces a registration of the same name. */
  readonly add: (driver: NodeDriver, signal: AbortSignal) => Promise<void>;
  readonly remove: (name: string, signal: AbortSignal) => Promise<void>;
  /** Calls a driver again for its volume limit. */
  readonly renew: (name: string, signal: AbortSignal) => Promise<void>;
}

export interface RegistrationDeps {
  readonly client: ApiClient;
  readonly nodeName: string;
  /** Called when a driver is registered or unregistered. */
  readonly changed: () => void;
}

export function createRegistrations({ client, nodeName, changed }: RegistrationDeps): Registrations {
  const drivers = new Map<string, NodeDriver>();
  let last: Promise<unknown> = Promise.resolve();

  function inTurn(change: () => Promise<void>): Promise<void> {
    const turn = last.then(change);
    last = turn.catch(() => undefined);
    return turn;
  }

  async function ensureCsiNode(signal: AbortSignal): Promise<void> {
    const { metadata } = await client.get(nodes, { name: nodeName }, { signal });
    const owner = { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: metadata?.uid ?? '' };
    try {
      const csiNode = { metadata: { name: nodeName, ownerReferences: [owner] }, spec: { drivers: [] } };
      await client.create(csiNodes, csiNode, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }

  async function patchCsiNode(entry: object, signal: AbortSignal): Promise<void> {
    const target = { resource: csiNodes, ref: { name: nodeName } };
    await client.patch(target, { type: 'strategic', body: { spec: { drivers: [entry] } } }, { signal });
  }

  async function annotate(labels: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    const ids = Object.fromEntries([...drivers].map(([name, { nodeId }]) => [name, nodeId]));
    const annotation = drivers.size === 0 ? null : JSON.stringify(ids);
    const metadata = { annotations: { [csiNodeId]: annotation }, labels };
    const target = { resource: nodes, ref: { name: nodeName } };
    await client.patch(target, { type: 'merge', body: { metadata } }, { signal });
  }

  async function remove(name: string, signal: AbortSignal): Promise<void> {
    drivers.delete(name);
    changed();
    await patchCsiNode({ name, $patch: 'delete' }, signal);
    await annotate({}, signal);
  }

  async function add(driver: NodeDriver, signal: AbortSignal): Promise<void> {
    await ensureCsiNode(signal);
    // The node id of an entry is immutable, so the old entry is removed first.
    await remove(driver.name, signal);
    drivers.set(driver.name, driver);
    await annotate(driver.topology, signal);
    await patchCsiNode(entryOf(driver), signal);
    changed();
  }

  async function renew(name: string, signal: AbortSignal): Promise<void> {
    const known = drivers.get(name);
    if (known?.channel === undefined) return;
    const driver = await readNodeDriver(name, known.channel, signal);
    if (driver.maxVolumes === known.maxVolumes) return;
    drivers.set(name, driver);
    await patchCsiNode(entryOf(driver), signal);
  }

  return {
    get: (name) => drivers.get(name),
    add: (driver, signal) => inTurn(() => add(driver, signal)),
    remove: (name, signal) => inTurn(() => remove(name, signal)),
    renew: (name, signal) => inTurn(() => renew(name, signal)),
  };
}

function entryOf({ name, nodeId, topology, maxVolumes }: NodeDriver): object {
  const limit = maxVolumes > 0 ? { allocatable: { count: maxVolumes } } : {};
  return { name, nodeID: nodeId, topologyKeys: Object.keys(topology).toSorted(), ...limit };
}
