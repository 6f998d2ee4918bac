// SPDX-License-Identifier: Apache-2.0
/** `csi-sidecars leftovers` over a fake API server, with exactly the permissions that it lists. A test plays the person at the terminal. */
import {
  type CSIStorageCapacity,
  csiStorageCapacities,
  type KubeObject,
  persistentVolumeClaims,
  persistentVolumes,
} from '@csi-sidecars/runtime';
import type { AccessRule } from '@csi-sidecars/runtime/testing';
import { type FakeHost, fakeHost } from '@csi-sidecars/sidecar/testing';
import { volumeSnapshots } from '@csi-sidecars/volume';
import { snapshotTypes } from '@csi-sidecars/volume/testing';
import { labels } from '../src/capacity/object.ts';
import { runLeftovers } from '../src/leftovers/program.ts';
import { leftoversRules } from '../src/leftovers/rbac.ts';
import { driverName } from './builders.ts';

export interface LeftoversRun {
  readonly host: FakeHost;
  readonly code: number;
  readonly printed: string;
  readonly logged: string;
  /** `patch persistentvolumeclaims team/data 200`, in order. */
  readonly writes: readonly string[];
}

export interface LeftoversOptions {
  readonly args?: readonly string[];
  readonly seed?: readonly KubeObject[];
  /** Continue on the objects of an earlier run. */
  readonly host?: FakeHost;
  /** What the person types; undefined: there is no terminal. */
  readonly typed?: string;
  /** Happens while the person reads the question. */
  readonly meanwhile?: (host: FakeHost) => void;
  readonly rules?: readonly AccessRule[];
  /** Default: the cluster serves the snapshot kinds. */
  readonly snapshotKinds?: 'missing';
}

export async function runLeftoversOn(options: LeftoversOptions = {}): Promise<LeftoversRun> {
  const { args = [], typed, meanwhile, rules = leftoversRules } = options;
  const made = options.host ?? fakeHost({ rules });
  if (options.host === undefined && options.snapshotKinds === undefined) made.server.addTypes(...snapshotTypes);
  for (const object of options.seed ?? []) made.server.seed(object);
  made.server.clearRequests();
  const before = { printed: made.printed().length, logged: made.logged().length };
  const host: FakeHost = { ...made, args };
  const ask = async (): Promise<string> => {
    meanwhile?.(host);
    return typed ?? '';
  };
  const terminal = { ask: typed === undefined ? undefined : ask };
  const code = await runLeftovers({ host, lifecycle: host.lifecycle, terminal });
  return {
    host: made,
    code,
    printed: made.printed().slice(before.printed),
    logged: made.logged().slice(before.logged),
    writes: made.server
      .writes()
      .map(({ verb, resource, namespace, name, code: answer }) =>
        [verb, resource, namespace === undefined ? name : `${namespace}/${name}`, answer].join(' '),
      ),
  };
}

export const removing: readonly string[] = ['--remove', `--driver=${driverName}`];

export function finalizersOf(
  { server }: FakeHost,
  kind: 'claim' | 'volume' | 'snapshot',
  name: string,
): readonly string[] {
  const resource = { claim: persistentVolumeClaims, volume: persistentVolumes, snapshot: volumeSnapshots }[kind];
  const object = server.objects.get<KubeObject>(resource, kind === 'volume' ? { name } : { namespace: 'team', name });
  return object?.metadata?.finalizers ?? [];
}

export function capacitiesOf({ server }: FakeHost): readonly string[] {
  return server.objects.list<KubeObject>(csiStorageCapacities).map(({ metadata }) => metadata?.name ?? '');
}

export interface CapacityFacts {
  readonly name?: string;
  readonly managedBy?: string;
  readonly owned?: 'yes';
}

export function aCapacity({
  name = 'csisc-1',
  managedBy = 'external-provisioner',
  owned,
}: CapacityFacts = {}): CSIStorageCapacity {
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'driver', uid: 'uid-of-driver', controller: true };
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIStorageCapacity',
    metadata: {
      name,
      namespace: 'storage',
      uid: `uid-of-${name}`,
      labels: { [labels.driverName]: driverName, [labels.managedBy]: managedBy },
      ...(owned === undefined ? {} : { ownerReferences: [owner] }),
    },
    storageClassName: 'fast',
    nodeTopology: {},
  };
}
