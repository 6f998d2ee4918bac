// SPDX-License-Identifier: Apache-2.0
/**
 * One client in a process of its own: `node client.ts KIND KUBECONFIG`. It answers each message of its parent with what it has seen. Each is used
 * as its own page says, with a handler for changes and nothing else.
 */
import { pathToFileURL } from 'node:url';

export type Client = 'ours' | 'client-node' | 'fluent';

export interface Seen {
  /** The highest version of a change. */
  readonly version: number;
  /** How many objects were shown first. */
  readonly objects: number;
}

const [client, kubeconfig] = process.argv.slice(2) as [Client, string];
let version = 0;
const names = new Set<string>();

interface Shown {
  readonly metadata?: { readonly name?: string; readonly resourceVersion?: string };
}

function show({ metadata }: Shown): void {
  names.add(metadata?.name ?? '');
  version = Math.max(version, Number(metadata?.resourceVersion));
}

const starts: Readonly<Record<Client, () => Promise<void>>> = {
  ours: async () => {
    const { openCluster, persistentVolumes } = await import('@csi-sidecars/runtime');
    const cluster = await openCluster({ name: 'bench', kubeconfig });
    const informer = await cluster.watch({ resource: persistentVolumes });
    informer.addHandler({ add: show, update: (_, object) => show(object) });
  },
  'client-node': async () => {
    const { CoreV1Api, KubeConfig, makeInformer } = await import('@kubernetes/client-node');
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    const api = config.makeApiClient(CoreV1Api);
    const informer = makeInformer(config, '/api/v1/persistentvolumes', () => api.listPersistentVolume());
    informer.on('add', show);
    informer.on('update', show);
    // As in its example: without this it is over with the first error.
    const restart = (): void => void informer.start().catch(() => setTimeout(restart, 5_000));
    informer.on('error', () => setTimeout(restart, 5_000));
    await informer.start();
  },
  // The watch of Pepr.
  fluent: async () => {
    process.env['KUBECONFIG'] = kubeconfig;
    const { K8s, kind } = (await import(pathToFileURL(`${process.env['FLUENT_CLIENT']}/dist/index.js`).href)) as Fluent;
    const watcher = K8s(kind.PersistentVolume).Watch((object: Shown) => show(object));
    await watcher.start();
  },
};

/** What is used of kubernetes-fluent-client, which is no dependency. */
interface Fluent {
  readonly kind: { readonly PersistentVolume: unknown };
  readonly K8s: (kind: unknown) => {
    readonly Watch: (callback: (object: Shown) => void) => { readonly start: () => Promise<unknown> };
  };
}

process.on('message', () => void process.send?.({ version, objects: names.size } satisfies Seen));
process.on('disconnect', () => process.exit());
// A client that throws where nothing can catch it goes on, or not, as it would in a program with such a handler.
process.on('uncaughtException', (error) => console.error(`${client}: ${error.message}`));
await starts[client]();
