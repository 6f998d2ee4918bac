// SPDX-License-Identifier: Apache-2.0
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import type { TestCluster } from './test-cluster.ts';

/**
 * An API server that streams no lists, whose cache is behind for one kind: its lists at version 0 are from before `change`, and its watch is
 * late. Called before the process starts that is to meet it; `change` is made after the first of these lists.
 */
export function listOldState({ faults }: Pick<TestCluster, 'faults'>, plural: string, change: () => void): void {
  let isChanged = false;
  const changes: FaultRule['when'] = ({ resource, request: { path } }) => {
    const isOld = path.includes('resourceVersion=0') || path.includes('sendInitialEvents');
    if (resource !== plural || isOld || isChanged) return false;
    isChanged = true;
    change();
    return false;
  };
  const none = { kind: 'status', point: 'before', code: 422, reason: 'Invalid' } as const;
  faults.push(
    { when: changes, fault: none },
    { when: ({ request }) => request.path.includes('sendInitialEvents'), fault: none, times: 99 },
    {
      when: ({ verb, resource }) => verb === 'watch' && resource === plural,
      fault: { kind: 'lag', ms: 5_000 },
      times: 9,
    },
  );
}
