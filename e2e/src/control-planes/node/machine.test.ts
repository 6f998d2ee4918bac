// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { checkConsent } from './machine.ts';

it.each([[{}], [{ CI: '' }], [{ CI: 'false' }], [{ CSI_SIDECARS_ALLOW_SYSTEM_CHANGES: '' }]])(
  'given neither CI nor consent (%j), then the machine is not touched and the way to say yes is named',
  (env) => {
    expect(() => checkConsent(env)).toThrow('--allow-system-changes');
  },
);
