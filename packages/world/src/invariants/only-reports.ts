// SPDX-License-Identifier: Apache-2.0
/** `only-reports`: programs that report write their reports, their Lease, and nothing else. */
import type { FakeApiServer } from '@csi-sidecars/runtime/testing';
import { isWrite, pathOf } from '../network.ts';

const reports: readonly (readonly [agent: RegExp, writes: RegExp])[] = [
  [/health-monitor/, /^patch persistentvolumeclaims\/status$/],
  [/^volume-data-source-validator/, /^$/],
];
/** What every program may write. */
const common = /^(\S+ leases|(create|patch) events|create selfsubject\w+reviews)$/;

export function otherWrites({ requests }: FakeApiServer): readonly string[] {
  const found = requests.flatMap((request) => {
    const allowed = reports.find(([agent]) => agent.test(request.userAgent))?.[1];
    if (allowed === undefined || !isWrite(request)) return [];
    const text = `${request.verb} ${pathOf(request)}`;
    return allowed.test(text) || common.test(text) ? [] : [`only-reports: ${request.userAgent} sends ${text}`];
  });
  return [...new Set(found)];
}
