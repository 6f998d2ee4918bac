// SPDX-License-Identifier: Apache-2.0
/** `audit --via-pod` and `--via`: the last audit of the leaders that make one. A leader that has none begins one, and is waited for. */
import type { Clock } from '@csi-sidecars/runtime';
import { CommandError, exits } from '../command/exit-codes.ts';
import type { Cluster } from '../command/open-cluster.ts';
import { answerOf } from '../leader-answer/endpoint.ts';
import type { ViaPorts } from '../leader-answer/ask.ts';
import type { Program } from '../verdict.ts';
import type { AuditKind } from './audit-flags.ts';
import type { Report } from './report.ts';
import { parseAudit, type AnsweredAudit, type AnsweredPass } from './leader-audit.ts';

export interface AskLeaders {
  readonly via: ViaPorts;
  readonly clock: Clock;
  readonly cluster: Pick<Cluster, 'reader' | 'signal' | 'nowMs' | 'cost'>;
  /** One line on stderr. */
  readonly note: (line: string) => void;
}

export interface AskedAudit {
  readonly driver: string;
  readonly driverNamespace: string;
  readonly kinds: ReadonlySet<AuditKind>;
}

const pollMs = 5_000;
const programs = { volumes: 'csi-provisioner', snapshots: 'csi-snapshotter' } as const;
type Half = keyof typeof programs;

interface Answered {
  readonly half: Half;
  readonly audit: AnsweredAudit;
  readonly last: AnsweredPass;
}

/** Rejects with a CommandError if the driver is another one, or if the last audit has failed. */
export async function askedReport(ask: AskLeaders, asked: AskedAudit): Promise<Report> {
  const { cluster } = ask;
  const { driver, kinds } = asked;
  const answered: Answered[] = [];
  const notRun: Report['notRun'][number][] = [];
  for (const half of ['volumes', 'snapshots'] as const) {
    if (!kinds.has(half)) continue;
    const answer = await lastOf(ask, asked, half);
    if (typeof answer === 'string') notRun.push({ kind: half, because: answer, isUnread: true });
    else answered.push({ half, ...answer });
  }
  if (kinds.has('attachments'))
    notRun.push({ kind: 'attachments', because: 'csi-attacher reports them in its metrics only', isUnread: false });
  const entriesOf = (half: Half): number => answered.find((each) => each.half === half)?.last.entries ?? 0;
  return {
    driver,
    kinds,
    atMs: cluster.nowMs(),
    // The program works with the driver, whatever objects there are.
    isKnown: true,
    lists: 1,
    findings: answered.flatMap(({ last }) => last.findings),
    counts: summed(answered.map(({ last }) => last.counts)),
    foreign: 0,
    notRun,
    incomplete: answered.flatMap(({ half, last }) =>
      last.result === 'ok' ? [] : [{ kind: half, because: last.reason ?? 'it is not whole' }],
    ),
    entries: { volumes: entriesOf('volumes'), snapshots: entriesOf('snapshots') },
    leaders: answered.map(({ half, audit, last }) => ({
      listed: half,
      program: audit.program,
      pod: audit.pod,
      endedMs: last.endedMs,
      isTruncated: last.isTruncated,
    })),
    missing: cluster.reader.missing(),
    cost: cluster.cost(),
  };
}

function summed(all: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [name, value] of all.flatMap((counts) => [...counts])) sums.set(name, (sums.get(name) ?? 0) + value);
  return sums;
}

/** Or why there is none. */
async function lastOf(ask: AskLeaders, asked: AskedAudit, half: Half): Promise<Omit<Answered, 'half'> | string> {
  const { via, clock, cluster, note } = ask;
  const program: Program = programs[half];
  const question = { program, driver: asked.driver, namespace: asked.driverNamespace };
  const endpoints = await via.endpoints(cluster.reader, question);
  for (let isFirst = true; ; isFirst = false) {
    const path = { path: '/debug/audit', parse: parseAudit };
    const answers = await Promise.all(endpoints.map((endpoint) => answerOf(via, endpoint, path)));
    const audit = answers.flatMap((each) => each ?? []).find((each) => each.program === program && each.leading);
    if (audit === undefined) return `no leader of ${program} has answered`;
    if (audit.driver !== asked.driver)
      throw new CommandError(exits.failed, `the driver is ${audit.driver ?? 'not known yet'}, and not ${asked.driver}`);
    if (audit.listed === null) return `${program} makes no audit: the driver does not list ${half}`;
    const { last } = audit;
    if (last !== null && last.result === 'failed' && !audit.running)
      throw new CommandError(exits.failed, `the last audit of ${program} failed: ${last.reason ?? 'no reason'}`);
    if (last !== null && last.result !== 'failed') return { audit, last };
    if (isFirst) note(`waiting for the first audit of ${program}`);
    try {
      await clock.sleep(pollMs, cluster.signal);
    } catch (error) {
      if (via.signal.aborted) throw error;
      return `the audit of ${program} has not ended within --timeout`;
    }
  }
}
