// SPDX-License-Identifier: Apache-2.0
/**
 * `csi-sidecars doctor` over deployments that exist, as the chart renders them: nothing above an information is found in them. With one thing broken
 * that is found, and nothing else.
 */
import { leases } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { leaseNameOf } from '../../../../packages/explain/src/actors/programs.ts';
import { add, ago, lease } from '../../../../packages/explain/testing/cluster.ts';
import { withHealthGate } from '../../../../packages/explain/testing/further-programs.ts';
import { snapshotClass } from '../../../../packages/explain/testing/installation.ts';
import { doctor } from '../../../../packages/explain/testing/examining.ts';
import { objectsOf } from '../../../testing/differences.ts';
import { hasHelm } from '../../../testing/helm.ts';
import { type Manifest, one, podOf } from '../../../testing/manifest.ts';
import { withArgs, withClass, withContainer, withDriverSpec, withPod, withSpec } from '../changes.ts';
import { controllerPod, csiNode, holder, installed, type Installed, labelled, nodePod, put } from '../installed.ts';
import { chart } from '../minimal.ts';

/** The topology that each driver registers. */
const keys = {
  'aws-ebs': ['topology.ebs.csi.aws.com/zone'],
  'hostpath-distributed': ['topology.hostpath.csi/node'],
  hostpath: ['topology.hostpath.csi/node'],
  nfs: [],
  topolvm: ['topology.topolvm.io/node'],
} as const;
type Name = keyof typeof keys;
const names = Object.keys(keys) as readonly Name[];
const central: readonly Name[] = ['aws-ebs', 'hostpath', 'nfs', 'topolvm'];
const rendered = new Map<Name, Promise<readonly Manifest[]>>();

async function installationOf(name: Name): Promise<Installed> {
  const manifests = rendered.get(name) ?? objectsOf(chart, name);
  rendered.set(name, manifests);
  // One of them has a health monitor.
  return installed(await manifests, keys[name], { intercept: withHealthGate(1) });
}

async function foundIn({ host }: Installed): Promise<readonly string[]> {
  const { found, document } = await doctor(host);
  expect(document.notRun).toEqual([]);
  // One finding for each program that lacks the right.
  return [...new Set(found.filter((each) => !each.startsWith('info ')))];
}

function withoutCreate(cluster: Installed): void {
  const role = one(cluster.manifests, 'ClusterRole', `${cluster.driver}-provisioner`);
  const rules = (role.rules ?? []).map((rule) =>
    rule.resources.includes('persistentvolumes')
      ? { ...rule, verbs: rule.verbs.filter((verb) => verb !== 'create') }
      : rule,
  );
  put(cluster, { ...role, rules });
}

const loop = {
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True' }],
  containerStatuses: [
    {
      name: 'csi-driver',
      restartCount: 40,
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 1 } },
    },
  ],
};

interface Break {
  readonly given: string;
  readonly of: readonly Name[];
  readonly make: (cluster: Installed) => void;
  readonly found: string;
}

const breaks: readonly Break[] = [
  {
    given: 'a role of csi-provisioner that may not create volumes',
    of: ['aws-ebs', 'hostpath-distributed', 'hostpath', 'nfs'],
    make: withoutCreate,
    found: 'error rights-1',
  },
  {
    given: 'the same, where the image does not say the version',
    of: ['topolvm'],
    make: withoutCreate,
    found: 'warn rights-1',
  },
  {
    given: 'a role for Leases without a rule',
    of: ['aws-ebs', 'hostpath', 'nfs'],
    make: (cluster) => {
      const role = one(cluster.manifests, 'Role', 'test-csi-driver-leases');
      put(cluster, { ...role, rules: [] });
    },
    found: 'error rights-6',
  },
  {
    given: 'a csi-resizer that has not renewed its Lease for ten minutes',
    of: central,
    make: ({ host, driver, manifests }) => {
      const name = holder(one(manifests, 'Deployment').metadata.name);
      add(host, lease(leaseNameOf('csi-resizer', driver), { holder: name, renewed: ago(host, 600) }));
    },
    found: 'error lease-1',
  },
  {
    given: 'no csi-attacher',
    of: ['aws-ebs', 'hostpath'],
    make: (cluster) => {
      const { host, driver } = cluster;
      withContainer(cluster, 'csi-attacher', () => []);
      host.server.objects.remove(leases, { namespace: 'storage', name: leaseNameOf('csi-attacher', driver) });
    },
    found: 'error driver-2',
  },
  {
    given: 'no csi-resizer, and a class that lets volumes grow',
    of: ['aws-ebs', 'hostpath', 'topolvm'],
    make: (cluster) => {
      const { host, driver } = cluster;
      withContainer(cluster, 'csi-resizer', () => []);
      host.server.objects.remove(leases, { namespace: 'storage', name: leaseNameOf('csi-resizer', driver) });
    },
    found: 'warn class-4',
  },
  {
    given: 'a snapshot class, and no csi-snapshotter',
    of: ['aws-ebs', 'hostpath', 'nfs', 'topolvm'],
    make: (cluster) => {
      const { host, driver } = cluster;
      withContainer(cluster, 'csi-snapshotter', () => []);
      host.server.objects.remove(leases, { namespace: 'storage', name: leaseNameOf('csi-snapshotter', driver) });
      add(host, snapshotClass('snap', { driver }));
    },
    found: 'warn driver-10',
  },
  {
    given: 'a CSIDriver without storageCapacity, and a provisioner that publishes it',
    of: ['hostpath-distributed', 'topolvm'],
    make: (cluster) => withDriverSpec(cluster, { storageCapacity: false }),
    found: 'warn driver-4',
  },
  {
    given: 'a CSIDriver with storageCapacity, and a provisioner that publishes none',
    of: ['aws-ebs', 'hostpath'],
    make: (cluster) => withDriverSpec(cluster, { storageCapacity: true }),
    found: 'error driver-4',
  },
  {
    given: 'csi-provisioner without election, in two replicas',
    of: central,
    make: (cluster) => {
      const { host, driver } = cluster;
      const change = withArgs((arg) => (/^--leader-election(=true)?$/.test(arg) ? [] : [arg]));
      const set = one(cluster.manifests, 'Deployment');
      const containers = podOf(set).containers.flatMap((each) =>
        each.name === 'csi-provisioner' ? change(each) : [each],
      );
      put(cluster, {
        ...set,
        spec: { ...(set.spec as object), replicas: 2, template: { spec: { ...podOf(set), containers } } },
      });
      host.server.objects.remove(leases, { namespace: 'storage', name: leaseNameOf('csi-provisioner', driver) });
    },
    found: 'error driver-9',
  },
  {
    given: 'a csi-provisioner that looks for the socket in a folder that is not mounted',
    of: names,
    make: (cluster) =>
      withContainer(
        cluster,
        'csi-provisioner',
        withArgs((arg) => (arg.startsWith('--csi-address') ? ['--csi-address=/elsewhere/csi.sock'] : [arg])),
      ),
    found: 'error driver-11',
  },
  {
    given: 'a gate that csi-resizer 2.3 has removed',
    of: ['aws-ebs', 'hostpath', 'nfs'],
    make: (cluster) =>
      withContainer(
        cluster,
        'csi-resizer',
        withArgs((arg) => [arg], '--feature-gates=RecoverVolumeExpansionFailure=true'),
      ),
    found: 'warn driver-12',
  },
  {
    given: 'a node that does not know the driver, whose pod is ready',
    of: names,
    make: ({ host, driver }) =>
      add(host, { ...csiNode({ driver, topologyKeys: [] }, 'node-b'), spec: { drivers: [] } }),
    found: 'error node-1',
  },
  {
    given: 'plugins_registry of another kubelet',
    of: names,
    make: (cluster) =>
      withPod(cluster, 'DaemonSet', (pod) => ({
        ...pod,
        volumes:
          pod.volumes?.map(
            (volume) =>
              JSON.parse(
                JSON.stringify(volume).replaceAll(
                  '/var/lib/kubelet/plugins_registry',
                  '/data/kubelet/plugins_registry',
                ),
              ) as typeof volume,
          ) ?? [],
      })),
    found: 'error node-3',
  },
  {
    given: 'a CSINode that is left of a node',
    of: names,
    make: ({ host, driver, topologyKeys }) => {
      const left = csiNode({ driver, topologyKeys }, 'gone');
      add(host, { ...left, metadata: { ...left.metadata, creationTimestamp: '2024-01-01T00:00:00Z' } });
    },
    found: 'warn node-5',
  },
  {
    given: 'a node that has lost the label of the topology',
    of: ['aws-ebs', 'hostpath', 'topolvm'],
    make: ({ host }) => add(host, labelled('node-b', [])),
    found: 'error topo-1',
  },
  {
    given: 'a DaemonSet that starts the new pod before the old one has ended',
    of: names,
    make: (cluster) =>
      withSpec(cluster, 'DaemonSet', (spec) => ({
        ...spec,
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } },
      })),
    found: 'warn pod-7',
  },
  {
    given: 'a driver that ends again and again on a node',
    of: names,
    make: ({ host, manifests }) => add(host, nodePod(one(manifests, 'DaemonSet'), 'node-a', loop)),
    found: 'error pod-1',
  },
  {
    given: 'a driver that ends again and again beside its controllers',
    of: central,
    make: ({ host, manifests }) => add(host, controllerPod(one(manifests, 'Deployment'), loop)),
    found: 'error pod-1',
  },
  {
    given: 'a class with a letter too few in the name of the driver',
    of: names,
    make: (cluster) => withClass(cluster, (each) => ({ ...each, provisioner: cluster.driver.slice(0, -1) })),
    found: 'error driver-1',
  },
  {
    given: 'a class that names a secret by half',
    of: names,
    make: (cluster) =>
      withClass(cluster, (each) => ({ ...each, parameters: { 'csi.storage.k8s.io/provisioner-secret-name': 's' } })),
    found: 'error class-2',
  },
];

describe.skipIf(!hasHelm)('doctor over deployments that exist', () => {
  it.each(names)(
    '[explain#89] given %s as it is, when examined, then nothing above an information is found',
    async (name) => {
      expect(await foundIn(await installationOf(name))).toEqual([]);
    },
  );

  it.each(breaks.flatMap(({ of, ...each }) => of.map((name) => ({ name, ...each }))))(
    'given $name and $given, when examined, then $found is found',
    async ({ name, make, found }) => {
      const cluster = await installationOf(name);
      make(cluster);
      expect(await foundIn(cluster)).toEqual([found]);
    },
  );
});
