// SPDX-License-Identifier: Apache-2.0
import type { AuditedRequest } from '../audit/read-audit.ts';
import type { ScenarioContext } from './context.ts';

/** What the programs under test of this scenario have asked the API server (needs `audit`). */
export function ownRequests({ world, namespace }: ScenarioContext): readonly AuditedRequest[] {
  const prefix = `system:serviceaccount:${namespace}:`;
  return (world.controlPlane.audit?.() ?? []).filter(({ user }) => user.startsWith(prefix));
}
