// SPDX-License-Identifier: Apache-2.0
/** The volume loop against an API server and a driver: finalizers, deletion, secrets, attachments. */
import { type KubeObject, type PersistentVolume, persistentVolumes, volumeAttachments } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClass, aSecret, aVolume, driverName, type VolumeFacts } from '../../testing/builders.ts';
import { aProvisioner, type Fixture, type FixtureOptions } from '../../testing/provisioner-fixture.ts';
import { annotations, volumeFinalizer } from '../names.ts';

const name = 'pvc-uid-data';
const call = `DeleteVolume handle-of-${name} OK`;
const remove = `delete persistentvolumes ${name} 200`;
const patch = `patch persistentvolumes ${name} 200`;
const ours = { [annotations.provisionedBy]: driverName };
const failures = 'controller_persistentvolume_delete_failed_total';
const successes = 'controller_persistentvolume_delete_total';
const labels = { class: 'fast' };
const attachable = ['CREATE_DELETE_VOLUME', 'PUBLISH_UNPUBLISH_VOLUME'] as const;

async function withVolume(volume: VolumeFacts = {}, options: FixtureOptions = {}): Promise<Fixture> {
  return await aProvisioner({ ...options, seed: [...(options.seed ?? []), aVolume(volume)] });
}
const trace = (p: Fixture): unknown => ({ calls: p.calls(), writes: p.writes(), events: p.events });
const untouched = { calls: [], writes: [], events: [] };
const deleted = { calls: [call], writes: [remove, patch], events: [] };
const finalizers = (p: Fixture): unknown => p.volume()?.metadata?.finalizers;
const onlyOurs = { finalizers: [volumeFinalizer] };

function changeVolume(p: Fixture, change: (volume: PersistentVolume) => PersistentVolume): void {
  p.server.objects.change(persistentVolumes, { name }, change);
}
function release(p: Fixture): void {
  changeVolume(p, (volume) => ({ ...volume, status: { phase: 'Released' } }));
}
function anAttachment(
  attachment: string,
  volume: string,
  status: { attached: boolean } = { attached: true },
): KubeObject {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: attachment },
    spec: { attacher: driverName, nodeName: 'n1', source: { persistentVolumeName: volume } },
    status,
  } as KubeObject;
}

describe('which volumes are deleted', () => {
  it('[provisioner#178] given Released, Delete and ours, when synced, then deleted, with two requests; foreign ones are untouched', async () => {
    const p = await withVolume(onlyOurs);
    expect([trace(p), p.volume()]).toEqual([deleted, undefined]);
    expect(p.metrics.value(successes, labels)).toBe(1);
    expect(trace(await withVolume({ annotations: { [annotations.provisionedBy]: 'other' } }))).toEqual(untouched);
  });

  it.each([{ phase: 'Bound' }, { phase: 'Failed' }, { policy: 'Retain', finalizers: [] }])(
    '[provisioner#179] given %j, when synced, then not deleted',
    async (facts) => {
      expect(trace(await withVolume(facts))).toEqual(untouched);
    },
  );

  it('[provisioner#180] given it is being deleted without our finalizer, when synced, then neither deleted nor given the finalizer', async () => {
    expect(trace(await withVolume({ deleting: 'yes', finalizers: ['example.com/x'] }))).toEqual(untouched);
  });

  it('[provisioner#181] given our finalizer, when released, then deleted, whether the user deleted it before or not', async () => {
    expect(trace(await withVolume({ ...onlyOurs, deleting: 'yes' }))).toEqual(deleted);
    const p = await withVolume(onlyOurs);
    expect([trace(p), p.volume()]).toEqual([deleted, undefined]);
  });

  it('[provisioner#182] given DeleteVolume fails, when synced, then the volume stays, with an event, a count and a retry', async () => {
    const p = await aProvisioner();
    p.driver.faults.add({ method: 'DeleteVolume', times: 1, action: { kind: 'fail', code: 'Internal' } });
    p.server.seed(aVolume(onlyOurs));
    await p.settle();
    expect([p.writes(), p.metrics.value(failures, labels)]).toEqual([[], 1]);
    expect(p.events).toEqual([
      `Warning VolumeFailedDelete ${name}: rpc error: code = Internal desc = fault rule: Internal`,
    ]);
    await p.clock.advance(1200);
    expect(p.volume()).toBeUndefined();
  });

  it('[provisioner#183] given the API delete fails, when retried, then DeleteVolume is repeated', async () => {
    const p = await aProvisioner();
    p.faults.push({
      when: ({ verb }) => verb === 'delete',
      fault: { kind: 'status', point: 'before', code: 500, reason: 'InternalError' },
    });
    p.server.seed(aVolume(onlyOurs));
    await p.settle();
    expect([p.writes(), p.events]).toEqual([[], []]);
    await p.clock.advance(1200);
    expect(p.calls()).toEqual([call, call]);
    expect(p.volume()).toBeUndefined();
  });

  it('given another object of that name was created meanwhile, when deleted, then only ours is deleted', async () => {
    const p = await aProvisioner();
    p.driver.faults.add({ method: 'DeleteVolume', at: 'after', action: { kind: 'delay', ms: 1000 } });
    p.server.seed(aVolume(onlyOurs));
    await p.settle();
    p.server.objects.remove(persistentVolumes, { name });
    p.server.seed({ ...aVolume({ phase: 'Bound' }), metadata: { name, uid: 'another' } });
    await p.clock.advance(1000);
    expect([p.writes()[0], p.volume()?.metadata?.uid]).toEqual([`delete persistentvolumes ${name} 409`, 'another']);
  });

  it('given a conflict on the DELETE of the same object, when deleted, then it is retried with the backoff', async () => {
    const p = await aProvisioner();
    const fault = { kind: 'status', point: 'before', code: 409, reason: 'Conflict' } as const;
    p.faults.push({ when: ({ verb }) => verb === 'delete', fault });
    p.server.seed(aVolume(onlyOurs));
    await p.settle();
    expect([p.writes(), p.volume()?.status?.phase]).toEqual([[], 'Released']);
    await p.clock.advance(1200);
    expect([p.volume(), p.driver.volumes()]).toEqual([undefined, []]);
  });

  it('given the policy becomes Retain while the secret is read, before the call, then the volume is kept', async () => {
    const p = await aProvisioner();
    p.faults.push({ when: ({ resource }) => resource === 'secrets', fault: { kind: 'delay', ms: 1000 } });
    const secret = { [annotations.deletionSecretName]: 's', [annotations.deletionSecretNamespace]: 'ns' };
    p.server.seed(aVolume({ annotations: { ...ours, ...secret } }));
    await p.settle();
    changeVolume(p, (volume) => ({ ...volume, spec: { ...volume.spec, persistentVolumeReclaimPolicy: 'Retain' } }));
    await p.clock.advance(1000);
    await p.settle();
    expect([p.calls(), finalizers(p)]).toEqual([[], ['kubernetes.io/pv-protection']]);
  });

  it('[provisioner#187] given the policy becomes Delete while released, when synced, then deleted', async () => {
    const p = await withVolume({ policy: 'Retain', finalizers: [] });
    changeVolume(p, (volume) => ({ ...volume, spec: { ...volume.spec, persistentVolumeReclaimPolicy: 'Delete' } }));
    await p.settle();
    expect([p.calls(), p.volume()]).toEqual([[call], undefined]);
  });

  it('[provisioner#188] given the user deletes a bound volume, then its claim, when released, then it waits and is deleted', async () => {
    const p = await withVolume({ ...onlyOurs, phase: 'Bound', deleting: 'yes' });
    expect(trace(p)).toEqual(untouched);
    release(p);
    await p.settle();
    expect([p.calls(), p.volume()]).toEqual([[call], undefined]);
  });

  it('[provisioner#189] given the policy becomes Retain before that, when synced, then the finalizer is removed and the volume is kept', async () => {
    const p = await withVolume({ ...onlyOurs, phase: 'Bound', deleting: 'yes' });
    changeVolume(p, (volume) => ({ ...volume, spec: { ...volume.spec, persistentVolumeReclaimPolicy: 'Retain' } }));
    await p.settle();
    expect([p.calls(), p.writes()]).toEqual([[], [patch]]);
  });

  it('[provisioner#190] given the object is gone when the finalizer is removed, when synced, then that is success', async () => {
    const p = await aProvisioner();
    p.faults.push({
      when: ({ verb }) => verb === 'patch',
      fault: { kind: 'status', point: 'after', code: 404, reason: 'NotFound' },
    });
    p.server.seed(aVolume(onlyOurs));
    await p.settle();
    await p.clock.advance(60_000);
    expect([p.calls(), p.metrics.value(successes, labels)]).toEqual([[call], 1]);
  });

  it('given the finalizer cannot be removed, when retried, then it is removed, and no volume is left', async () => {
    const p = await aProvisioner();
    p.faults.push({
      when: ({ verb }) => verb === 'patch',
      fault: { kind: 'status', point: 'before', code: 500, reason: 'InternalError' },
    });
    p.server.seed(aVolume());
    await p.clock.advance(1200);
    expect([p.calls().length, finalizers(p)]).toEqual([2, ['kubernetes.io/pv-protection']]);
  });
});

describe('the finalizer', () => {
  it('[provisioner#184] given a static volume of our driver, when bound, then it gets the finalizer, once', async () => {
    const p = await withVolume({ annotations: {}, phase: 'Bound', finalizers: ['example.com/x'] });
    expect([p.writes(), finalizers(p)]).toEqual([[patch], ['example.com/x', volumeFinalizer]]);
    await p.clock.advance(16 * 60_000);
    expect(p.writes()).toEqual([patch]);
  });

  it.each(['Retain', 'Recycle'])(
    '[provisioner#186] given %s and the finalizer, when synced, then the finalizer is removed',
    async (policy) => {
      const p = await withVolume({ policy, phase: 'Bound' });
      expect([p.writes(), finalizers(p)]).toEqual([[patch], ['kubernetes.io/pv-protection']]);
    },
  );

  it('[provisioner#191] given other finalizers beside ours, when ours is removed, then the others stay, including those not in the cache', async () => {
    const p = await aProvisioner();
    p.driver.faults.add({ method: 'DeleteVolume', action: { kind: 'delay', ms: 1000 } });
    p.server.seed(aVolume({ finalizers: ['example.com/x', volumeFinalizer] }));
    await p.settle();
    changeVolume(p, (volume) => ({
      ...volume,
      metadata: { ...volume.metadata, finalizers: ['example.com/x', volumeFinalizer, 'example.com/new'] },
    }));
    await p.clock.advance(1000);
    await p.settle();
    expect(finalizers(p)).toEqual(['example.com/x', 'example.com/new']);
    expect(finalizers(await withVolume({ ...onlyOurs, policy: 'Retain', phase: 'Bound' })) ?? []).toEqual([]);
  });

  it('[provisioner#192] given a new volume, when not bound yet, then it is not changed', async () => {
    for (const phase of ['Available', 'Pending']) {
      expect(trace(await withVolume({ phase, finalizers: [] }))).toEqual(untouched);
    }
  });
});

describe('what cannot be deleted', () => {
  it('[provisioner#193] given a volume that is not CSI, when released, then an event is written', async () => {
    const p = await withVolume({ spec: { csi: undefined as never, hostPath: { path: '/x' } } });
    expect([p.calls(), p.events]).toEqual([[], [`Warning VolumeFailedDelete ${name}: invalid CSI PV`]]);
  });

  it('[provisioner#194,195] given an attachment of another volume, or a driver that does not attach, when released, then deleted', async () => {
    const other = [anAttachment('va', 'pvc-other')];
    expect(trace(await withVolume(onlyOurs, { controller: attachable, seed: other }))).toEqual(deleted);
    const same = [anAttachment('va', name)];
    expect(trace(await withVolume(onlyOurs, { controller: ['CREATE_DELETE_VOLUME'], seed: same }))).toEqual(deleted);
  });
});

describe('deletion secrets', () => {
  const secret = aSecret();
  const annotated = { ...ours, [annotations.deletionSecretName]: 's', [annotations.deletionSecretNamespace]: 'ns' };
  const configured = (secretName: string): KubeObject =>
    aClass({
      parameters: {
        'csi.storage.k8s.io/provisioner-secret-name': secretName,
        'csi.storage.k8s.io/provisioner-secret-namespace': 'ns',
      },
    });
  const sent = async (facts: VolumeFacts['annotations'], seed: readonly KubeObject[]): Promise<unknown> => {
    const p = await withVolume({ ...onlyOurs, ...(facts === undefined ? {} : { annotations: facts }) }, { seed });
    return p.requests('DeleteVolume').map(({ secrets }) => secrets);
  };

  it('[provisioner#196] given empty annotations, when deleted, then without secrets, whatever the class names', async () => {
    expect([await sent(undefined, []), await sent(undefined, [configured('s'), secret])]).toEqual([[{}], [{}]]);
  });

  it('[provisioner#197] given an annotated secret, when deleted, then it is sent, whatever happened to the class', async () => {
    const value = [{ key: 'value' }];
    expect(await sent(annotated, [secret])).toEqual(value);
    expect(await sent(annotated, [secret, configured('s')])).toEqual(value);
    expect(await sent(annotated, [secret, configured('changed')])).toEqual(value);
  });

  it('[provisioner#198] given the annotated secret is missing, when deleted, then no secret is sent, and that is logged', async () => {
    const p = await withVolume({ ...onlyOurs, annotations: annotated });
    expect([p.requests('DeleteVolume'), p.volume()]).toEqual([[expect.objectContaining({ secrets: {} })], undefined]);
    expect(p.logger.messages()).toContain('Deleting a volume without its secret');
  });

  it('[provisioner#199,204] given no annotations or only one, when deleted, then the secret of the class, found by annotation or field', async () => {
    const value = [{ key: 'value' }];
    expect(await sent(ours, [configured('s'), secret])).toEqual(value);
    const byAnnotation = { ...ours, [annotations.betaStorageClass]: 'named' };
    const named = { ...configured('s'), metadata: { name: 'named', uid: 'class-2' } };
    expect(await sent(byAnnotation, [configured('absent'), named, secret])).toEqual(value);
    expect(await sent({ ...ours, [annotations.deletionSecretName]: 'x' }, [configured('s'), secret])).toEqual(value);
  });

  it('[provisioner#200] given no annotations and a class that cannot be resolved, when released, then it fails and is retried', async () => {
    for (const broken of ['', "${pvc.annotations['k']}"]) {
      const p = await withVolume({ ...onlyOurs, annotations: ours }, { seed: [configured(broken)] });
      expect([p.calls(), p.writes(), p.events.length]).toEqual([[], [], 1]);
      await p.clock.advance(1200);
      expect(p.events).toHaveLength(2);
    }
  });

  it('[provisioner#201] given no annotations and no claim, when deleted, then without secrets', async () => {
    const facts = { ...onlyOurs, annotations: ours, spec: { claimRef: undefined as never } };
    const p = await withVolume(facts, { seed: [configured('s'), secret] });
    expect(p.requests('DeleteVolume').map(({ secrets }) => secrets)).toEqual([{}]);
  });
});

describe('postponed deletion', () => {
  const postponed = `Normal VolumeDelete ${name}: persistentvolume ${name} is still attached to node n1, waiting for detach`;

  it.each([
    ['attached', anAttachment('va', name)],
    ['not attached', anAttachment('va', name, { attached: false })],
    [
      'deleting',
      {
        ...anAttachment('va', name),
        metadata: { name: 'va', finalizers: ['example.com/x'], deletionTimestamp: '2026-01-01T00:00:00Z' },
      },
    ],
  ] as [string, KubeObject][])(
    '[provisioner#194,215] given an attachment that is %s, when released, then postponed with a Normal event and the ordinary backoff',
    async (_state, attachment) => {
      const p = await withVolume({}, { controller: attachable, seed: [attachment] });
      expect(trace(p)).toEqual({ calls: [], writes: [], events: [postponed] });
      await p.clock.advance(1200);
      expect(p.events).toEqual([postponed, postponed]);
      expect([p.volume()?.status?.phase, finalizers(p)]).toEqual([
        'Released',
        ['kubernetes.io/pv-protection', volumeFinalizer],
      ]);
    },
  );

  it('[provisioner#216] given the attachment vanishes, then the volume is deleted at once, without any Warning', async () => {
    const p = await withVolume(onlyOurs, { controller: attachable, seed: [anAttachment('va', name)] });
    await p.clock.advance(100_000);
    p.server.objects.remove(volumeAttachments, { name: 'va' });
    await p.settle();
    expect([p.calls(), p.volume()]).toEqual([[call], undefined]);
    expect(p.events.filter((event) => event.startsWith('Warning'))).toEqual([]);
  });

  it('[provisioner#217] given DeleteVolume fails after a postponement, when retried, then the backoff continues from there', async () => {
    const p = await withVolume(onlyOurs, { controller: attachable, seed: [anAttachment('va', name)] });
    await p.clock.advance(4000);
    p.driver.faults.add({ method: 'DeleteVolume', times: 1, action: { kind: 'fail', code: 'Internal' } });
    p.server.objects.remove(volumeAttachments, { name: 'va' });
    await p.settle();
    expect(p.events.at(-1)).toMatch(/^Warning VolumeFailedDelete/);
    // Three postponements and this failure: 8 s, and up to a tenth more. The 4 s of the last postponement no longer matter.
    await p.clock.advance(7_900);
    expect(p.calls()).toHaveLength(1);
    await p.clock.advance(1_000);
    expect(p.calls()).toHaveLength(2);
    expect(p.volume()).toBeUndefined();
  });

  it('[provisioner#218] given the secrets cannot be resolved either, when released, then that error comes first, as a Warning', async () => {
    const half = aClass({ parameters: { 'csi.storage.k8s.io/provisioner-secret-name': 's' } });
    const p = await withVolume(
      { annotations: ours },
      { controller: attachable, seed: [half, anAttachment('va', name)] },
    );
    expect(p.events).toEqual([expect.stringMatching(/^Warning VolumeFailedDelete .*Both must be specified$/)]);
  });

  it('[provisioner#220] given two attachments, when released, then one event that names one of the nodes', async () => {
    const seed = [anAttachment('va1', name), anAttachment('va2', name)];
    const p = await withVolume({}, { controller: attachable, seed });
    expect(p.events).toEqual([postponed]);
  });

  it('[provisioner#221] given a driver that does not attach and refuses while in use, when released, then a Warning', async () => {
    const p = await aProvisioner();
    p.driver.faults.add({ method: 'DeleteVolume', action: { kind: 'fail', code: 'FailedPrecondition' } });
    p.server.seed(aVolume());
    await p.settle();
    expect(p.events).toEqual([expect.stringMatching(/^Warning VolumeFailedDelete .*FailedPrecondition/)]);
  });
});
