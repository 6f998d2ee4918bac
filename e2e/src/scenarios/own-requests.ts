// SPDX-License-Identifier: Apache-2.0
import { refused, rightOf } from '../audit/analyse.ts';
import type { AuditedRequest } from '../audit/read-audit.ts';
import type { ScenarioContext } from './context.ts';

/** The requests of this scenario's programs under test to the API server (needs `audit`). */
export function ownRequests({ testRun, namespace }: ScenarioContext): readonly AuditedRequest[] {
  const prefix = `system:serviceaccount:${namespace}:`;
  return (testRun.controlPlane.audit?.() ?? []).filter(({ user }) => user.startsWith(prefix));
}

/** Which of them were refused, by program and right. Without `audit` none are seen. */
export function ownRefusals(ctx: ScenarioContext): readonly string[] {
  const own = refused(ownRequests(ctx), []);
  return [...new Set(own.map((request) => `${request.userAgent}: ${rightOf(request)}`))];
}
