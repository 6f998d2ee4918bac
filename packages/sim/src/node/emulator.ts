// SPDX-License-Identifier: Apache-2.0
/**
 * A kubelet for volumes only: a Node with its lease, registered CSI drivers, and for each pod on it the steps from attached
 * volumes over stage and publish to Running, and back. It uses only the API, so it works with simulated and real
 * control planes alike.
 *
 * Not here: containers (a pod is Running as soon as its volumes are mounted, and for ever), images, probes, eviction.
 */
import {
  toObjectKey,
  keyOf,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import { announceNode, renewNodeLease, reportNodeStatus } from './heartbeat.ts';
import { createFreezer } from './freezer.ts';
import { createLimitLoop } from './limit-loop.ts';
import { createMountTable } from './mount-table.ts';
import { createNodeView } from './node-view.ts';
import { createPluginManager, type PluginPort } from './plugins/plugin-manager.ts';
import { createPodLoop } from './pod-loop.ts';
import { createRegistrations } from './registrations.ts';
import { createUseReport } from './use-report.ts';
import { createVolumeLoop, volumeKeysOf } from './volume-loop.ts';
import { nodeOf } from '../pods.ts';
import { persistently } from '../loop/persistently.ts';
import type { ExpansionOfNode } from './expansion.ts';
import type { Folders } from './mount-calls.ts';
import type { NodeDriver } from './driver.ts';
import type { SimController, SimDeps } from '../loop/loop.ts';

export interface NodeOptions {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Registered at the start; more can be registered later. */
  readonly drivers?: readonly NodeDriver[];
  /** The folder in which further drivers register themselves. Default: none. */
  readonly plugins?: PluginPort;
  /** Kubelet's folder, below which the target paths of mounts are. Default /var/lib/kubelet. */
  readonly root?: string;
  /** Creates a folder. Default: does nothing, for drivers without real mounts. */
  readonly folders?: Folders;
  /** How often the status is reported without a change. Default 5 minutes, like kubelet's. */
  readonly statusReportMs?: number;
  /** How kubelet grows file systems. Default: as from Kubernetes 1.32 on. */
  readonly expansion?: ExpansionOfNode;
}

const usualStatusReportMs = 300_000;

export interface NodeEmulator extends SimController {
  readonly name: string;
  /** Resolves when the API shows the driver. The node must be running. */
  readonly register: (driver: NodeDriver, signal: AbortSignal) => Promise<void>;
  readonly unregister: (name: string, signal: AbortSignal) => Promise<void>;
  /** Volume name -> paths at which it is mounted for pods. */
  readonly mounts: () => ReadonlyMap<string, readonly string[]>;
  /** From now on the node does nothing, until `thaw`: no lease, no mounts, no unmounts. Calls in progress end. */
  readonly freeze: () => void;
  readonly thaw: () => void;
}

export function createNodeEmulator(sim: SimDeps, options: NodeOptions): NodeEmulator {
  const {
    name,
    labels = {},
    drivers = [],
    root = '/var/lib/kubelet',
    folders = { make: async () => undefined },
    statusReportMs = usualStatusReportMs,
    expansion = 'withRecovery',
  } = options;
  const { client, clock } = sim;
  const view = createNodeView(sim.informers, name);
  const table = createMountTable();
  const freezer = createFreezer();
  const registrations = createRegistrations({ client, nodeName: name, changed: enqueueAll });
  const pods = createPodLoop({ sim, view, table, freezer });
  const use = createUseReport({ sim, view, table, freezer, nodeName: name });
  const limits = createLimitLoop({ sim, view, registrations, freezer });
  const volumes = createVolumeLoop({
    sim,
    mounting: { client, folders, root },
    view,
    table,
    registrations,
    freezer,
    expansion,
    mountsChanged: enqueuePods,
    useChanged: use.renew,
  });

  function enqueuePods(): void {
    for (const pod of view.podsHere()) pods.enqueue(keyOf(pod));
  }
  function enqueueAll(): void {
    for (const volumeName of table.volumeNames()) volumes.enqueue(toObjectKey(undefined, volumeName));
    for (const pod of view.podsHere()) enqueuePod(pod);
  }
  function enqueuePod(pod: Pod): void {
    if (nodeOf(pod) !== name) return;
    pods.enqueue(keyOf(pod));
    for (const key of [...volumeKeysOf(view, pod), ...table.publishedFor(pod.metadata?.uid ?? '')]) {
      volumes.enqueue(toObjectKey(undefined, key));
    }
  }
  function enqueueVolume(volume: PersistentVolume): void {
    const claim = view.claimOf(volume);
    const users = claim === undefined ? [] : view.podsOfClaim(claim);
    // Each node sees the volumes of all.
    if (users.length > 0 || table.get(keyOf(volume)) !== undefined) volumes.enqueue(keyOf(volume));
    for (const pod of users) pods.enqueue(keyOf(pod));
  }
  function enqueueClaim(claim: PersistentVolumeClaim): void {
    for (const pod of view.podsOfClaim(claim)) enqueuePod(pod);
  }
  function enqueueAttachment(attachment: VolumeAttachment): void {
    const { nodeName, source } = attachment.spec;
    if (nodeName !== name) return;
    volumes.enqueue(toObjectKey(undefined, source.persistentVolumeName ?? ''));
    limits.look(attachment);
  }

  const onChange = <T>(handle: (object: T) => void) => ({
    add: handle,
    update: (_previous: T, current: T) => handle(current),
    delete: ({ object }: { readonly object: T }) => handle(object),
  });
  view.pods.addHandler(onChange(enqueuePod));
  view.volumes.addHandler(onChange(enqueueVolume));
  view.claims.addHandler(onChange(enqueueClaim));
  view.attachments.addHandler(onChange(enqueueAttachment));
  view.drivers.addHandler(onChange(enqueueAll));
  view.nodes.addHandler(
    onChange((node) => {
      if (node.metadata?.name !== name) return;
      enqueueAll();
      // A Node that was created again shows nothing of what is mounted, or what was mounted before.
      use.renew();
    }),
  );

  return {
    name,
    async run(signal) {
      const heart = { client, clock, logger: sim.logger, gate: freezer.gate };
      await persistently(sim, () => announceNode(heart, { name, labels }, signal), signal);
      for (const driver of drivers) await persistently(sim, () => registrations.add(driver, signal), signal);
      const manager =
        options.plugins && createPluginManager({ ...sim, world: options.plugins, registrations, gate: freezer.gate });
      await Promise.all([
        renewNodeLease(heart, name, signal),
        reportNodeStatus(heart, { nodeName: name, periodMs: statusReportMs }, signal),
        pods.run(signal),
        volumes.run(signal),
        use.run(signal),
        limits.run(signal),
        manager?.run(signal),
      ]);
    },
    register: registrations.add,
    unregister: registrations.remove,
    mounts: () =>
      new Map(table.volumeNames().map((volume) => [volume, [...(table.get(volume)?.published.values() ?? [])]])),
    freeze: freezer.freeze,
    thaw: freezer.thaw,
  };
}
