// SPDX-License-Identifier: Apache-2.0
import { refused, rightOf } from '../audit/analyse.ts';
import type { AuditedRequest } from '../audit/read-audit.ts';
import type { ScenarioContext } from './context.ts';

/**
 * The requests of this scenario's programs under test to the API server (needs `audit`). The reviews of their rights, at the start, are not
 * among them: they store nothing.
 */
export function ownRequests({ testRun, namespace }: ScenarioContext): readonly AuditedRequest[] {
  const prefix = `system:serviceaccount:${namespace}:`;
  return (testRun.controlPlane.audit?.() ?? []).filter(
    ({ user, group }) => user.startsWith(prefix) && group !== 'authorization.k8s.io',
  );
}

/** Which of them were refused, by program and right. Without `audit` none are seen. */
export function ownRefusals(ctx: ScenarioContext): readonly string[] {
  const own = refused(ownRequests(ctx), []);
  return [...new Set(own.map((request) => `${request.userAgent}: ${rightOf(request)}`))];
}
