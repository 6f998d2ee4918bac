// SPDX-License-Identifier: Apache-2.0
/** What a run of the expansion loop leaves behind. */
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClaim, aVolume } from '../../testing/builders.ts';
import { loopAlone } from '../../testing/loop-alone.ts';
import { claimKey } from '../claim.ts';
import { expandLoop } from './loop.ts';

const [claim, uid] = [aClaim(), 'uid-of-data'];
const key = claimKey(claim);

it('given a run that throws, then its volume is free for the modification', async () => {
  const record = (): never => {
    throw new Error('defect');
  };
  const l = await loopAlone(expandLoop, { seed: [claim, aVolume()], record, defects: 'expected' });
  const thrown = l.logger.lines.filter(({ message }) => message === 'Reconcile threw, will retry');
  expect(thrown).toMatchObject([{ error: { message: 'defect' } }]);
  expect(l.context.locks.take('volume-1', 'modify', key)).toBe(true);
  await l.stop();
});

it('given a claim that is gone, then nothing of it stays in memory, although no run follows', async () => {
  const l = await loopAlone(expandLoop, { seed: [aVolume()] });
  const method = 'ControllerExpandVolume';
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

it('given a volume that the modification has locked, then there is no call, until it releases the lock', async () => {
  const l = await loopAlone(expandLoop, { seed: [aVolume()] });
  const { locks } = l.context;
  locks.take('volume-1', 'modify', key);
  l.server.seed(claim);
  await l.settle();
  expect([l.calls(), l.writes()]).toEqual([[], []]);
  locks.end('modify', key);
  await l.settle();
  expect(l.calls()).toEqual(['ControllerExpandVolume volume-1 OK']);
  await l.stop();
});
