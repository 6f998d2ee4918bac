// SPDX-License-Identifier: Apache-2.0
/** The modification loop as it runs: claims in, writes, calls and events out. */
import { type KubeObject, volumeAttributesClasses } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aCondition, aVolume, type ClaimOptions } from '../../testing/builders.ts';
import { aResizer, type Fixture } from '../../testing/resizer-fixture.ts';
import { annotations } from '../names.ts';

const marked = 'patch persistentvolumeclaims/status team/data 200';
const volumeSaved = 'patch persistentvolumes pv1 200';
const modified = 'ControllerModifyVolume volume-1 OK';
const method = 'ControllerModifyVolume';
const claimOf = (options: ClaimOptions = {}) => aClaim({ spec: '1Gi', wantedClass: 'gold', ...options });
const recorded = (status: string, target: string, options: ClaimOptions = {}) =>
  claimOf({ modifyStatus: { status, targetVolumeAttributesClassName: target }, ...options });
const now = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string;
const asked = (r: Fixture) => r.requests(method).map(({ mutable_parameters: parameters }) => parameters);
const want = (r: Fixture, name: string): void =>
  r.changeClaim((claim) => ({ ...claim, spec: { ...claim.spec, volumeAttributesClassName: name } }));
const gold = aClass('gold', { parameters: { tier: 'gold' } });
const silver = aClass('silver', { parameters: { tier: 'silver' } });
const uid = 'uid-of-data';

describe('a modification', () => {
  it('[resizer#144, 184, 199] given a class for the first time, then three writes, one call, two events', async () => {
    const r = await aResizer({ seed: [claimOf(), aVolume(), gold] });
    expect(r.writes()).toEqual([marked, volumeSaved, marked]);
    expect(r.bodies()).toEqual([
      {
        metadata: { uid, resourceVersion: '2' },
        status: {
          '$setElementOrder/conditions': [{ type: 'ModifyingVolume' }],
          conditions: [
            {
              type: 'ModifyingVolume',
              status: 'True',
              message: 'Modifying volume to "gold" is in progress.',
              reason: null,
              lastProbeTime: now,
              lastTransitionTime: now,
            },
          ],
          modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' },
        },
      },
      { metadata: { uid: 'uid-of-pv1', resourceVersion: '3' }, spec: { volumeAttributesClassName: 'gold' } },
      {
        metadata: { uid, resourceVersion: '5' },
        status: {
          '$setElementOrder/conditions': [],
          conditions: [
            { type: 'ModifyingVolume', $patch: 'delete' },
            { type: 'ModifyVolumeError', $patch: 'delete' },
          ],
          modifyVolumeStatus: null,
          currentVolumeAttributesClassName: 'gold',
        },
      },
    ]);
    expect([r.calls(), asked(r)]).toEqual([[modified], [{ tier: 'gold' }]]);
    expect(r.events).toEqual([
      'Normal VolumeModify team/data: external resizer is modifying volume data with vac gold',
      'Normal VolumeModifySuccessful team/data: external resizer modified volume data with vac gold successfully',
    ]);
    expect(r.claim()?.status).toEqual({
      phase: 'Bound',
      capacity: { storage: '1Gi' },
      currentVolumeAttributesClassName: 'gold',
    });
    await r.clock.advance(3_600_000);
    expect([r.writes().length, r.calls().length]).toEqual([3, 1]);
    await r.stop();
  });

  it.each([
    { id: '[resizer#145]', claim: recorded('Infeasible', 'silver', { currentClass: 'bronze' }) },
    { id: '[resizer#155]', claim: recorded('Infeasible', 'silver', { currentClass: 'gold' }) },
    { id: '[resizer#157]', claim: recorded('Pending', 'silver', { currentClass: 'bronze' }) },
    { id: '[resizer#158]', claim: claimOf({ modifyStatus: { status: 'Pending' } }) },
  ])('$id given $claim.status.modifyVolumeStatus, then a modification like any other', async ({ claim }) => {
    const r = await aResizer({ seed: [claim, aVolume(), gold, silver] });
    expect([asked(r), r.claim()?.status?.modifyVolumeStatus]).toEqual([[{ tier: 'gold' }], undefined]);
    expect([r.claim()?.status?.currentVolumeAttributesClassName, r.volume()?.spec?.volumeAttributesClassName]).toEqual([
      'gold',
      'gold',
    ]);
    await r.stop();
  });

  it('[resizer#147] given extra metadata, then the names are sent too, and win over parameters', async () => {
    const key = 'csi.storage.k8s.io/pv/name';
    const vac = aClass('gold', { parameters: { tier: 'gold', [key]: 'x' } });
    const r = await aResizer({ seed: [claimOf(), aVolume(), vac], settings: { extraModifyMetadata: true } });
    expect(asked(r)).toEqual([
      { tier: 'gold', 'csi.storage.k8s.io/pvc/name': 'data', 'csi.storage.k8s.io/pvc/namespace': 'team', [key]: 'pv1' },
    ]);
    await r.stop();
  });

  it('[resizer#163] given a class without parameters, then an empty map is sent', async () => {
    const { parameters: _parameters, ...vac } = gold;
    const r = await aResizer({ seed: [claimOf(), aVolume(), vac] });
    expect(asked(r)).toEqual([{}]);
    await r.stop();
  });

  it('[resizer#161] given a claim that is bound in one update, then it is modified at once', async () => {
    const r = await aResizer({ seed: [claimOf({ volumeName: '', phase: 'Pending' }), aVolume(), gold] });
    expect(r.calls()).toEqual([]);
    r.changeClaim(({ spec, ...claim }) => ({
      ...claim,
      spec: { ...spec, volumeName: 'pv1' },
      status: claimOf().status ?? {},
    }));
    await r.settle();
    expect(r.calls()).toEqual([modified]);
    await r.stop();
  });

  it('[resizer#161] given a PersistentVolume that comes later, then its arrival starts the modification', async () => {
    const r = await aResizer({ seed: [claimOf(), gold] });
    expect(r.calls()).toEqual([]);
    r.server.seed(aVolume());
    await r.settle();
    expect(r.calls()).toEqual([modified]);
    await r.stop();
  });

  it('given claims with a class, when the class changes, then they are looked at again, and when it is deleted, then nothing happens', async () => {
    const r = await aResizer({ seed: [claimOf(), aVolume(), gold] });
    const adds = () => r.metrics.value('workqueue_adds_total', { name: 'test.csi.example.com-pvc-modify' });
    const counts = [adds()];
    r.server.objects.change(volumeAttributesClasses, { name: 'gold' }, (it) => ({ ...it, parameters: { tier: 'x' } }));
    await r.settle();
    counts.push(adds());
    r.server.objects.remove(volumeAttributesClasses, { name: 'gold' });
    await r.settle();
    expect([...counts, adds(), r.calls()]).toEqual([1, 2, 2, [modified]]);
    await r.stop();
  });

  it('[resizer#160] given an in-tree volume, then it is not modified', async () => {
    const { csi: _csi, ...spec } = aVolume().spec ?? {};
    const name = 'ebs.csi.aws.com';
    const volume = { ...aVolume(), spec: { ...spec, awsElasticBlockStore: { volumeID: 'vol-1' } } };
    const r = await aResizer({ model: { name }, seed: [claimOf(), volume, aClass('gold', { driverName: name })] });
    expect([r.calls(), r.writes()]).toEqual([[], []]);
    await r.stop();
  });

  it.each<{ readonly id: string; readonly given: string; readonly seed: readonly KubeObject[] }>([
    { id: '[resizer#143]', given: 'the current class', seed: [claimOf({ currentClass: 'gold' }), aVolume()] },
    { id: '[resizer#143]', given: 'no class', seed: [aClaim({ spec: '1Gi' }), aVolume()] },
    {
      id: '[resizer#148]',
      given: 'no wanted class',
      seed: [recorded('Infeasible', 'gold', { wantedClass: '' }), aVolume()],
    },
    {
      id: '[resizer#150]',
      given: 'a volume of another driver',
      seed: [claimOf(), aVolume({ csi: { driver: 'other' } })],
    },
    { id: '[resizer#151]', given: 'a claim that is not Bound', seed: [claimOf({ phase: 'Pending' }), aVolume()] },
    { id: '[resizer#151]', given: 'no volume name', seed: [claimOf({ volumeName: '' }), aVolume()] },
    {
      id: '[resizer#162]',
      given: 'a PersistentVolume of another claim',
      seed: [claimOf(), aVolume({ claim: aClaim({ uid: 'x' }) })],
    },
  ])('$id given $given, then no write, no call, no event', async ({ seed }) => {
    const r = await aResizer({ seed: [...seed, gold] });
    await r.clock.advance(3_600_000);
    expect([r.writes(), r.calls(), r.events]).toEqual([[], [], []]);
    await r.stop();
  });
});

describe('a class that does not exist', () => {
  it('[resizer#146, 183] then the modification is Pending, the recorded class stays, and its creation starts it, P1', async () => {
    const conditions = [aCondition('ModifyingVolume'), aCondition('ModifyVolumeError')];
    const r = await aResizer({ seed: [recorded('Infeasible', 'whatever', { conditions }), aVolume()] });
    expect([r.writes(), r.calls(), r.events]).toEqual([
      [marked],
      [],
      ['Warning VolumeModifyFailed team/data: VAC "gold" does not exist.'],
    ]);
    expect(r.bodies()).toEqual([
      { metadata: { uid, resourceVersion: '2' }, status: { modifyVolumeStatus: { status: 'Pending' } } },
    ]);
    expect([r.claim()?.status?.modifyVolumeStatus, r.claim()?.status?.conditions?.length]).toEqual([
      { status: 'Pending', targetVolumeAttributesClassName: 'whatever' },
      2,
    ]);
    r.server.seed(gold);
    await r.settle();
    expect([r.calls(), r.claim()?.status?.currentVolumeAttributesClassName]).toEqual([[modified], 'gold']);
    await r.stop();
  });

  it('[resizer#146] given a claim that changed meanwhile, then it is looked at again', async () => {
    const r = await aResizer({ seed: [aVolume()] });
    r.overtake();
    r.server.seed(claimOf());
    await r.clock.advance(50);
    expect([r.writes(), r.events.length]).toEqual([[marked.replace('200', '409'), marked], 1]);
    await r.stop();
  });
});

describe('a cancel', () => {
  it('[resizer#149, 153, 154] given it while in progress, then the class is tried until infeasible, and that is reported once', async () => {
    const r = await aResizer({ seed: [aVolume(), gold] });
    r.failCalls('Internal', { method, times: 1 });
    r.server.seed(recorded('InProgress', 'gold', { wantedClass: '', conditions: [aCondition('ModifyingVolume')] }));
    await r.settle();
    r.failCalls('InvalidArgument', { method });
    await r.clock.advance(1_150);
    expect([asked(r), r.claim()?.status?.modifyVolumeStatus?.status]).toEqual([
      [{ tier: 'gold' }, { tier: 'gold' }],
      'Infeasible',
    ]);
    await r.clock.advance(600_000);
    expect([r.calls().length, r.events.filter((line) => line.includes('Cancel'))]).toEqual([
      2,
      ['Normal VolumeModifyCanceled team/data: Cancelled modify.'],
    ]);
    expect(r.claim()?.status?.conditions?.map(({ type }) => type)).toEqual(['ModifyVolumeError']);
    want(r, 'gold');
    want(r, '');
    await r.settle();
    expect(r.events.filter((line) => line.includes('Cancel')).length).toBe(1);
    await r.stop();
  });
});

describe('secrets', () => {
  const both = { [annotations.modifySecretName]: 'modify', [annotations.modifySecretNamespace]: 'team' };
  const csi = { controllerExpandSecretRef: { name: 'expand', namespace: 'team' } };
  const secrets = ['modify', 'expand'].map((name) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'team' },
    data: { of: Buffer.from(name).toString('base64') },
  }));
  it.each([
    { given: 'both annotations', options: { annotations: both, csi }, then: { of: 'modify' } },
    {
      given: 'one of them',
      options: { annotations: { [annotations.modifySecretName]: 'modify' }, csi },
      then: { of: 'expand' },
    },
    {
      given: 'the other one',
      options: { annotations: { [annotations.modifySecretNamespace]: 'team' }, csi },
      then: { of: 'expand' },
    },
    { given: 'none and no reference', options: {}, then: {} },
  ])('[resizer#164] given $given, then $then', async ({ options, then }) => {
    const r = await aResizer({ seed: [...secrets, claimOf(), aVolume(options), gold] });
    expect(r.requests(method)[0]).toMatchObject({ secrets: then });
    await r.stop();
  });
});
