// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { flows } from '../packages/world/src/crash-points/flows.ts';
import { manifests } from './manifests.ts';

/** Each report repeats its only write. packages/health-monitor/src/crashes.test.ts kills it before and after each request. */
const withoutFlows = 'csi-external-health-monitor-controller';
/** It writes events only, and has no state between two writes that a crash could break. */
const withoutFlows = new Set(['volume-data-source-validator']);

it('given the manifests, then the world has flows with crash points for each controller that is built', () => {
  const controllers = manifests.filter(({ kind }) => kind === 'controller').map(({ name }) => name);
  expect(new Set<string>(flows.map(({ program }) => program))).toEqual(
    new Set<string>(controllers.filter((name) => name !== withoutFlows)),
  );
it('given the manifests, then the world has flows with crash points for each controller that is built and changes objects', () => {
  const controllers = manifests
    .filter(({ kind, name }) => kind === 'controller' && !withoutFlows.has(name))
    .map(({ name }) => name);
  expect(new Set<string>(flows.map(({ program }) => program))).toEqual(new Set<string>(controllers));
});
