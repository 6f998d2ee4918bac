// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { AuditedRequest } from '../audit/read-audit.ts';
import type { Need } from '../scenarios/needs.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import type { TestRun } from '../scenarios/test-run.ts';
import type { Outcome } from './result.ts';
import { checkChartRights, checkRights } from './rights-check.ts';

function outcomeOf(requests: readonly AuditedRequest[], has: readonly Need[]): Outcome {
  const testRun = { controlPlane: { audit: () => requests }, has: new Set(has) } as unknown as TestRun;
  return checkChartRights(testRun).outcome;
}

const everything: readonly Need[] = ['audit', 'controller-manager', 'attributes-classes'];

it("given a run without requests, then it fails, and each program's unused rights are named", () => {
  const outcome = outcomeOf([], everything);
  expect(outcome.kind).toBe('failed');
  const { message } = (outcome as { readonly error: Error }).error;
  expect(message).toContain('csi-attacher: patch volumeattachments/status.storage.k8s.io');
  expect(message).toContain('snapshot-controller: watch nodes');
});

it('given requests of one program, then its rights count for no other', () => {
  const patch = { verb: 'patch', group: '', resource: 'persistentvolumes', subresource: '', code: 200 };
  const user = 'system:serviceaccount:a-01:csi-attacher';
  const outcome = outcomeOf([{ ...patch, user } as unknown as AuditedRequest], everything);
  const { message } = (outcome as { readonly error: Error }).error;
  expect(message).not.toContain('csi-attacher: patch persistentvolumes\n');
  expect(message).toContain('csi-resizer: patch persistentvolumes\n');
});

it('given a control plane that cannot run all scenarios, then the question is not applicable', () => {
  expect(outcomeOf([], ['audit'])).toEqual({
    kind: 'not applicable',
    missing: ['controller-manager', 'attributes-classes'],
  });
});

const reports = mkdtempSync(join(tmpdir(), 'rights-'));
afterAll(() => rmSync(reports, { recursive: true }));

it('given a scenario that runs with both profiles, when a request is refused in one of them, then the check of that profile alone fails', () => {
  const scenario: Scenario = { id: 'P-01', title: 'P-01', needs: [], run: () => Promise.resolve() };
  const both: readonly Scenario[] = [scenario, { ...scenario, rights: 'minimal' }];
  const outcomes = (namespace: string): readonly string[] => {
    const user = `system:serviceaccount:${namespace}:csi-provisioner`;
    const request = {
      user,
      verb: 'get',
      group: '',
      resource: 'nodes',
      subresource: '',
      code: 403,
      uri: '/api/v1/nodes/a',
    };
    const controlPlane = { audit: () => [request] };
    const testRun = { rbac: 'stock', controlPlane, reports } as unknown as TestRun;
    return checkRights(testRun, both).map(({ id, outcome }) => `${id} ${outcome.kind}`);
  };
  expect(outcomes('p-01')).toEqual(['X-02 failed', 'X-01 passed']);
  expect(outcomes('p-01-minimal')).toEqual(['X-02 passed', 'X-01 failed']);
});
