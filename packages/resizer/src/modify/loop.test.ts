// SPDX-License-Identifier: Apache-2.0
/** What the modification loop remembers of a claim. */
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClaim, aClass, aVolume } from '../../testing/builders.ts';
import { loopAlone } from '../../testing/loop-alone.ts';
import { claimKey } from '../claim.ts';
import { modifyLoop } from './loop.ts';

const claim = aClaim({ spec: '1Gi', wantedClass: 'gold' });
const [key, uid] = [claimKey(claim), 'uid-of-data'];

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
