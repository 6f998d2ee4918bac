// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { flows } from '../packages/world/src/crash-points/flows.ts';
import { manifests } from './manifests.ts';

it('given the manifests, then the world has flows with crash points for each controller that is built', () => {
  const controllers = manifests.filter(({ kind }) => kind === 'controller').map(({ name }) => name);
  expect(new Set<string>(flows.map(({ program }) => program))).toEqual(new Set<string>(controllers));
});
