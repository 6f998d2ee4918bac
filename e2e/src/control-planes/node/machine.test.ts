// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { Refusal } from '../../refusal.ts';
import { checkConsent, checkNoKubelet } from './machine.ts';

it.each([[{}], [{ CI: '' }], [{ CI: 'false' }], [{ CSI_SIDECARS_ALLOW_SYSTEM_CHANGES: '' }]])(
  'given neither CI nor consent (%j), then the machine is not touched and the way to say yes is named',
  (env) => {
    expect(() => checkConsent(env)).toThrow(Refusal);
    expect(() => checkConsent(env)).toThrow('--allow-system-changes');
  },
);

it('given a kubelet on the machine, then the refusal names its process; given none, then there is no refusal', () => {
  const others = new Map([
    [1, 'init'],
    [7, 'kubelet-helper'],
  ]);
  expect(() => checkNoKubelet(others)).not.toThrow();
  expect(() => checkNoKubelet(new Map([...others, [42, 'kubelet']]))).toThrow(
    new Refusal('a kubelet runs already on this machine (process 42)'),
  );
});
