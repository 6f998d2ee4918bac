// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { breachesOf } from './play-flow.ts';
import { ofProvisioner } from './provisioner-flows.ts';

it.each(ofProvisioner)(
  'given $name, when each write and each call of $program meets each fault, then no invariant is broken',
  async (flow) => expect(await breachesOf(flow)).toEqual([]),
  120_000,
);
