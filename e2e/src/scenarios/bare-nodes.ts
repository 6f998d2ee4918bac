// SPDX-License-Identifier: Apache-2.0
/**
 * Nodes without a kubelet, for scenarios in which only scheduling and topology count: the objects that a kubelet and a
 * registered driver leave behind, and the lease that says that the node lives.
 */
import { csiNodes, leases, linkSignals, nodes, type Lease } from '@csi-sidecars/runtime';
import type { ScenarioContext } from './context.ts';
import { aNode } from './objects.ts';

const heartbeatMs = 10_000;
const leaseNamespace = 'kube-node-lease';

export interface BareNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The driver is registered with the labels' keys as its topology keys. */
export async function addBareNode(ctx: ScenarioContext, { name, labels }: BareNode): Promise<void> {
  const { api, driverName } = ctx;
  await ctx.create(nodes, aNode(name, labels));
  await ctx.create(csiNodes, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name },
    spec: { drivers: [{ name: driverName, nodeID: name, topologyKeys: Object.keys(labels) }] },
  });
  const now = new Date(ctx.world.clock.nowMs()).toISOString();
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'BareNode',
    message: 'a node object without a kubelet',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
  const amounts = { cpu: '8', memory: '16Gi', pods: '110' };
  const body = { status: { conditions: [ready], capacity: amounts, allocatable: amounts } };
  await api.patch({ resource: nodes, ref: { name } }, { type: 'strategic', body }, { subresource: 'status' });
  startHeartbeat(ctx, name);
}

function startHeartbeat(ctx: ScenarioContext, name: string): void {
  const { clock } = ctx.world;
  const stop = linkSignals([ctx.signal]);
  const beat = async (): Promise<void> => {
    for (;;) {
      await renew(ctx, name);
      await clock.sleep(heartbeatMs, stop.signal);
    }
  };
  const beating = beat().catch(() => undefined); // ends by the signal, or with the control plane
  ctx.cleanUp.defer(async () => {
    stop[Symbol.dispose]();
    await beating;
  });
}

async function renew({ api, world }: ScenarioContext, name: string): Promise<void> {
  const renewTime = new Date(world.clock.nowMs()).toISOString().replace('Z', '000Z');
  const body: Lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: leaseNamespace },
    spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime },
  };
  const target = { resource: leases, ref: { namespace: leaseNamespace, name } };
  await api.patch(target, { type: 'apply', body, fieldManager: 'csi-sidecars-e2e', force: true });
}
