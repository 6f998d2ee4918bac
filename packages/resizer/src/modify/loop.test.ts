// SPDX-License-Identifier: Apache-2.0
/** What a run of the modification loop leaves behind. */
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClaim, aClass, aVolume } from '../../testing/builders.ts';
import { loopAlone } from '../../testing/loop-alone.ts';
import { claimKey } from '../claim.ts';
import { modifyLoop } from './loop.ts';

const claim = aClaim({ spec: '1Gi', wantedClass: 'gold' });
const [key, uid] = [claimKey(claim), 'uid-of-data'];

it('given a run that throws, then its volume is free for the expansion', async () => {
  const record = (): never => {
    throw new Error('defect');
  };
  const l = await loopAlone(modifyLoop, { seed: [claim, aVolume(), aClass()], record, defects: 'expected' });
  const thrown = l.logger.lines.filter(({ message }) => message === 'Reconcile threw, will retry');
  expect(thrown).toMatchObject([{ error: { message: 'defect' } }]);
  expect(l.context.locks.take('volume-1', 'expand', key)).toBe(true);
  await l.stop();
});

it('given a claim that is gone, then nothing of it stays in memory, although no run follows', async () => {
  const l = await loopAlone(modifyLoop, { seed: [aVolume(), aClass()] });
  const method = 'ControllerModifyVolume';
  l.driver.faults.add({ method, action: { kind: 'fail', code: 'Internal', message: 'no' } });
  l.server.seed(claim);
  await l.settle();
  const current = l.server.objects.get(persistentVolumeClaims, { namespace: 'team', name: 'data' });
  const before = { ...current, metadata: { ...current?.metadata, resourceVersion: '0' } };
  const known = () => {
    let isOwn = true;
    l.context.ownWriteFilter.judge({ previous: before, current, isInInitialList: false }, () => (isOwn = false));
    return [l.context.memory.get(key, uid)?.kind, isOwn];
  };
  expect(known()).toEqual(['final', true]);
  l.server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'data' });
  await l.settle();
  expect(known()).toEqual([undefined, false]);
  await l.stop();
});

it('given a volume that the expansion has locked, then there is no call, until it releases the lock', async () => {
  const l = await loopAlone(modifyLoop, { seed: [aVolume(), aClass()] });
  const { locks } = l.context;
  locks.take('volume-1', 'expand', key);
  l.server.seed(claim);
  await l.settle();
  expect([l.calls(), l.writes()]).toEqual([[], []]);
  locks.end('expand', key);
  await l.settle();
  expect(l.calls()).toEqual(['ControllerModifyVolume volume-1 OK']);
  await l.stop();
});

it('given a class that the driver refuses, when the user wants none any more, then it is not held back any more', async () => {
  const l = await loopAlone(modifyLoop, { seed: [aVolume(), aClass()] });
  l.driver.faults.add({
    method: 'ControllerModifyVolume',
    action: { kind: 'fail', code: 'InvalidArgument', message: 'no' },
  });
  l.server.seed(claim);
  await l.settle();
  const held = l.context.memory.get(key, uid)?.kind;
  l.server.objects.change(persistentVolumeClaims, { namespace: 'team', name: 'data' }, ({ spec, ...it }) => {
    const { volumeAttributesClassName: _class, ...rest } = spec ?? {};
    return { ...it, spec: rest };
  });
  await l.settle();
  expect([held, l.context.memory.get(key, uid)]).toEqual(['infeasible', { kind: 'final', uid, isInUse: false }]);
  await l.stop();
});
