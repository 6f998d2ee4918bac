// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { manifests } from '../../../scripts/manifests.ts';
import { attachFlows } from './attach-flows.ts';
import { flows } from './flows.ts';
import { programs } from './programs.ts';
import { resizeFlows } from './resize-flows.ts';
import { snapshotFlows } from './snapshot-flows.ts';

const controllers = manifests
  .filter(({ kind }) => kind === 'controller')
  .map(({ name }) => name)
  .toSorted();

it('given the manifests, then the simulation has each controller that is built, under its name', () => {
  expect(Object.keys(programs).toSorted()).toEqual(controllers);
  expect(Object.values(programs).map(({ name }) => name)).toEqual(Object.keys(programs));
});

it('given the manifests, then flows with crash points exist for each controller that is built', () => {
  const simulated = [...flows, ...attachFlows, ...resizeFlows, ...snapshotFlows].map(
    ({ program = programs['csi-provisioner'] }) => program.name,
  );
  expect([...new Set(simulated)].toSorted()).toEqual(controllers);
});
