// SPDX-License-Identifier: Apache-2.0
/** What wakes the volume loop, what it counts, and what it forgets with an object. */
import { type KubeObject, persistentVolumes, volumeAttachments } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aVolume, driverName, type VolumeFacts } from '../../testing/builders.ts';
import { loopAlone } from '../../testing/loop-alone.ts';
import { aProvisioner, type Fixture } from '../../testing/provisioner-fixture.ts';
import { volumeFinalizer } from '../names.ts';
import { volumeLoop } from './loop.ts';

const name = 'pvc-uid-data';
const failures = 'controller_persistentvolume_delete_failed_total';
const successes = 'controller_persistentvolume_delete_total';
const controller = ['CREATE_DELETE_VOLUME', 'PUBLISH_UNPUBLISH_VOLUME'] as const;
const bound: VolumeFacts = { phase: 'Bound', finalizers: [volumeFinalizer] };
const released: VolumeFacts = { finalizers: [volumeFinalizer] };

const adds = (p: Fixture): number => p.metrics.value('workqueue_adds_total', { name: 'volumes' }) ?? 0;
const counts = (p: Fixture): unknown[] =>
  [successes, failures].map((metric) => p.metrics.value(metric, { class: 'fast' }));

function anAttachment(volume: string | undefined, attachment = 'va1'): KubeObject {
  const source = volume === undefined ? {} : { persistentVolumeName: volume };
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: attachment },
    spec: { attacher: driverName, nodeName: 'n1', source },
  } as KubeObject;
}

async function detach(p: Fixture, attachment = 'va1'): Promise<void> {
  p.server.objects.remove(volumeAttachments, { name: attachment });
  await p.settle();
}

it.each([
  { given: 'a bound volume with our finalizer', volume: bound, woken: 0 },
  { given: 'a bound volume without our finalizer', volume: { phase: 'Bound', finalizers: [] }, woken: 1 },
  { given: 'an available volume', volume: { phase: 'Available', finalizers: [] }, woken: 0 },
])(
  'given $given, when it appears and disappears, then the queue of that name gets $woken keys',
  async ({ volume, woken }) => {
    const p = await aProvisioner();
    p.server.seed(aVolume(volume));
    await p.settle();
    expect(adds(p)).toBe(woken);
    p.server.objects.remove(persistentVolumes, { name });
    await p.settle();
    expect(adds(p)).toBe(woken);
    expect(p.logger.lines.filter(({ kind }) => kind === 'error')).toEqual([]);
  },
);

it('given a volume that failed is gone before its retry, then the retry does nothing', async () => {
  const p = await aProvisioner();
  p.driver.faults.add({ method: 'DeleteVolume', times: 1, action: { kind: 'fail', code: 'Internal' } });
  p.server.seed(aVolume(released));
  await p.settle();
  p.server.objects.remove(persistentVolumes, { name });
  await p.clock.advance(2000);
  await p.settle();
  expect([p.calls(), p.writes(), counts(p)]).toEqual([[`DeleteVolume handle-of-${name} Internal`], [], [undefined, 1]]);
});

it('given the finalizer is all that is missing, then neither a deletion nor a failure is counted or logged', async () => {
  const p = await aProvisioner({ seed: [aVolume({ phase: 'Bound', finalizers: [] })] });
  expect([p.writes(), counts(p)]).toEqual([[`patch persistentvolumes ${name} 200`], [undefined, undefined]]);
  expect(p.logger.messages()).not.toContain('PersistentVolume deleted succeeded');
});

it('given a deletion succeeds, then it is counted and logged once, and no failure is counted', async () => {
  const p = await aProvisioner({ seed: [aVolume(released)] });
  expect(counts(p)).toEqual([1, undefined]);
  expect(p.logger.lines.filter(({ message }) => message === 'PersistentVolume deleted succeeded')).toEqual([
    { kind: 'info', level: 4, message: 'PersistentVolume deleted succeeded', facts: { PV: name } },
  ]);
});

it('given a volume waits for its attachment, when the attachment changes, then it waits on; when it is gone, it is deleted at once', async () => {
  const p = await aProvisioner({ controller, seed: [anAttachment(name), aVolume(released)] });
  const before = adds(p);
  p.server.objects.change(volumeAttachments, { name: 'va1' }, (attachment) => ({
    ...attachment,
    metadata: { ...attachment.metadata, labels: { a: 'b' } },
  }));
  await p.settle();
  expect([adds(p), p.calls()]).toEqual([before, []]);
  await detach(p);
  expect(p.calls()).toEqual([`DeleteVolume handle-of-${name} OK`]);
});

it.each([
  { given: 'a bound volume', attachment: anAttachment(name) },
  { given: 'a volume that does not exist', attachment: anAttachment('other') },
  { given: 'an inline volume', attachment: anAttachment(undefined) },
])('given an attachment of $given, when it is gone, then no volume is woken', async ({ attachment }) => {
  const p = await aProvisioner({ controller, seed: [attachment, aVolume(bound)] });
  const before = adds(p);
  await detach(p);
  expect(adds(p)).toBe(before);
  expect(p.logger.lines.filter(({ kind }) => kind === 'error')).toEqual([]);
});

it('given a volume that failed is gone, when another of its name fails, then its failures are counted from the beginning', async () => {
  const p = await aProvisioner();
  p.driver.faults.add({ method: 'DeleteVolume', times: 9, action: { kind: 'fail', code: 'Internal' } });
  p.server.seed(aVolume(released));
  await p.settle();
  await p.clock.advance(1200);
  p.server.objects.remove(persistentVolumes, { name });
  await p.settle();
  p.server.seed(aVolume(released));
  await p.settle();
  const lines = p.logger.lines.filter(({ message }) => message === 'Retrying syncing volume');
  expect(lines.map(({ facts }) => [facts['PV'], facts['failures']])).toEqual([
    [name, 1],
    [name, 2],
    [name, 1],
  ]);
});

it('given a volume of another node for whose finalizer this instance waits, when it goes, then the wait is forgotten at once, and once more by a run that finds nothing', async () => {
  const terms = [{ matchExpressions: [{ key: 'node', operator: 'In', values: ['n2'] }] }];
  const nodeAffinity = { required: { nodeSelectorTerms: terms } };
  const turns: string[] = [];
  const waits = {
    leftMs: () => undefined,
    begin: () => {
      turns.push('begin');
      return 700;
    },
    end: () => undefined,
    forget: (key: string) => void turns.push(`forget ${key}`),
  };
  const l = await loopAlone((deps, watched) => volumeLoop({ ...deps, turns: waits }, watched), {
    node: 'n1',
    seed: [aVolume({ policy: 'Retain', spec: { nodeAffinity } })],
  });
  l.server.objects.remove(persistentVolumes, { name });
  await l.settle();
  const atOnce = [...turns];
  await l.clock.advance(1_000);
  expect([atOnce, turns]).toEqual([
    ['begin', `forget ${name}`],
    ['begin', `forget ${name}`, `forget ${name}`],
  ]);
  await l.stop();
});
