// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { rightsGranted } from '../audit/analyse.ts';
import type { AuditedRequest } from '../audit/read-audit.ts';
import type { ControllerName } from '../processes/program.ts';
import { chartPrograms, chartRules, exceptions, unusedChartRights } from './chart-rights.ts';

/** The request that uses a right. */
function using(right: string, code = 200): AuditedRequest {
  const [, verb = '', resource = '', subresource = '', group = ''] =
    /^(\w+) (\w+)(?:\/(\w+))?(?:\.(.*))?$/.exec(right) ?? [];
  const place = { namespace: '', name: '', uri: '', user: '', userAgent: '', patch: undefined };
  return { ...place, verb, resource, subresource, group, code };
}

const grantedTo = (program: ControllerName): readonly string[] => [...rightsGranted(chartRules(program))];

it.each(chartPrograms)('given requests that use all that the charts grant %s, then nothing is unused', (program) => {
  const granted = grantedTo(program);
  expect(granted.length).toBeGreaterThan(5);
  expect(
    unusedChartRights(
      program,
      granted.map((right) => using(right)),
    ),
  ).toEqual([]);
});

it.each(chartPrograms)(
  'given a right of %s that is used by no request, or by a refused one, then it is named',
  (program) => {
    const excepted = exceptions.filter((each) => each.program === program).map(({ right }) => right);
    const granted = grantedTo(program);
    for (const missing of granted.filter((right) => !right.startsWith('list ') && !excepted.includes(right))) {
      const others = granted.filter((right) => right !== missing);
      const requests = [...others.map((right) => using(right)), using(missing, 403)];
      const named = unusedChartRights(program, requests);
      expect(named).toContain(missing);
      // Without its watch a list proves nothing either, but it was sent.
      expect(named).toEqual([missing]);
    }
  },
);

it('given a kind that is watched, then its list may be missing; given neither, then both are named', () => {
  const granted = grantedTo('csi-attacher');
  const without = (...missing: readonly string[]): readonly string[] =>
    unusedChartRights(
      'csi-attacher',
      granted.filter((right) => !missing.includes(right)).map((right) => using(right)),
    );
  const [list, watch] = ['list csinodes.storage.k8s.io', 'watch csinodes.storage.k8s.io'];
  expect(without(list)).toEqual([]);
  expect(without(list, watch)).toEqual([list, watch]);
});

it('given the exceptions, then each is a right that the charts grant, and has a reason', () => {
  for (const { program, right, because } of exceptions) {
    expect(grantedTo(program)).toContain(right);
    expect(because).not.toBe('');
  }
});
