// SPDX-License-Identifier: Apache-2.0
/** What waits to be saved under a name, from memory and a cache that the test fills. */
import type { Lister, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClaim, aDriver, aNodeDeployment, someSettings, aVolume } from '../../testing/builders.ts';
import { pinned } from '../../testing/claim-states.ts';
import { createClaimMemory, type Saving } from '../claim/memory.ts';
import { observe } from './observe.ts';
import type { UnsavedKey } from './state.ts';

const saving: Saving = { kind: 'saving', claim: aClaim(), pinned, volume: aVolume(), deletion: undefined };
const name: UnsavedKey = pinned.plan.volumeName;

function observed(cached: PersistentVolumeClaim | undefined, settings = someSettings()) {
  const memory = createClaimMemory();
  memory.set(saving);
  const claims = { byIndex: () => (cached === undefined ? [] : [cached]) } as unknown as Lister<PersistentVolumeClaim>;
  const deps = { memory, claims, driver: aDriver(), settings };
  return { waiting: observe(deps, name), other: observe(deps, 'pvc-other') };
}

it('given nothing waits under a name, then there is no state', () => {
  expect(observed(aClaim()).other).toBeUndefined();
});

it('given a volume that waits, then its claim is that of the cache, or else that of memory without our finalizer', () => {
  const cached = aClaim({ protection: 'on', annotations: { note: 'newer' } });
  expect(observed(cached).waiting).toEqual({ saving, claim: cached, isProtected: true, saved: undefined });
  expect(observed(aClaim()).waiting).toMatchObject({ isProtected: false });
  expect(observed(undefined).waiting).toMatchObject({ claim: saving.claim, isProtected: false });
});

it('given the finalizer of the instance of another node, then it is not ours to remove', () => {
  const settings = someSettings({ node: aNodeDeployment('n1') });
  expect(observed(aClaim({ protection: 'on', node: 'n2' }), settings).waiting).toMatchObject({ isProtected: false });
  expect(observed(aClaim({ protection: 'on', node: 'n1' }), settings).waiting).toMatchObject({ isProtected: true });
});
