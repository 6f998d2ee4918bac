// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { leaseName } from '@csi-sidecars/runtime/internal';
import { manifests } from '../../../../scripts/manifests.ts';
import { hasHelm } from '../../../testing/helm.ts';
import { container, flagsOf, ofKind, one, podOf, type Manifest, type Rule } from '../../../testing/manifest.ts';
import { distributed, driverName, everyApi, notesWith, refusalWith, renderWith, upstream } from '../minimal.ts';

const rights = ({ rules = [] }: Manifest): ReadonlySet<string> =>
  new Set(
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      resources.flatMap((resource) =>
        apiGroups.flatMap((group) => verbs.map((verb) => `${verb} ${resource}.${group}`)),
      ),
    ),
  );
const roleOf = async (sidecar: string, values: object = {}, apiVersions = everyApi): Promise<Manifest> =>
  one(await renderWith(values, { apiVersions }), 'ClusterRole', `${driverName}-${sidecar}`);
const grants = (role: Manifest, resource: string): readonly string[] =>
  [...rights(role)].filter((right) => right.split(' ')[1] === resource).map((right) => right.split(' ')[0]!);
const leaseRules = (objects: readonly Manifest[]): readonly Rule[] =>
  (one(objects, 'Role', 'test-csi-driver-leases').rules ?? []).filter(({ resources }) => resources.includes('leases'));

const sidecars = ['provisioner', 'attacher', 'resizer', 'snapshotter'];

describe.skipIf(!hasHelm)('the permissions', () => {
  it.each(sidecars)(
    'given everything on, then the role of %s grants what its program uses, but secrets, and no more',
    async (sidecar) => {
      const role = await roleOf(sidecar, {
        features: { crossNamespaceDataSources: true },
        sidecars: { resizer: { handleVolumeInUseError: true } },
      });
      const manifest = manifests.find(({ name }) => name === `csi-${sidecar}`)!;
      const used = manifest.rules.filter(
        ({ resources, when }) =>
          !resources.includes('secrets') &&
          !resources.includes('csistoragecapacities') &&
          // Granted in mode distributed, which has no attacher and no resizer.
          when?.text.startsWith('--node-deployment') !== true,
      );
      expect([...rights(role)].sort()).toEqual(
        [...new Set(used.flatMap((rule) => [...rights({ ...role, rules: [rule] })]))].sort(),
      );
    },
  );

  it('given a sidecar that is off, then it has no role', async () => {
    const values = { features: { resize: false, snapshots: false } };
    const roles = ofKind(await renderWith(values, { apiVersions: everyApi }), 'ClusterRole');
    expect(roles.map(({ metadata }) => metadata.name)).toEqual([`${driverName}-provisioner`, `${driverName}-attacher`]);
  });

  it("given the profile compatible, then every role grants at least what upstream's manifest grants", async () => {
    const [minimal, compatible] = await Promise.all([
      roleOf('snapshotter'),
      roleOf('snapshotter', { rbac: { profile: 'compatible' } }),
    ]);
    expect(grants(compatible, 'volumesnapshotcontents.snapshot.storage.k8s.io')).toEqual([
      'get',
      'list',
      'watch',
      'update',
      'patch',
    ]);
    for (const right of rights(minimal)) expect([...rights(compatible)]).toContain(right);
  });

  it('[packaging#18] given the Lease, then create is a rule without names, and every other verb is restricted to the Leases', async () => {
    const objects = await renderWith({}, { apiVersions: everyApi });
    expect(leaseRules(objects)).toEqual([
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
      {
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        verbs: ['get', 'watch', 'update'],
        resourceNames: sidecars.map((sidecar) =>
          leaseName(manifests.find(({ name }) => name === `csi-${sidecar}`)!.lockName!(driverName)),
        ),
      },
    ]);
  });

  it("[packaging#63] given no profile, then a program of ours gets what it uses, and one of upstream's what upstream grants, its status updates among it", async () => {
    const status = 'volumesnapshotcontents/status.snapshot.storage.k8s.io';
    const ours = await renderWith({ features: { snapshots: true } });
    const theirs = await renderWith({ ...upstream, features: { snapshots: true } });
    const role = (objects: readonly Manifest[]): Manifest => one(objects, 'ClusterRole', `${driverName}-snapshotter`);
    expect(grants(role(ours), status)).toEqual(['patch']);
    expect(grants(role(theirs), status)).toContain('update');
    const combined = await renderWith({
      features: { snapshots: true },
      sidecars: { image: { registry: '' }, combined: { enabled: true, image: { registry: 'r.example.com' } } },
    });
    expect(grants(role(combined), status)).toEqual(['patch']);
    const minimal = await renderWith({ ...upstream, features: { snapshots: true }, rbac: { profile: 'minimal' } });
    expect(grants(role(minimal), status)).toEqual(['patch']);
  });

  it.each([
    { audience: '', image: {}, verbs: ['get'] },
    { audience: 'backup', image: {}, verbs: [] },
    // v1.1.0 reads the object in any case.
    { audience: 'backup', image: { registry: 'registry.k8s.io/sig-storage' }, verbs: ['get'] },
  ])(
    '[packaging#58] given snapshot metadata with the audience "$audience" and the image $image, then its rights on SnapshotMetadataServices are $verbs',
    async ({ audience, image, verbs }) => {
      const snapshotMetadata = { tlsSecretName: 'tls', audience, image };
      const role = await roleOf('snapshot-metadata', {
        features: { snapshotMetadata: true },
        sidecars: { snapshotMetadata },
      });
      expect(grants(role, 'snapshotmetadataservices.cbt.storage.k8s.io')).toEqual(verbs);
      expect(grants(role, 'volumesnapshotclasses.snapshot.storage.k8s.io')).toEqual(['get', 'list']);
      expect(grants(role, 'tokenreviews.authentication.k8s.io')).toContain('create');
    },
  );

  it('[packaging#71] given snapshot metadata, then there is a role for backup software, which reads and is bound to no account', async () => {
    const objects = await renderWith({
      features: { snapshotMetadata: true },
      sidecars: { snapshotMetadata: { tlsSecretName: 'tls' } },
    });
    const name = 'minimal.csi.example.com-snapshot-metadata-client';
    const role = one(objects, 'ClusterRole', name);
    expect(new Set(role.rules?.flatMap(({ verbs }) => verbs))).toEqual(new Set(['get']));
    expect(grants(role, 'snapshotmetadataservices.cbt.storage.k8s.io')).toEqual(['get']);
    expect(objects.filter(({ kind, roleRef }) => kind.endsWith('Binding') && roleRef?.name === name)).toEqual([]);
  });

  it('[packaging#59] given a second driver in the pod, then the account may use the Leases of both', async () => {
    const objects = await renderWith({ rbac: { additionalDrivers: ['nas.csi.example.com'] } });
    const named = one(objects, 'Role', 'test-csi-driver-leases').rules!.flatMap(
      ({ resourceNames = [] }) => resourceNames,
    );
    expect(named).toEqual(
      [driverName, 'nas.csi.example.com'].flatMap((driver) =>
        ['', 'external-attacher-leader-', 'external-resizer-'].map((lock) => `${lock}${driver.replaceAll('.', '-')}`),
      ),
    );
  });

  it('[packaging#20] given any namespace, then the election runs where its role is', async () => {
    const objects = await renderWith({}, { namespace: 'elsewhere' });
    const role = one(objects, 'Role', 'test-csi-driver-leases');
    const binding = one(objects, 'RoleBinding', 'test-csi-driver-leases');
    expect([role.metadata.namespace, binding.metadata.namespace, binding.subjects?.[0]?.namespace]).toEqual(
      Array.from({ length: 3 }, () => 'elsewhere'),
    );
    const { containers } = podOf(one(objects, 'Deployment'));
    const namespaces = containers
      .map((each) => flagsOf(each)['leader-election-namespace'])
      .filter((each) => each !== undefined);
    expect(namespaces).toEqual(['elsewhere', 'elsewhere', 'elsewhere']);
  });

  it.each(['minimal', 'compatible'])(
    "[packaging#21] given the profile %s and VolumeAttributesClasses, then the provisioner may read them, which upstream's role lacks",
    async (profile) => {
      const resource = 'volumeattributesclasses.storage.k8s.io';
      expect(grants(await roleOf('provisioner', { rbac: { profile } }), resource)).toEqual(['get']);
      expect(grants(await roleOf('provisioner', { rbac: { profile } }, []), resource)).toEqual([]);
    },
  );

  it('[packaging#22] given in-use handling that is on, then the resizer may watch pods, without which it would never be ready; off, it may not', async () => {
    const on = await roleOf('resizer', { sidecars: { resizer: { handleVolumeInUseError: true } } });
    expect(grants(on, 'pods.')).toEqual(['list', 'watch']);
    const objects = await renderWith();
    expect(grants(one(objects, 'ClusterRole', `${driverName}-resizer`), 'pods.')).toEqual([]);
    expect(flagsOf(container(podOf(one(objects, 'Deployment')), 'csi-resizer'))['handle-volume-inuse-error']).toBe(
      'false',
    );
  });

  it('[packaging#23] given snapshots off while the cluster serves them, then the provisioner has no right on snapshots', async () => {
    const role = await roleOf('provisioner', { features: { snapshots: false } });
    expect([...rights(role)].filter((right) => right.includes('snapshot'))).toEqual([]);
    expect([...rights(await roleOf('provisioner'))].filter((right) => right.includes('snapshot'))).not.toEqual([]);
  });

  it('given secrets in namespaces and classes, then there is a role for each namespace, restricted to the names', async () => {
    const objects = await renderWith({
      rbac: { secrets: { namespaces: ['all', { name: 'some', secretNames: ['a'] }] } },
      storageClasses: [
        {
          name: 'class',
          secrets: {
            provisioner: { name: 'b', namespace: 'some' },
            controllerPublish: { data: { key: 'x' } },
            nodeStage: { name: 'for-kubelet', namespace: 'nodes' },
          },
        },
      ],
    });
    const roles = ofKind(objects, 'Role').filter(({ metadata }) => metadata.name === 'test-csi-driver-secrets');
    const rule = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] };
    expect(Object.fromEntries(roles.map(({ metadata, rules }) => [metadata.namespace, rules]))).toEqual({
      all: [rule],
      some: [{ ...rule, resourceNames: ['a', 'b'] }],
      storage: [{ ...rule, resourceNames: ['test-csi-driver-sc-class-controller-publish'] }],
    });
    expect(one(objects, 'Secret').metadata.name).toBe('test-csi-driver-sc-class-controller-publish');
  });

  it('given secrets that a class names in its parameters, then the sidecars may read them, and those of the nodes they may not', async () => {
    const of = (kind: string, name: string, namespace = 'keys'): Readonly<Record<string, string>> => ({
      [`csi.storage.k8s.io/${kind}secret-name`]: name,
      [`csi.storage.k8s.io/${kind}secret-namespace`]: namespace,
    });
    const values = {
      features: { snapshots: true },
      storageClasses: [
        { name: 'a', parameters: { ...of('provisioner-', 'create'), ...of('node-stage-', 'stage', 'nodes') } },
        { name: 'b', parameters: of('', 'all') },
      ],
      volumeSnapshotClasses: [{ name: 's', deletionPolicy: 'Delete', parameters: of('snapshotter-', 'snapshot') }],
    };
    const roles = ofKind(await renderWith(values), 'Role').filter(
      ({ metadata }) => metadata.name === 'test-csi-driver-secrets',
    );
    expect(roles.map(({ metadata, rules }) => [metadata.namespace, rules?.[0]?.resourceNames])).toEqual([
      ['keys', ['create', 'all', 'snapshot']],
    ]);
    const template = { name: 'c', parameters: of('provisioner-', 'key', '${pvc.namespace}') };
    expect(await refusalWith({ storageClasses: [template] })).toMatch(/rbac\.secrets\.clusterWide/);
    expect(await renderWith({ storageClasses: [template], rbac: { create: false } })).not.toEqual([]);
  });

  it('given a template for the name of a secret in a namespace that is known, then every secret of that namespace may be read, and of no other', async () => {
    const storageClasses = [
      { name: 'a', secrets: { provisioner: { name: '${pvc.name}', namespace: 'keys' } } },
      { name: 'b', secrets: { provisioner: { name: 'fixed', namespace: 'keys' } } },
    ];
    const roles = ofKind(await renderWith({ storageClasses }), 'Role').filter(
      ({ metadata }) => metadata.name === 'test-csi-driver-secrets',
    );
    expect(roles.map(({ metadata, rules }) => [metadata.namespace, rules])).toEqual([
      ['keys', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]],
    ]);
  });

  it('given a template for the namespace of a secret, then only an explicit value grants all secrets, and the notes say so', async () => {
    const storageClasses = [{ name: 'a', secrets: { provisioner: { name: 'key', namespace: '${pvc.namespace}' } } }];
    expect(await refusalWith({ storageClasses })).toMatch(/rbac\.secrets\.clusterWide/);
    const values = { storageClasses, rbac: { secrets: { clusterWide: true } } };
    const role = one(await renderWith(values), 'ClusterRole', `${driverName}-secrets`);
    expect(role.rules).toEqual([{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]);
    expect(await notesWith(values)).toMatch(/may read every secret/);
  });

  it("given the nodes, then their account has no right, unless the driver's values name one", async () => {
    const bound = async (values: object): Promise<readonly string[]> =>
      (await renderWith(values))
        .filter(({ subjects = [] }) => subjects.some(({ name }) => name === 'test-csi-driver-node'))
        .map(({ metadata }) => metadata.name);
    expect(await bound({})).toEqual([]);
    const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }];
    expect(await bound({ driver: { node: { rbac: { rules } } } })).toEqual([`${driverName}-node-driver`]);
  });

  it('[packaging#45] given OpenShift, then a value binds the account of the nodes to the constraint privileged', async () => {
    expect(ofKind(await renderWith(), 'RoleBinding').map(({ roleRef }) => roleRef?.name)).not.toContain(
      'system:openshift:scc:privileged',
    );
    const objects = await renderWith({ openshift: { privilegedScc: true }, node: { namespaceOverride: 'nodes' } });
    const binding = one(objects, 'RoleBinding', 'test-csi-driver-scc-privileged');
    expect([binding.metadata.namespace, binding.roleRef?.name, binding.subjects]).toEqual([
      'nodes',
      'system:openshift:scc:privileged',
      [{ kind: 'ServiceAccount', name: 'test-csi-driver-node', namespace: 'nodes' }],
    ]);
  });

  it('given central capacity, then its role is in the namespace of the objects', async () => {
    const objects = await renderWith({ features: { capacity: true } });
    expect(one(objects, 'Role', 'test-csi-driver-capacity').rules?.flatMap(({ resources }) => resources)).toEqual([
      'csistoragecapacities',
      'pods',
      'replicasets',
    ]);
  });

  it('given mode distributed, then the account of the nodes may write capacity objects in its namespace, and watches no nodes', async () => {
    const objects = await renderWith({ ...distributed, node: { namespaceOverride: 'nodes' } });
    const role = one(objects, 'Role', 'test-csi-driver-capacity');
    expect([role.metadata.namespace, grants(role, 'csistoragecapacities.storage.k8s.io')]).toEqual([
      'nodes',
      ['list', 'watch', 'create', 'update', 'delete'],
    ]);
    const provisioner = one(objects, 'ClusterRole', `${driverName}-provisioner`);
    expect([grants(provisioner, 'nodes.'), grants(provisioner, 'csinodes.storage.k8s.io')]).toEqual([['get'], []]);
  });
});
