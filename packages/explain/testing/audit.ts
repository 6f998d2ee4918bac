// SPDX-License-Identifier: Apache-2.0
/** A driver in process with volumes and snapshots, a cluster that records some of them, and the audit run over both. */
import { csiDrivers, csiNodes, persistentVolumes, volumeAttachments } from '@csi-sidecars/runtime';
import { createDriverModel, type DriverModel, allCapabilities, type Settings } from '@csi-sidecars/test-driver';
import { settle } from '@csi-sidecars/runtime/testing';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { runAudit } from '../src/index.ts';
import {
  add,
  ago,
  clusterOf,
  type ClusterOptions,
  csiDriver,
  csiNode,
  driver,
  namespace,
  volumeOf,
} from './cluster.ts';

type Capability = Settings['capabilities']['controller'][number];

export interface AuditedOptions extends ClusterOptions {
  /** What the driver does not have. */
  readonly without?: readonly Capability[];
  readonly name?: string;
}

export interface FindingJson {
  readonly row: string;
  readonly class: string;
  readonly level: string;
  readonly confirmed: boolean;
  readonly handle: string;
  readonly object: { readonly kind: string; readonly name: string } | null;
  readonly claim: { readonly namespace: string; readonly name: string } | null;
  readonly node: string | null;
  readonly pods: readonly string[] | null;
  readonly sentence: string;
}

export interface AuditJson {
  readonly exitCode: number;
  readonly complete: boolean;
  readonly lists: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly foreign: number;
  readonly findings: readonly FindingJson[];
  readonly notRun: readonly { readonly kind: string; readonly because: string }[];
  readonly incomplete: readonly { readonly kind: string; readonly because: string }[];
  readonly error?: { readonly text: string };
}

export interface Audited {
  readonly code: number;
  readonly document: AuditJson;
}

export interface Fixture {
  readonly host: FakeHost;
  readonly model: DriverModel;
  /** Makes volumes in the driver; returns their handles. */
  readonly make: (...names: readonly string[]) => Promise<readonly string[]>;
  /** A PersistentVolume of an hour ago for a volume of the driver, bound to the claim of this name. */
  readonly record: (
    name: string,
    handle: string,
    changes?: { metadata?: object; spec?: object; status?: object },
  ) => void;
  readonly snapshot: (handle: string, name: string) => Promise<string>;
  readonly attach: (handle: string, nodeId: string) => Promise<void>;
  /** Removes an object of the cluster at once. */
  readonly remove: (
    plural: 'persistentvolumes' | 'volumeattachments' | 'csidrivers' | 'csinodes',
    name: string,
  ) => void;
  /** Damages the storage: the volume is gone, and the driver notices. */
  readonly lose: (handle: string) => void;
  /** The audit with `-o json`; `meanwhile` is called when it waits for a further list. */
  readonly audit: (args?: readonly string[], meanwhile?: () => void | Promise<void>) => Promise<Audited>;
  /** The methods that the audit has called. */
  readonly methods: () => ReadonlySet<string>;
}

export const provisioned: Readonly<Record<string, string>> = { 'pv.kubernetes.io/provisioned-by': driver };
const capability = { mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' as const } };
const limits = { timeoutMs: 5_000 };

export function audited({ without = [], name = driver, ...options }: AuditedOptions = {}): Fixture {
  const host = clusterOf([csiDriver(), csiNode('node-a'), csiNode('node-b')], options);
  const controller = allCapabilities.controller.filter((each) => !without.includes(each));
  const capabilities = { ...allCapabilities, plugin: ['CONTROLLER_SERVICE'] as const, controller };
  const model = createDriverModel({ clock: host.clock, settings: { name, capabilities } });
  const own = model.channel({ peer: 'test', lossPolicy: 'reconnect' });
  const others = new Set<string>();
  return {
    host,
    model,
    make: async (...names) => {
      const handles: string[] = [];
      for (const each of names) {
        const request = {
          name: each,
          capacity_range: { required_bytes: String(1024 ** 3) },
          volume_capabilities: [capability],
        };
        const { volume } = await own.call('/csi.v1.Controller/CreateVolume', request, limits);
        handles.push(volume?.volume_id ?? '');
      }
      return handles;
    },
    record: (each, handle, { metadata, spec, status } = {}) =>
      add(
        host,
        volumeOf(each, {
          metadata: { annotations: provisioned, creationTimestamp: ago(host, 3_600), ...metadata },
          spec: { csi: { driver, volumeHandle: handle }, ...spec },
          ...(status !== undefined && { status }),
        }),
      ),
    snapshot: async (source_volume_id, each) => {
      const request = { source_volume_id, name: each };
      const { snapshot } = await own.call('/csi.v1.Controller/CreateSnapshot', request, limits);
      return snapshot?.snapshot_id ?? '';
    },
    attach: async (volume_id, node_id) => {
      const request = { volume_id, node_id, volume_capability: capability };
      await own.call('/csi.v1.Controller/ControllerPublishVolume', request, limits);
    },
    remove: (plural, name) => {
      const removable = {
        persistentvolumes: persistentVolumes,
        volumeattachments: volumeAttachments,
        csidrivers: csiDrivers,
        csinodes: csiNodes,
      };
      host.server.objects.remove(removable[plural], { name });
    },
    lose: (handle) => {
      model.lose(handle);
      model.restart();
    },
    audit: async (args = [], meanwhile) => {
      const channel = model.channel({ peer: 'audit', lossPolicy: 'reconnect' });
      const connectCsi = async () => ({ ...channel, loggedBy: () => channel });
      const before = host.printed().length;
      const all = [`--driver=${driver}`, '--driver-address=/csi/csi.sock', ...args, '-o', 'json'];
      const code = await ended(
        host,
        runAudit({ host: { ...host, args: all, connectCsi }, lifecycle: host.lifecycle }),
        meanwhile,
      );
      const printed = host.printed().slice(before);
      for (const { peer, method } of model.calls) if (peer === 'audit') others.add(method.split('/').at(-1) ?? '');
      return { code, document: (printed === '' ? {} : JSON.parse(printed)) as AuditJson };
    },
    methods: () => others,
  };
}

/** Time passes while the command waits; `meanwhile` is called once, in the first pause. */
export async function ended(
  host: FakeHost,
  running: Promise<number>,
  meanwhile?: () => void | Promise<void>,
): Promise<number> {
  let code: number | undefined;
  let isCalled = false;
  void running.then((value) => (code = value));
  for (let step = 0; step < 400; step += 1) {
    await settle();
    if (code !== undefined) break;
    if (!isCalled && meanwhile !== undefined && host.logged().includes('waiting')) {
      isCalled = true;
      await meanwhile();
      continue;
    }
    await host.clock.advance(5_000);
  }
  return await running;
}

export { namespace };
