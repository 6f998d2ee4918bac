// SPDX-License-Identifier: Apache-2.0
/** What a run of either loop leaves behind: locks of volumes, and what is known of claims. */
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aVolume } from '../testing/builders.ts';
import { loopAlone } from '../testing/loop-alone.ts';
import { claimKey } from './claim.ts';
import { expandLoop } from './expand/loop.ts';
import { modifyLoop } from './modify/loop.ts';

const uid = 'uid-of-data';
const others = [aVolume(), aClass()];

describe.each([
  { name: 'expansion', loop: expandLoop, other: 'modify' as const, method: 'ControllerExpandVolume', claim: aClaim() },
  {
    name: 'modification',
    loop: modifyLoop,
    other: 'expand' as const,
    method: 'ControllerModifyVolume',
    claim: aClaim({ spec: '1Gi', wantedClass: 'gold' }),
  },
])('the loop of the $name', ({ loop, other, method, claim }) => {
  const key = claimKey(claim);

  it('given a run that throws, then its volume is free for the other loop', async () => {
    const record = (): never => {
      throw new Error('defect');
    };
    const l = await loopAlone(loop, { seed: [claim, ...others], record, defects: 'expected' });
    const thrown = l.logger.lines.filter(({ message }) => message === 'Reconcile threw, will retry');
    expect(thrown).toMatchObject([{ error: { message: 'defect' } }]);
    expect(l.context.locks.take('volume-1', other, key)).toBe(true);
    await l.stop();
  });

  it('given a claim that is gone, then nothing of it stays in memory, although no run follows', async () => {
    const l = await loopAlone(loop, { seed: others });
    l.driver.faults.add({ method, action: { kind: 'fail', code: 'Internal', message: 'no' } });
    l.server.seed(claim);
    await l.settle();
    const current = l.server.objects.get(persistentVolumeClaims, { namespace: 'team', name: 'data' })!;
    const before = { ...current, metadata: { ...current.metadata, resourceVersion: '0' } };
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

  it('given a volume that the other loop has locked, then there is no call, until it releases the lock', async () => {
    const l = await loopAlone(loop, { seed: others });
    const { locks } = l.context;
    locks.take('volume-1', other, key);
    l.server.seed(claim);
    await l.settle();
    expect([l.calls(), l.writes()]).toEqual([[], []]);
    locks.end(other, key);
    await l.settle();
    expect(l.calls()).toEqual([`${method} volume-1 OK`]);
    await l.stop();
  });
});
