// SPDX-License-Identifier: Apache-2.0
/**
 * An API server that dies at the answer to one write and comes back: the caller of that write does not learn whether it happened, every
 * request in between is refused a connection, and watches break. The test says what others do after the return.
 *
 * ```
 * const outage = addOutage(cluster, { write: 2, lost: 'afterCommit', awayMs: 2_000, back: [{ afterMs: 100, happens: kubeletFinishes }] });
 * await clock.advance(600_000);
 * expect(outage.write()).toBe('patch persistentvolumeclaims/status');
 * ```
 */
import type { Fault, FaultRule } from '@csi-sidecars/runtime/testing';
import type { TestCluster } from './test-cluster.ts';

export interface OutageOptions {
  /** Which write of the process, counted from 0. Events do not count. */
  readonly write: number;
  readonly lost: 'beforeCommit' | 'afterCommit';
  readonly awayMs: number;
  /** What happens so many milliseconds after the API server has come back. */
  readonly back?: readonly { readonly afterMs: number; readonly happens: () => void }[];
}

export interface Outage {
  /** `patch persistentvolumeclaims/status`; undefined: so many writes were not made, and the API server did not die. */
  write(): string | undefined;
}

const writing: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);

export function addOutage({ clock, server, faults }: TestCluster, options: OutageOptions): Outage {
  const { write, lost, awayMs, back = [] } = options;
  let writes = 0;
  let where: string | undefined;
  let isAway = false;
  const dies: FaultRule['when'] = ({ verb, resource, subresource }) => {
    if (!writing.has(verb) || resource === 'events' || writes++ !== write) return false;
    where = `${verb} ${[resource, subresource].filter((part) => part !== undefined).join('/')}`;
    isAway = true;
    server.endWatches('broken');
    clock.timer(awayMs, () => {
      isAway = false;
      for (const { afterMs, happens } of back) clock.timer(afterMs, happens);
    });
    return true;
  };
  const refused: Fault = { kind: 'break', point: 'before', failure: 'refused' };
  const noAnswer: Fault = { kind: 'break', point: lost === 'afterCommit' ? 'after' : 'before', failure: 'eof' };
  faults.push({ when: () => isAway, fault: refused, times: Infinity }, { when: dies, fault: noAnswer });
  return { write: () => where };
}
