// SPDX-License-Identifier: Apache-2.0
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { manifests } from '../../../scripts/manifests.ts';
import { repositoryRoot } from '../processes/program.ts';
import { attachFlows } from './attach-flows.ts';
import { flows } from './flows.ts';
import { programs } from './programs.ts';
import { resizeFlows } from './resize-flows.ts';

const controllers = manifests
  .filter(({ kind, state }) => kind === 'controller' && state === 'built')
  .map(({ name }) => name)
  .toSorted();

it('given the manifests, then the simulation has each controller that is built, under its name', () => {
  expect(Object.keys(programs).toSorted()).toEqual(controllers);
  expect(Object.values(programs).map(({ name }) => name)).toEqual(Object.keys(programs));
});

/** Controllers without flows here: their packages enumerate the crash points alone, without the core controllers. */
const elsewhere: Readonly<Record<string, string>> = {
  'csi-snapshotter': 'packages/snapshotter/src/crash-points.test.ts',
  'snapshot-controller': 'packages/snapshot-controller/src/crash-points.test.ts',
};

it('given the manifests, then each controller that is built has flows with crash points, here or in its package', () => {
  const simulated = [...flows, ...attachFlows, ...resizeFlows].map(
    ({ program = programs['csi-provisioner'] }) => program.name,
  );
  expect([...new Set([...simulated, ...Object.keys(elsewhere)])].toSorted()).toEqual(controllers);
  expect(Object.values(elsewhere).filter((path) => !existsSync(join(repositoryRoot, path)))).toEqual([]);
});
