// SPDX-License-Identifier: Apache-2.0
/** Validation, defaults and normalisation by the server, as far as volumes depend on them. */
import assert from 'node:assert/strict';
import {
  csiNodes,
  events,
  leases,
  persistentVolumeClaims,
  persistentVolumes,
  secrets,
  storageClasses,
  volumeAttachments,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import { aClass, aLease, anAttachment, aSecret, aVolume, driverName } from './samples.ts';
import { invalidFields, refused } from './expectations.ts';
import type { ContractCheck } from './check.ts';

const dryRun = { dryRun: 'All' } as const;

export const validationChecks: readonly ContractCheck[] = [
  {
    name: 'a name must be a DNS subdomain',
    async run(client, env) {
      for (const name of ['Upper', 'under_score', '-dash', 'x'.repeat(254)]) {
        const call = client.create(volumeAttachments, anAttachment(name));
        assert.deepEqual(await invalidFields(call), ['metadata.name'], name);
      }
      const message =
        'StorageClass.storage.k8s.io "" is invalid: metadata.name: Required value: name or generateName is required';
      const nameless = client.create(storageClasses, { ...aClass(''), metadata: {} });
      await refused(nameless, { status: 422, reason: 'Invalid', message });
      assert.ok(env.namespace !== '');
    },
  },
  {
    name: 'labels and finalizers must be well formed',
    async run(client, env) {
      const secret = aSecret(env, env.name('labels-invalid'));
      const labels = { a: 'not valid!' };
      const labelled = client.create(secrets, { ...secret, metadata: { ...secret.metadata, labels } });
      assert.deepEqual(await invalidFields(labelled), ['metadata.labels']);
      const finalizers = ['unqualified'];
      const held = client.create(secrets, { ...secret, metadata: { ...secret.metadata, finalizers } });
      assert.deepEqual(await invalidFields(held), ['metadata.finalizers[0]']);
    },
  },
  {
    name: 'a volume needs a capacity, an access mode and exactly one source',
    async run(client, env) {
      const volume = aVolume(env.name('invalid-volume'));
      const { capacity: _capacity, ...noCapacity } = volume.spec ?? {};
      assert.deepEqual(await invalidFields(client.create(persistentVolumes, { ...volume, spec: noCapacity })), [
        'spec.capacity',
      ]);
      const { accessModes: _modes, ...noModes } = volume.spec ?? {};
      assert.deepEqual(await invalidFields(client.create(persistentVolumes, { ...volume, spec: noModes })), [
        'spec.accessModes',
      ]);
      const { csi: _csi, ...noSource } = volume.spec ?? {};
      assert.deepEqual(await invalidFields(client.create(persistentVolumes, { ...volume, spec: noSource })), ['spec']);
      const handleless = { ...volume.spec, csi: { driver: driverName, volumeHandle: '' } };
      const fields = await invalidFields(client.create(persistentVolumes, { ...volume, spec: handleless }));
      assert.deepEqual(fields, ['spec.csi.volumeHandle']);
    },
  },
  {
    name: 'the source and the mode of a volume are immutable',
    async run(client, env) {
      const name = env.name('immutable-volume');
      await client.create(persistentVolumes, aVolume(name));
      const target = { resource: persistentVolumes, ref: { name } };
      const handle = client.patch(target, { type: 'merge', body: { spec: { csi: { volumeHandle: 'other' } } } });
      assert.deepEqual(await invalidFields(handle), ['spec.persistentvolumesource']);
      const mode = client.patch(target, { type: 'merge', body: { spec: { volumeMode: 'Block' } } });
      assert.deepEqual(await invalidFields(mode), ['volumeMode']);
    },
  },
  {
    name: 'a volume gets its defaults and a canonical capacity',
    async run(client, env) {
      const volume = aVolume(env.name('canonical'));
      const capacities = {
        '1024Mi': '1Gi',
        '5000000000': '5G',
        '5368709120': '5368709120',
        '1.5Gi': '1536Mi',
        '0.5': '500m',
        '1e9': '1e9',
      };
      for (const [given, stored] of Object.entries(capacities)) {
        const spec = { ...volume.spec, capacity: { storage: given } };
        const created = await client.create(persistentVolumes, { ...volume, spec }, dryRun);
        const { capacity, persistentVolumeReclaimPolicy, volumeMode } = created.spec ?? {};
        assert.deepEqual(
          [capacity?.['storage'], persistentVolumeReclaimPolicy, volumeMode],
          [stored, 'Retain', 'Filesystem'],
        );
      }
      const spec = { ...volume.spec, capacity: { storage: '1 Gi' } } as typeof volume.spec;
      const malformed = client.create(persistentVolumes, { ...volume, spec } as typeof volume);
      await refused(malformed, {
        status: 400,
        reason: 'BadRequest',
        message: /quantities must match the regular expression/,
      });
    },
  },
  {
    name: 'a claim needs a size and may not change, but for its size once it is bound',
    async run(client, env) {
      const { namespace } = env;
      const claim = {
        metadata: { name: env.name('claim'), namespace },
        spec: { accessModes: ['ReadWriteOnce'], storageClassName: env.name('none'), resources: {} },
      };
      assert.deepEqual(await invalidFields(client.create(persistentVolumeClaims, claim)), ['spec.resources[storage]']);
      const sized = { ...claim, spec: { ...claim.spec, resources: { requests: { storage: '1Gi' } } } };
      const created = await client.create(persistentVolumeClaims, sized);
      assert.deepEqual([created.spec?.volumeMode, created.status], ['Filesystem', { phase: 'Pending' }]);
      const target = { resource: persistentVolumeClaims, ref: { namespace, name: claim.metadata.name } };
      const larger = { spec: { resources: { requests: { storage: '2Gi' } } } };
      const modes = { spec: { accessModes: ['ReadOnlyMany'] } };
      const message =
        /spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims/;
      for (const body of [larger, modes]) {
        await refused(client.patch(target, { type: 'merge', body }), { status: 422, reason: 'Invalid', message });
      }
    },
  },
  {
    name: 'a claim shows no empty list or map in its status, and gets an annotation with its status',
    async run(client, env) {
      const { namespace } = env;
      const metadata = { name: env.name('empty-status'), namespace };
      const resources = { requests: { storage: '1Gi' } };
      const spec = { accessModes: ['ReadWriteOnce'], storageClassName: env.name('none'), resources };
      await client.create(persistentVolumeClaims, { metadata, spec });
      const patch = async (body: object): Promise<unknown> => {
        const target = { resource: persistentVolumeClaims, ref: metadata };
        const patched = await client.patch(target, { type: 'strategic', body }, { subresource: 'status' });
        return [patched.metadata?.annotations, patched.status];
      };
      const condition = { type: 'Resizing', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
      const full = {
        conditions: [condition],
        allocatedResources: { storage: '2Gi' },
        allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
      };
      const filled = await patch({ metadata: { annotations: { a: '1' } }, status: full });
      const stored = { ...full, conditions: [{ ...condition, lastProbeTime: null }] };
      assert.deepEqual(filled, [{ a: '1' }, { phase: 'Pending', ...stored }]);
      const emptied = await patch({
        metadata: { annotations: { a: null } },
        status: {
          '$setElementOrder/conditions': [],
          conditions: [{ type: 'Resizing', $patch: 'delete' }],
          allocatedResources: { storage: null },
          allocatedResourceStatuses: { storage: null },
        },
      });
      assert.deepEqual(emptied, [undefined, { phase: 'Pending' }]);
    },
  },
  {
    name: 'dataSource and dataSourceRef of a claim mirror each other',
    async run(client, env) {
      const { namespace } = env;
      const source = { kind: 'PersistentVolumeClaim', name: 'other' };
      // The server spells the core group as null.
      const mirrored = { apiGroup: null, ...source };
      const spec = {
        accessModes: ['ReadWriteOnce'],
        storageClassName: env.name('none'),
        resources: { requests: { storage: '1Gi' } },
      };
      const metadata = { name: env.name('source'), namespace };
      const plain = await client.create(
        persistentVolumeClaims,
        { metadata, spec: { ...spec, dataSource: source } },
        dryRun,
      );
      assert.deepEqual([plain.spec?.dataSource, plain.spec?.dataSourceRef], [mirrored, mirrored]);
      const reference = await client.create(
        persistentVolumeClaims,
        { metadata, spec: { ...spec, dataSourceRef: source } },
        dryRun,
      );
      assert.deepEqual(reference.spec?.dataSource, mirrored);
    },
  },
  {
    name: 'what a class does is immutable',
    async run(client, env) {
      const name = env.name('immutable-class');
      const created = await client.create(storageClasses, { ...aClass(name), parameters: { a: '1' } });
      assert.deepEqual([created.reclaimPolicy, created.volumeBindingMode], ['Delete', 'Immediate']);
      const target = { resource: storageClasses, ref: { name } };
      const patch = (body: unknown): Promise<readonly (string | undefined)[]> =>
        invalidFields(client.patch(target, { type: 'merge', body }));
      assert.deepEqual(await patch({ parameters: { a: '2' } }), ['parameters']);
      assert.deepEqual(await patch({ provisioner: 'other' }), ['provisioner']);
      assert.deepEqual(await patch({ reclaimPolicy: 'Retain' }), ['reclaimPolicy']);
      assert.deepEqual(await patch({ volumeBindingMode: 'WaitForFirstConsumer' }), ['volumeBindingMode']);
      await client.patch(target, { type: 'merge', body: { allowVolumeExpansion: true } });
    },
  },
  {
    name: 'the parameters of an attributes class are immutable',
    async run(client, env) {
      const name = env.name('attributes');
      await client.create(volumeAttributesClasses, { metadata: { name }, driverName, parameters: { a: '1' } });
      const target = { resource: volumeAttributesClasses, ref: { name } };
      const change = client.patch(target, { type: 'merge', body: { parameters: { a: '2' } } });
      assert.deepEqual(await invalidFields(change), ['parameters']);
    },
  },
  {
    name: 'the spec of an attachment is immutable and names exactly one volume',
    async run(client, env) {
      const name = env.name('immutable-attachment');
      await client.create(volumeAttachments, anAttachment(name));
      const target = { resource: volumeAttachments, ref: { name } };
      const moved = client.patch(target, { type: 'merge', body: { spec: { nodeName: 'other' } } });
      assert.deepEqual(await invalidFields(moved), ['spec']);
      const nothing = { ...anAttachment(name), spec: { attacher: driverName, nodeName: 'n', source: {} } };
      assert.deepEqual(await invalidFields(client.create(volumeAttachments, nothing)), ['spec.source']);
    },
  },
  {
    name: 'a driver registered in a CSINode keeps its node id, its limit may change',
    async run(client, env) {
      const name = env.name('csi-node');
      const driver = { name: driverName, nodeID: 'one', topologyKeys: ['example.com/zone'] };
      await client.create(csiNodes, { metadata: { name }, spec: { drivers: [driver] } });
      const target = { resource: csiNodes, ref: { name } };
      const patch = (change: object) =>
        client.patch(target, { type: 'strategic', body: { spec: { drivers: [{ ...driver, ...change }] } } });
      assert.deepEqual(await invalidFields(patch({ nodeID: 'two' })), ['spec.drivers']);
      const limited = await patch({ allocatable: { count: 5 } });
      assert.deepEqual(limited.spec.drivers, [{ ...driver, allocatable: { count: 5 } }]);
    },
  },
  {
    name: 'a lease takes MicroTime with exactly six digits',
    async run(client, env) {
      const lease = aLease(env, env.name('micro-time'));
      for (const renewTime of ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.123Z', '2026-01-01T00:00:00.123456789Z']) {
        const call = client.create(leases, { ...lease, spec: { ...lease.spec, renewTime } });
        const message = /^Lease in version "v1" cannot be handled as a Lease: parsing time "/;
        await refused(call, { status: 400, reason: 'BadRequest', message });
      }
      const renewTime = '2026-01-01T00:00:00.123456Z';
      const created = await client.create(leases, { ...lease, spec: { ...lease.spec, renewTime } });
      assert.equal(created.spec?.renewTime, renewTime);
      const duration = client.update(leases, { ...created, spec: { ...created.spec, leaseDurationSeconds: 0 } });
      assert.deepEqual(await invalidFields(duration), ['spec.leaseDurationSeconds']);
    },
  },
  {
    name: 'an event of the core group belongs to the namespace of its object',
    async run(client, env) {
      const { namespace } = env;
      const name = env.name('event-namespace');
      const involvedObject = { kind: 'Secret', apiVersion: 'v1', namespace: 'elsewhere', name: 'x' };
      const event = { metadata: { name, namespace }, involvedObject, reason: 'Tested', type: 'Normal' };
      assert.deepEqual(await invalidFields(client.create(events, event)), ['involvedObject.namespace']);
    },
  },
];
