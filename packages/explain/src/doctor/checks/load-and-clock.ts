// SPDX-License-Identifier: Apache-2.0
/** Parts load and clock: backends that ask for patience, and clocks that differ. */
import { type Check, clusterCheck, factOf, type Judgement, problem, textOf } from '../check.ts';
import { timeOf } from '../../facts/objects.ts';
import { ofDriver, yamlOf } from './wording.ts';

const throttle = /\b429\b|throttl|rate ?limit|too many requests|RequestLimitExceeded/i;
const recentMs = 3_600_000;

const throttled: Check = clusterCheck({
  id: 'load-1',
  severity: 'warn',
  wrong: 'events of the last hour say that the storage or its API refuses because there are too many calls',
  mend: 'fewer threads (--worker-threads, --workers), or a higher limit at the backend',
  reads: ['events'],
  judge: ({ events }, { nowMs }) => {
    const own = events.filter(
      ({ text, lastMs }) => throttle.test(text) && lastMs !== undefined && nowMs - lastMs < recentMs,
    );
    const groups = Map.groupBy(own, ({ reason, component }) => `${reason} ${component}`);
    return [...groups.values()].flatMap((group): readonly Judgement[] => {
      const [first] = group;
      if (first === undefined) return [];
      const count = group.reduce((sum, each) => sum + each.count, 0);
      return [
        problem(`${count} failures ${first.reason} for too many calls: ${first.text}`, {
          objects: group.map(({ object }) => object),
          evidence: [
            factOf(`event of ${textOf(first.object)}`, 'message', first.text),
            factOf(`event of ${textOf(first.object)}`, 'reason, component', `${first.reason}, ${first.component}`),
          ],
          look: ['kubectl', 'get', 'events', '--all-namespaces', `--field-selector=reason=${first.reason}`],
        }),
      ];
    });
  },
});

const toleranceMs = 5_000;

const clocks: Check = clusterCheck({
  id: 'clock-1',
  severity: 'warn',
  wrong:
    'the clock of a holder of a Lease or of a node differs from that of the API server by more than 5 seconds; a warning from half a lease on',
  mend: 'synchronise the clocks',
  reads: ['leading', 'nodes'],
  judge: ({ leading, nodes }, { nowMs }) => {
    const server = factOf('API server', 'time', new Date(nowMs).toISOString());
    const ofLeases = leading.flatMap(({ leader, leases, driver, program }): readonly Judgement[] => {
      const isBehind = leader?.kind === 'lives' && leader.findings.includes('clock-1');
      return leases.flatMap((lease) => {
        const { leaseDurationSeconds = 15, renewTime, holderIdentity = '' } = lease.spec ?? {};
        const aheadMs = (timeOf(String(renewTime)) ?? nowMs) - nowMs;
        if (!isBehind && aheadMs <= toleranceMs) return [];
        // A live Lease that seems to be over is behind by more than its duration.
        const isMuch = isBehind || aheadMs > (leaseDurationSeconds * 1_000) / 2;
        const name = { kind: 'Lease', namespace: lease.metadata?.namespace, name: lease.metadata?.name ?? '' };
        return problem(
          `the clock of ${holderIdentity}, which leads ${program}${ofDriver(driver)}, is ${isBehind ? 'behind' : 'ahead'}`,
          {
            driver,
            program,
            ...(!isMuch && { severity: 'info' }),
            objects: [name],
            evidence: [factOf(textOf(name), 'spec.renewTime', String(renewTime)), server],
            look: yamlOf(name),
          },
        );
      });
    });
    // Only the future says it: an old heartbeat may be a quiet kubelet.
    const ahead = nodes.filter(({ heartbeatMs }) => heartbeatMs !== undefined && heartbeatMs - nowMs > toleranceMs);
    const [first] = ahead;
    if (first === undefined) return ofLeases;
    return [
      ...ofLeases,
      problem(`the clock of node ${first.name}${ahead.length === 1 ? '' : ` and ${ahead.length - 1} more`} is ahead`, {
        severity: 'info',
        objects: ahead.map(({ name }) => ({ kind: 'Node', name })),
        evidence: [
          factOf(`Node ${first.name}`, 'lastHeartbeatTime', new Date(first.heartbeatMs ?? 0).toISOString()),
          server,
        ],
        look: yamlOf({ kind: 'Node', name: first.name }),
      }),
    ];
  },
});

export const loadAndClockChecks: readonly Check[] = [throttled, clocks];
