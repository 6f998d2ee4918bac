// SPDX-License-Identifier: Apache-2.0
/**
 * X-01 and X-02: checks in the audit log, for each profile of rights in this run, that no request of a program under test was refused, except
 * known harmless ones, and that no program requested Secrets in bulk. Writes `rights-<profile>.json`: permissions that were granted and
 * never used, shapes of requests, requests per account. X-11: the same question for the charts' roles.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  isServiceAccount,
  refused,
  rightOf,
  rightsUnused,
  rightsUsed,
  secretAccess,
  shapes,
  tally,
  type Right,
} from '../audit/analyse.ts';
import type { AuditedRequest } from '../audit/read-audit.ts';
import { chartPrograms, unusedChartRights } from '../rbac/chart-rights.ts';
import { accountOf, rbacObjects, rulesOf, type RbacSubject } from '../rbac/profiles.ts';
import { namespaceOf } from '../scenarios/context.ts';
import type { Need } from '../scenarios/needs.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { subjects } from '../scenarios/sidecars.ts';
import type { TestRun } from '../scenarios/test-run.ts';
import type { Result } from './result.ts';

const ids = { minimal: 'X-01', stock: 'X-02' } as const;

/** Whether it comes from an account of one of these scenarios. */
function isOfAny(scenarios: readonly Scenario[]): (request: AuditedRequest) => boolean {
  const namespaces = new Set(scenarios.map(namespaceOf));
  return ({ user }) => namespaces.has(user.split(':')[2] ?? '');
}

/**
 * An API server that has just started refuses all requests until it has read the roles, so refusals in scenarios that restart it
 * prove nothing. Other scenarios lack rights on purpose.
 */
function isExcused({ needs, refusals }: Scenario): boolean {
  return refusals === true || needs.includes('api-server-control');
}

/** A result for each profile that scenarios had. */
export function checkRights(testRun: TestRun, scenarios: readonly Scenario[]): readonly Result[] {
  const profiles = Map.groupBy(scenarios, ({ rights }) => rights ?? testRun.rbac);
  return [...profiles].map(([rbac, own]) => {
    const others = isOfAny(scenarios.filter((each) => !own.includes(each)));
    const requests = testRun.controlPlane.audit?.().filter((request) => isServiceAccount(request) && !others(request));
    return checkProfile({ ...testRun, rbac }, { scenarios: own, requests });
  });
}

interface Evidence {
  readonly scenarios: readonly Scenario[];
  /** Undefined without the need `audit`. */
  readonly requests: readonly AuditedRequest[] | undefined;
}

function checkProfile({ rbac, reports }: TestRun, { scenarios, requests }: Evidence): Result {
  const title = `with the rights of profile ${rbac} nothing was refused that matters, and no Secret was listed`;
  const base = { id: ids[rbac], title, ranMs: 0 };
  if (requests === undefined) return { ...base, outcome: { kind: 'not applicable', missing: ['audit'] } };
  const unusedBy = (subject: RbacSubject): readonly Right[] => {
    const objects = rbacObjects({ profile: rbac, subject }, { namespace: 'any', driverName: 'any' });
    const { name } = accountOf(objects);
    return rightsUnused(
      rulesOf(objects),
      requests.filter(({ user }) => user.endsWith(`:${name}`)),
    );
  };
  const evidence = {
    used: [...rightsUsed(requests)].sort(),
    unused: Object.fromEntries(
      [...Object.values(subjects), 'external-snapshot-metadata' as const].map((subject) => [
        subject,
        unusedBy(subject),
      ]),
    ),
    shapes: shapes(requests),
    requestsByAccount: Object.fromEntries(tally(requests, ({ user }) => user)),
    requestsByKind: Object.fromEntries(tally(requests, (request) => `${rightOf(request)} -> ${request.code}`)),
  };
  writeFileSync(join(reports, `rights-${rbac}.json`), `${JSON.stringify(evidence, undefined, 2)}\n`);
  const excused = isOfAny(scenarios.filter(isExcused));
  const wrong = [...refused(requests).filter((request) => !excused(request)), ...secretAccess(requests)].map(
    (request) => `${request.user}: ${rightOf(request)} -> ${request.code} (${request.uri})`,
  );
  if (wrong.length === 0) return { ...base, outcome: { kind: 'passed' } };
  return { ...base, outcome: { kind: 'failed', error: new Error([...new Set(wrong)].join('\n')) } };
}

/** What a run of all scenarios must have: without one of these, rights remain unused for want of scenarios. */
const neededForAll: readonly Need[] = ['audit', 'controller-manager', 'attributes-classes'];

/** For a run of all scenarios with our programs: each right of the charts' minimal roles was used at least once. */
export function checkChartRights({ controlPlane, has }: TestRun): Result {
  const title = "each right of the charts' minimal roles is used by some scenario";
  const base = { id: 'X-11', title, ranMs: 0 };
  const missing = neededForAll.filter((need) => !has.has(need));
  if (missing.length > 0 || controlPlane.audit === undefined) {
    return { ...base, outcome: { kind: 'not applicable', missing } };
  }
  const requests = controlPlane.audit().filter(isServiceAccount);
  const unused = chartPrograms.flatMap((program) => {
    const own = requests.filter(({ user }) => user.endsWith(`:${program}`));
    return unusedChartRights(program, own).map((right) => `${program}: ${right}`);
  });
  if (unused.length === 0) return { ...base, outcome: { kind: 'passed' } };
  return { ...base, outcome: { kind: 'failed', error: new Error(`granted and never used:\n${unused.join('\n')}`) } };
}
