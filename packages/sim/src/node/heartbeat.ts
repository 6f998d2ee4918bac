// SPDX-License-Identifier: Apache-2.0
/** A node as the cluster sees it: its Node object with a Ready condition that is reported periodically, and its lease. */
import {
  ignoreNotFound,
  isAlreadyExists,
  leases,
  nodes,
  type ApiClient,
  type Clock,
  type Logger,
} from '@csi-sidecars/runtime';
import { type StartGate } from '@csi-sidecars/runtime/internal';
import { managedAttach } from '../annotations.ts';
import { persistently } from '../loop/persistently.ts';
import { toMicroTime, toTime } from '../timestamps.ts';

export interface HeartbeatDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Closed while the node is frozen. */
  readonly gate: StartGate;
}

export interface NodeIdentity {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

const leaseNamespace = 'kube-node-lease';
const leaseDurationSeconds = 40;
const renewPeriodMs = 10_000;
/** More than any test requests, because resources are not emulated. */
const capacity = { cpu: '64', memory: '256Gi', pods: '1000', 'ephemeral-storage': '1Ti' };

/** Creates the Node, or takes over an existing one. */
export async function announceNode(
  { client, clock }: HeartbeatDeps,
  node: NodeIdentity,
  signal: AbortSignal,
): Promise<void> {
  const labels = { 'kubernetes.io/hostname': node.name, 'kubernetes.io/os': 'linux', ...node.labels };
  const metadata = { name: node.name, labels, annotations: { [managedAttach]: 'true' } };
  try {
    await client.create(nodes, { metadata }, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const { name: _name, ...body } = metadata;
    await client.patch(
      { resource: nodes, ref: { name: node.name } },
      { type: 'merge', body: { metadata: body } },
      { signal },
    );
  }
  const now = toTime(clock.nowMs());
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    message: 'the emulated kubelet is posting ready status',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
  await patchStatus(
    client,
    { nodeName: node.name, status: { conditions: [ready], capacity, allocatable: capacity } },
    signal,
  );
}

export interface StatusReportOptions {
  readonly nodeName: string;
  readonly periodMs: number;
}

/**
 * Reports the status periodically, even without a change, until the signal aborts. If the attach/detach controller is not sure about a
 * volume, it treats it as mounted until the node's next status shows otherwise.
 */
export async function reportNodeStatus(
  deps: HeartbeatDeps,
  { nodeName, periodMs }: StatusReportOptions,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, gate } = deps;
  while (!signal.aborted) {
    await clock.sleep(periodMs, signal);
    await gate.whenOpen(signal);
    const conditions = [{ type: 'Ready', lastHeartbeatTime: toTime(clock.nowMs()) }];
    await persistently(
      deps,
      // The Node object may have been deleted while kubelet runs.
      () => patchStatus(client, { nodeName, status: { conditions } }, signal).catch(ignoreNotFound),
      signal,
    );
  }
}

async function patchStatus(
  client: ApiClient,
  { nodeName, status }: { readonly nodeName: string; readonly status: object },
  signal: AbortSignal,
): Promise<void> {
  const target = { resource: nodes, ref: { name: nodeName } };
  await client.patch(target, { type: 'strategic', body: { status } }, { subresource: 'status', signal });
}

/** Renews until the signal aborts, also during outages of the API server. */
export async function renewNodeLease(deps: HeartbeatDeps, nodeName: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await deps.gate.whenOpen(signal);
    await persistently(deps, () => renew(deps, nodeName, signal), signal);
    await deps.clock.sleep(renewPeriodMs, signal);
  }
}

async function renew({ client, clock }: HeartbeatDeps, nodeName: string, signal: AbortSignal): Promise<void> {
  const renewTime = toMicroTime(clock.nowMs());
  const spec = { holderIdentity: nodeName, leaseDurationSeconds, renewTime };
  const ref = { namespace: leaseNamespace, name: nodeName };
  const current = await client.get(leases, ref, { signal }).catch(ignoreNotFound);
  if (current === undefined) await client.create(leases, { metadata: ref, spec }, { signal });
  else await client.update(leases, { ...current, spec: { ...current.spec, ...spec } }, { signal });
}
