// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { add, claim, driver, node, storageClass } from '../../../testing/cluster.ts';
import { controller, driverContainer, programs, registeredNode, sidecar, zone } from '../../../testing/workloads.ts';
import { defaultClassOf, installation } from '../../../testing/installation.ts';
import { type Case, doctor, titleOf } from '../../../testing/examining.ts';

const late = { volumeBindingMode: 'WaitForFirstConsumer' };
const allowed = (key: string, ...values: readonly string[]) => ({
  ...late,
  allowedTopologies: [{ matchLabelExpressions: [{ key, values }] }],
});
const inZone = (name: string, value: string) => node(name, { metadata: { labels: { [zone]: value } } });
const secretOf = (name: string, namespace?: string) => ({
  ...late,
  parameters: {
    'csi.storage.k8s.io/provisioner-secret-name': name,
    ...(namespace !== undefined && { 'csi.storage.k8s.io/provisioner-secret-namespace': namespace }),
  },
});
const attributesClass = (name: string, of = driver) => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'VolumeAttributesClass',
  metadata: { name },
  driverName: of,
});

const cases: readonly Case[] = [
  {
    given: 'a node that has lost the label of a topology key',
    change: (host) => add(host, node('node-b')),
    found: ['error topo-1'],
  },
  {
    given: 'a class that allows a key that no node has',
    change: (host) => add(host, storageClass('zonal', allowed('topology.example.com/rack', 'r1'))),
    found: ['error topo-2'],
  },
  {
    given: 'a class that allows a value that no node has',
    change: (host) => add(host, storageClass('zonal', allowed(zone, 'z9'))),
    found: ['error topo-2'],
  },
  {
    given: 'a class that allows a value that no node has, and one that nodes have',
    change: (host) => add(host, storageClass('zonal', allowed(zone, 'z9', 'z1'))),
    found: ['warn topo-2'],
  },
  {
    given: 'a class that allows what nodes have',
    change: (host) => add(host, storageClass('zonal', allowed(zone, 'z1'))),
    found: [],
  },
  {
    given: 'a node on which the driver has other keys',
    change: (host) => add(host, registeredNode('node-b', { keys: [] })),
    found: ['warn topo-3'],
  },
  {
    given: 'two nodes with one node ID',
    change: (host) => add(host, registeredNode('node-b', { nodeId: 'node-a' })),
    found: ['warn topo-5'],
  },
  {
    given: 'no default class, and a claim that names none',
    change: (host) =>
      add(host, defaultClassOf({ metadata: { name: 'gp' } }), claim('data', { spec: { storageClassName: undefined } })),
    found: ['warn class-1'],
  },
  {
    given: 'no default class, and nobody who needs one',
    change: (host) => add(host, defaultClassOf({ metadata: { name: 'gp' } })),
    found: ['info class-1'],
  },
  {
    given: 'two default classes',
    change: (host) => add(host, { ...defaultClassOf(), metadata: { ...defaultClassOf().metadata, name: 'gp2' } }),
    found: ['warn class-1'],
  },
  {
    given: 'half of a secret in a class',
    change: (host) => add(host, storageClass('secret', secretOf('s1'))),
    found: ['error class-2'],
  },
  {
    given: 'an unknown variable in the name of a secret',
    change: (host) => add(host, storageClass('secret', secretOf('${pvc.uid}', 'vault'))),
    found: ['error class-2'],
  },
  {
    given: 'an unknown key of csi.storage.k8s.io in a class',
    change: (host) => add(host, storageClass('odd', { ...late, parameters: { 'csi.storage.k8s.io/fs': 'xfs' } })),
    found: ['error class-2'],
  },
  {
    given: 'a secret of a fixed name that does not exist',
    change: (host) => add(host, storageClass('secret', secretOf('s1', 'vault'))),
    found: ['error class-3'],
  },
  {
    given: 'a secret that exists',
    change: (host) => {
      add(host, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's1', namespace: 'vault' } });
      add(host, storageClass('secret', secretOf('s1', 'vault')));
    },
    found: [],
  },
  {
    given: '[explain#101] a secret that an annotation of the claim names',
    change: (host) => add(host, storageClass('secret', secretOf("${pvc.annotations['x']}", '${pvc.namespace}'))),
    found: [],
  },
  {
    given: 'a class that binds at once, and a driver with two zones',
    change: (host) => add(host, inZone('node-b', 'z2'), storageClass('now')),
    found: ['warn class-5'],
  },
  {
    given: 'a class that binds at once, and a driver with one zone',
    change: (host) => add(host, storageClass('now')),
    found: [],
  },
  {
    given: 'a VolumeAttributesClass of a driver that is nowhere',
    change: (host) => add(host, attributesClass('fast', 'b.example.com')),
    found: ['warn class-6'],
  },
  {
    given: 'a VolumeAttributesClass, and a csi-resizer with the gate off',
    change: (host) => {
      const off = sidecar('csi-resizer', ['--feature-gates=VolumeAttributesClass=false']);
      const containers = programs.map((program) => (program === 'csi-resizer' ? off : sidecar(program)));
      add(host, attributesClass('fast'), controller({ containers: [driverContainer, ...containers] }));
    },
    found: ['warn class-6'],
  },
  { given: 'a VolumeAttributesClass of the driver', change: (host) => add(host, attributesClass('fast')), found: [] },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, { change, found, args }) => {
  const host = installation();
  change(host);
  expect((await doctor(host, args)).found.toSorted()).toEqual(found.toSorted());
});

it('[explain#100] given 5,000 nodes, one of which has no label for a key that is registered, when examined, then it is that one', async () => {
  const host = installation();
  for (let index = 0; index < 5_000; index += 1) {
    const name = `node-${index}`;
    add(host, registeredNode(name), index === 4_321 ? node(name) : inZone(name, 'z1'));
  }
  const { found, document } = await doctor(host, ['--only=topo-1']);
  expect(found).toEqual(['error topo-1']);
  expect(document.findings[0]).toMatchObject({
    objects: [{ kind: 'Node', namespace: null, name: 'node-4321' }],
    objectsTotal: 1,
  });
  expect(document.cost.requests).toBeLessThan(60);
});

it('given the right to get secrets missing, when examined, then whether they exist is not known, and nothing of their data is asked for', async () => {
  const rules = [
    { apiGroups: [''], resources: ['nodes', 'pods', 'persistentvolumes', 'persistentvolumeclaims'], verbs: ['*'] },
    { apiGroups: ['storage.k8s.io', 'snapshot.storage.k8s.io'], resources: ['*'], verbs: ['*'] },
  ];
  const host = installation({ rules });
  add(host, storageClass('secret', secretOf('s1', 'vault')));
  const { code, found, document } = await doctor(host, ['--only=class-2,class-3']);
  expect([code, found, document.notRun.map(({ id }) => id)]).toEqual([5, [], ['class-3']]);
  const accepted = host.server.requests.filter(({ resource }) => resource === 'secrets').map(({ accept }) => accept);
  expect(accepted).toEqual(['application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1']);
});
