// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { annotations, finalizerOf, lockNameOf } from './names.ts';

it.each([
  ['no-Change', 'no-Change'],
  ['not!allowed/characters', 'not-allowed-characters'],
  ['trailing\\', 'trailing-X'],
  ['s!a@n#i$t(i%z^e&d*', 's-a-n-i-t-i-z-e-d-X'],
  ['hostpath.csi.k8s.io', 'hostpath-csi-k8s-io'],
])(
  'given the driver name %s, then the finalizer ends with %s, and the lock name contains the driver name',
  (driver, end) => {
    expect([finalizerOf(driver), lockNameOf(driver)]).toEqual([
      `external-attacher/${end}`,
      `external-attacher-leader-${driver}`,
    ]);
  },
);

it('given the annotations of csi-attacher, then they are spelled as in upstream', () => {
  expect(annotations).toEqual({
    nodeId: 'csi.alpha.kubernetes.io/node-id',
    migratedTo: 'pv.kubernetes.io/migrated-to',
  });
});
