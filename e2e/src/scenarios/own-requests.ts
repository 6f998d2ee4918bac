// SPDX-License-Identifier: Apache-2.0
import type { AuditedRequest } from '../audit/read-audit.ts';
import type { ScenarioContext } from './context.ts';

/** The requests of this scenario's programs under test to the API server (needs `audit`). */
export function ownRequests({ testRun, namespace }: ScenarioContext): readonly AuditedRequest[] {
  const prefix = `system:serviceaccount:${namespace}:`;
  return (testRun.controlPlane.audit?.() ?? []).filter(({ user }) => user.startsWith(prefix));
}
