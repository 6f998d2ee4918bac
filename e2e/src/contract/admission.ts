// SPDX-License-Identifier: Apache-2.0
/** Admission: fields that the server adds, and requests that it refuses, depending on the state of the cluster. */
import assert from 'node:assert/strict';
import { namespaces, persistentVolumeClaims, persistentVolumes, secrets, storageClasses } from '@csi-sidecars/runtime';
import { aClass, aVolume } from './samples.ts';
import { refused } from './expectations.ts';
import type { ContractCheck } from './check.ts';

const dryRun = { dryRun: 'All' } as const;

export const admissionChecks: readonly ContractCheck[] = [
  {
    name: 'new volumes and claims carry their protection finalizer',
    async run(client, env) {
      const volume = await client.create(persistentVolumes, aVolume(env.name('protected')), dryRun);
      assert.deepEqual(volume.metadata?.finalizers, ['kubernetes.io/pv-protection']);
      const metadata = { name: env.name('protected'), namespace: env.namespace };
      const resources = { requests: { storage: '1Gi' } };
      const spec = { accessModes: ['ReadWriteOnce'], storageClassName: env.name('none'), resources };
      const claim = await client.create(persistentVolumeClaims, { metadata, spec }, dryRun);
      assert.deepEqual(claim.metadata?.finalizers, ['kubernetes.io/pvc-protection']);
    },
  },
  {
    name: 'a claim that names no class gets the default one, a claim that names none explicitly does not',
    async run(client, env) {
      const name = env.name('default');
      const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
      await client.create(storageClasses, { ...aClass(name), metadata: { name, annotations } });
      const metadata = { name: env.name('defaulted'), namespace: env.namespace };
      const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
      const createClassed = () => client.create(persistentVolumeClaims, { metadata, spec }, dryRun);
      let classed = await createClassed();
      // An API server reads classes from a cache, which may be behind the answer to their creation.
      for (let tries = 1; tries < 50 && classed.spec?.storageClassName === undefined; tries += 1) {
        await env.pass(100);
        classed = await createClassed();
      }
      const none = { metadata, spec: { ...spec, storageClassName: '' } };
      const classless = await client.create(persistentVolumeClaims, none, dryRun);
      await client.delete(storageClasses, { name });
      assert.deepEqual([classed.spec?.storageClassName, classless.spec?.storageClassName], [name, '']);
    },
  },
  {
    name: 'nothing is created in a namespace that is absent or ends',
    async run(client, env) {
      const namespace = env.name('ending');
      const create = (name: string, finalizers: readonly string[] = []) =>
        client.create(secrets, { metadata: { name, namespace, finalizers } });
      const message = `namespaces "${namespace}" not found`;
      await refused(create('early'), { status: 404, reason: 'NotFound', message });
      const made = await client.create(namespaces, { metadata: { name: namespace } });
      assert.equal(made.metadata?.labels?.['kubernetes.io/metadata.name'], namespace);
      await create('held', ['contract.example.com/hold']);
      await client.delete(namespaces, { name: namespace });
      assert.equal((await client.get(namespaces, { name: namespace })).status?.phase, 'Terminating');
      const late = await refused(create('late'), {
        status: 403,
        reason: 'Forbidden',
        message: `secrets "late" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
      });
      assert.deepEqual(late.details?.causes, [
        {
          reason: 'NamespaceTerminating',
          message: `namespace ${namespace} is being terminated`,
          field: 'metadata.namespace',
        },
      ]);
      const target = { resource: secrets, ref: { namespace, name: 'held' } };
      await client.patch(target, { type: 'merge', body: { metadata: { finalizers: null } } });
    },
  },
];
