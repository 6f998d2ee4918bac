// SPDX-License-Identifier: Apache-2.0
/** csi-attacher and csi-provisioner in one process, at the end of a PersistentVolume that has the finalizers of both. */
import { csiError, type Handlers } from '@csi-sidecars/csi/testing';
import {
  type KubeObject,
  type Lease,
  leases,
  type PersistentVolume,
  persistentVolumes,
  type Transport,
  type VolumeAttachment,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { settle } from '@csi-sidecars/runtime/testing';
import type { DrivenProgram } from '@csi-sidecars/sidecar/testing';
import { describe, expect, it } from 'vitest';
import { type AllOptions, attaching, driverName, growing, runCombined } from '../../testing/run-all.ts';

const ofAttacher = 'external-attacher/test-csi-example-com';
const ofProvisioner = 'external-provisioner.volume.kubernetes.io/finalizer';
const both = '--controllers=attacher,provisioner';
const name = 'pv1';
const [, bound] = growing() as [never, PersistentVolume];
const [node, attachment] = attaching() as [KubeObject, VolumeAttachment];

const aVolume = (facts: Partial<NonNullable<PersistentVolume['metadata']>> = {}): PersistentVolume => ({
  ...bound,
  metadata: {
    ...bound.metadata,
    annotations: { 'pv.kubernetes.io/provisioned-by': driverName },
    finalizers: [ofAttacher, ofProvisioner],
    ...facts,
  },
  spec: { ...bound.spec, persistentVolumeReclaimPolicy: 'Delete' },
});

interface Written {
  readonly metadata?: { readonly '$deleteFromPrimitiveList/finalizers'?: readonly string[] };
}
/** What was written to PersistentVolumes: `delete`, or the finalizers that a patch takes off. */
const writes = ({ host: { server } }: DrivenProgram): readonly unknown[] =>
  server
    .writes()
    .filter(({ resource }) => resource === 'persistentvolumes')
    .map(({ verb, body }) => (body as Written).metadata?.['$deleteFromPrimitiveList/finalizers'] ?? verb);
const finalizers = ({ host: { server } }: DrivenProgram): readonly string[] | undefined =>
  server.objects.get(persistentVolumes, { name })?.metadata?.finalizers;

async function pass(program: DrivenProgram, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await program.host.clock.advance(1_000);
    for (let turn = 0; turn < 5; turn += 1) await settle();
  }
}

interface Started {
  readonly args?: readonly string[];
  readonly seed?: readonly KubeObject[];
  /** The controllers that work. */
  readonly working?: number;
  readonly deleting?: Handlers['/csi.v1.Controller/DeleteVolume'];
  readonly intercept?: NonNullable<AllOptions['intercept']>;
}
/** There is a bound volume. */
async function start({ seed = [], working = 2, deleting = () => ({}), ...options }: Started = {}) {
  const handlers: Handlers = { '/csi.v1.Controller/DeleteVolume': deleting };
  const program = await runCombined({ args: [both], ...options, seed: [aVolume(), ...seed], handlers });
  const synced = () => program.host.logged().split('Caches are synced').length - 1;
  const advanced = async (): Promise<number> => {
    await pass(program, 1);
    return synced();
  };
  await expect.poll(advanced, { timeout: 10_000 }).toBe(working);
  return program;
}
async function change(program: DrivenProgram, how: (volume: PersistentVolume) => PersistentVolume): Promise<void> {
  program.host.server.objects.change(persistentVolumes, { name }, how);
  await pass(program, 1);
}
const release = (program: DrivenProgram): Promise<void> =>
  change(program, (volume) => ({ ...volume, status: { phase: 'Released' } }));

const electing = ['--leader-election', '--leader-election-namespace=ns'];
const heldByAnother = (lease: string): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { namespace: 'ns', name: lease },
  spec: { holderIdentity: 'another', leaseDurationSeconds: 3_600 },
});
const leaseOf = {
  attacher: 'external-attacher-leader-test-csi-example-com',
  provisioner: 'test-csi-example-com',
} as const;

describe('the patch of csi-provisioner', () => {
  it.each([
    { args: [both], leading: 'without leases' },
    { args: [both, ...electing], leading: 'with both leases' },
  ])(
    '[all-in-one#29] given both controllers $leading, when a released volume is deleted, then one patch takes both finalizers off, and csi-attacher sends none',
    async ({ args }) => {
      await using program = await start({ args });
      await release(program);
      await expect.poll(() => writes(program)).toEqual(['delete', [ofProvisioner, ofAttacher]]);
      await pass(program, 70);
      expect(writes(program)).toHaveLength(2);
      expect(program.host.server.objects.list(persistentVolumes)).toEqual([]);
      expect(program.host.logged()).not.toContain('Reconcile failed');
    },
  );

  it('[all-in-one#30] given a VolumeAttachment that is made while DeleteVolume runs, then the patch leaves the finalizer of csi-attacher, which goes after the attachment', async () => {
    const called = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<Record<string, never>>();
    const program = await start({
      deleting: () => {
        called.resolve();
        return answer.promise;
      },
    });
    await using _ = program;
    await release(program);
    await called.promise;
    program.host.server.seed(attachment);
    await settle();
    answer.resolve({});
    await expect.poll(() => writes(program).length).toBe(2);
    await pass(program, 70);
    expect([writes(program), finalizers(program)]).toEqual([['delete', [ofProvisioner]], [ofAttacher]]);
    program.host.server.objects.remove(volumeAttachments, { name: 'va1' });
    await pass(program, 1);
    expect(writes(program).slice(2)).toEqual([[ofAttacher]]);
    expect(program.calls()).not.toContain('ControllerPublishVolume');
  });

  it('[all-in-one#35] given a late watch, when a VolumeAttachment is made after the patch was decided, then its run finds the deletion, and the driver is not called', async () => {
    let isSilent = false;
    const sent = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    async function* untilSilent(body: AsyncIterable<Uint8Array>) {
      for await (const chunk of body) if (!isSilent) yield chunk;
    }
    const intercept =
      (transport: Transport): Transport =>
      async (request) => {
        const isOfVolumes = request.path.includes('/persistentvolumes');
        if (isOfVolumes && request.method === 'PATCH') {
          sent.resolve();
          await answered.promise;
        }
        const answer = await transport(request);
        return isOfVolumes && request.path.includes('watch=') ? { ...answer, body: untilSilent(answer.body) } : answer;
      };
    await using program = await start({
      intercept,
      seed: [node],
      deleting: () => {
        isSilent = true;
        return {};
      },
    });
    await release(program);
    await sent.promise;
    program.host.server.seed(attachment);
    const failure = () => program.host.server.objects.get(volumeAttachments, { name: 'va1' })?.status?.attachError;
    await expect
      .poll(async () => {
        await pass(program, 1);
        return failure()?.message;
      })
      .toContain('is marked for deletion');
    answered.resolve();
    await pass(program, 70);
    expect(writes(program)).toEqual(['delete', [ofProvisioner, ofAttacher]]);
    expect(program.calls()).not.toContain('ControllerPublishVolume');
  });

  it.each([
    { given: 'csi-attacher is not enabled', args: ['--controllers=provisioner'] },
    {
      given: 'csi-attacher leads in another process',
      args: [both, ...electing],
      seed: [heldByAnother(leaseOf.attacher)],
    },
  ])(
    '[all-in-one#31] given $given, then the patch takes the finalizer of csi-provisioner off and no other',
    async (options) => {
      await using program = await start({ ...options, working: 1 });
      await release(program);
      await expect.poll(() => writes(program).length).toBe(2);
      await pass(program, 70);
      expect([writes(program), finalizers(program)]).toEqual([['delete', [ofProvisioner]], [ofAttacher]]);
    },
  );

  it('[all-in-one#31] given the lease of csi-attacher is lost while DeleteVolume runs, then the patch leaves its finalizer', async () => {
    const answer = Promise.withResolvers<Record<string, never>>();
    const program = await start({ args: [both, ...electing], deleting: () => answer.promise });
    await using _ = program;
    await release(program);
    program.host.server.objects.change(leases, { namespace: 'ns', name: leaseOf.attacher }, (lease) => ({
      ...lease,
      spec: { ...lease.spec, holderIdentity: 'another', leaseDurationSeconds: 3_600 },
    }));
    await pass(program, 8);
    answer.resolve({});
    await expect.poll(() => writes(program)).toEqual(['delete', [ofProvisioner]]);
    expect(finalizers(program)).toEqual([ofAttacher]);
  });
});

describe('the wait of csi-attacher', () => {
  /** By a user. A second passes. */
  async function deleteObject(program: DrivenProgram): Promise<void> {
    const deletionTimestamp = new Date(program.host.clock.nowMs()).toISOString().replace('.000Z', 'Z');
    await change(program, ({ metadata, ...volume }) => ({ ...volume, metadata: { ...metadata, deletionTimestamp } }));
  }

  it('[all-in-one#32] given a bound volume that a user deletes, then csi-attacher takes its finalizer off 30 s later', async () => {
    await using program = await start();
    await deleteObject(program);
    await pass(program, 28);
    expect(writes(program)).toEqual([]);
    await pass(program, 2);
    expect([writes(program), finalizers(program)]).toEqual([[[ofAttacher]], [ofProvisioner]]);
  });

  it('[all-in-one#32] given a driver that cannot delete the volume, when a user deletes the object, then csi-attacher takes its finalizer off 30 s later', async () => {
    await using program = await start({ deleting: () => csiError('Internal', 'no') });
    await release(program);
    await deleteObject(program);
    await pass(program, 30);
    expect([writes(program), finalizers(program)]).toEqual([[[ofAttacher]], [ofProvisioner]]);
  });

  it('[all-in-one#33] given a volume that waits, when others take the finalizer of csi-provisioner off, then csi-attacher follows at once', async () => {
    await using program = await start();
    await deleteObject(program);
    await change(program, ({ metadata, ...volume }) => ({
      ...volume,
      metadata: { ...metadata, finalizers: [ofAttacher] },
    }));
    expect([writes(program), finalizers(program)]).toEqual([[[ofAttacher]], undefined]);
  });

  it.each([
    { given: 'csi-provisioner is not enabled', args: ['--controllers=attacher'] },
    {
      given: 'csi-provisioner leads in another process',
      args: [both, ...electing],
      seed: [heldByAnother(leaseOf.provisioner)],
    },
  ])('[all-in-one#34] given $given, then csi-attacher does not wait', async (options) => {
    await using program = await start({ ...options, working: 1 });
    await deleteObject(program);
    expect([writes(program), finalizers(program)]).toEqual([[[ofAttacher]], [ofProvisioner]]);
  });
});
