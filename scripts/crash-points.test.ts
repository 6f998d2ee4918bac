// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { flows } from '../packages/world/src/crash-points/flows.ts';
import { manifests } from './manifests.ts';

/**
 * Each report of the first repeats its only write: packages/health-monitor/src/crashes.test.ts kills it before and after each request. The
 * second writes events only, and has no state between two writes that a crash could break.
 */
const withoutFlows: ReadonlySet<string> = new Set([
  'csi-external-health-monitor-controller',
  'volume-data-source-validator',
]);

it('given the manifests, then the world has flows with crash points for each controller that is built and changes objects', () => {
  const controllers = manifests
    .filter(({ kind, name }) => kind === 'controller' && !withoutFlows.has(name))
    .map(({ name }) => name);
  expect(new Set<string>(flows.map(({ program }) => program))).toEqual(new Set<string>(controllers));
});
