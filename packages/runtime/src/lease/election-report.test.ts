// SPDX-License-Identifier: Apache-2.0
/** Each notice of the election: its log line, its metrics and its event. */
import { expect, it } from 'vitest';
import { FakeClock, recordingLogger, recordingMetrics } from '../../testing/index.ts';
import type { RecordedEvent } from '../event-recorder/recorder.ts';
import { toElectionConfig } from './election-config.ts';
import { createElectionMetrics, createReporter } from './election-report.ts';
import type { Notice, Purpose, StopCause } from './election-state.ts';

const config = toElectionConfig({ namespace: 'ns', name: 'lock', identity: 'me', metricName: 'lock-metric' });
const lease = { metadata: { name: 'lock' } };
const error = new Error('no');

function reported(...notices: readonly Notice[]) {
  const logger = recordingLogger();
  const metrics = recordingMetrics();
  const recorded: unknown[] = [];
  const events = {
    record: (regarding: object, event: RecordedEvent) => void recorded.push([regarding, event]),
    flush: async () => undefined,
  };
  const report = createReporter(
    { clock: new FakeClock(), logger, metrics: createElectionMetrics(metrics), events },
    config,
  );
  for (const notice of notices) report(notice);
  const lines = logger.lines.map((line) => {
    const { lock, ...facts } = line.facts;
    expect(lock).toBe('ns/lock');
    const level = line.kind === 'info' ? `${line.level}` : line.kind;
    const cause = line.kind === 'error' && line.error !== undefined ? [line.error] : [];
    return [level, line.message, ...cause, ...(Object.keys(facts).length === 0 ? [] : [facts])];
  });
  const labels = { name: 'lock-metric' };
  const leads = metrics.value('leader_election_master_status', labels);
  return { lines, recorded, leads, slow: metrics.value('leader_election_slowpath_total', labels) };
}

it.each<[Notice, readonly unknown[]]>([
  [{ kind: 'attempting' }, ['0', 'Attempting to acquire leader lease...']],
  [{ kind: 'newLeader', identity: 'x' }, ['3', 'New leader detected', { leader: 'x' }]],
  [{ kind: 'held', by: 'x' }, ['4', 'Lease is held by and has not yet expired', { holder: 'x' }]],
  [{ kind: 'notWatching', error }, ['2', 'Cannot watch the lease, polling instead', { err: error }]],
  [{ kind: 'notReleased', because: 'notMine' }, ['0', 'The lease is not released', { reason: 'not the holder' }]],
  [{ kind: 'notReleased', because: 'tooLate' }, ['0', 'The lease is not released', { reason: 'no time left' }]],
  [{ kind: 'ended', how: 'asked' }, ['0', 'Stopped leading']],
  [{ kind: 'ended', how: 'unasked' }, ['error', 'Stopped leading']],
])('given the notice %o, then one line is logged, without metrics and events', (notice, line) => {
  expect(reported(notice)).toEqual({ lines: [line], recorded: [], leads: 0, slow: undefined });
});

it.each<[Purpose, readonly unknown[]]>([
  ['get', ['error', 'Error retrieving lease lock', error]],
  ['create', ['error', 'Error initially creating lease lock', error]],
  ['renew', ['2', 'Failed to update lease optimistically, falling back to slow path', { err: error }]],
  ['keep', ['error', 'Failed to update lease', error]],
  ['take', ['error', 'Failed to update lease', error]],
  ['release', ['error', 'Failed to release lease', error]],
])('given a request to %s that failed, then one line is logged', (purpose, line) => {
  expect(reported({ kind: 'failed', purpose, error }).lines).toEqual([line]);
});

it('given the metrics of elections, then their help texts and labels are those of Kubernetes', () => {
  const metrics = recordingMetrics();
  createElectionMetrics(metrics);
  const labels = ['name'];
  const name = "'name' is the string used to identify the lease. Please make sure to group by name.";
  expect(metrics.names().map((family) => [family, metrics.definition(family)])).toEqual([
    [
      'leader_election_master_status',
      {
        help: `Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. ${name}`,
        labels,
      },
    ],
    [
      'leader_election_slowpath_total',
      { help: `Total number of slow path exercised in renewing leader leases. ${name}`, labels },
    ],
  ]);
});

it('given the slow path, then it is counted and not logged', () => {
  const { lines, slow } = reported({ kind: 'slowPath' }, { kind: 'slowPath' });
  expect([lines, slow]).toEqual([[], 2]);
});

const event = (message: string): unknown => [lease, { type: 'Normal', reason: 'LeaderElection', message }];

it('given an acquired lease, then the log, the metric and an event on the Lease show it', () => {
  expect(reported({ kind: 'acquired', lease })).toEqual({
    lines: [
      ['0', 'Successfully acquired lease'],
      ['2', 'became leader, starting'],
    ],
    recorded: [event('me became leader')],
    leads: 1,
    slow: undefined,
  });
});

it.each<[StopCause, string, string]>([
  ['workEnded', '0', 'Work ended'],
  ['renewDeadline', '0', 'Failed to renew lease'],
  ['otherHolder', '0', 'Another candidate holds the lease'],
  [
    'sameIdentity',
    'error',
    'Another process holds the lease under the same identity: probably a second container of this pod',
  ],
  ['stalled', 'error', 'The lease ended while this process was not running'],
])(
  'given a leader that stopped because of %s, then the log, the metric and an event show it',
  (because, level, text) => {
    const { lines, recorded, leads } = reported(
      { kind: 'acquired', lease },
      { kind: 'stoppedLeading', lease, because },
    );
    expect([lines.at(-1), recorded.at(-1), leads]).toEqual([[level, text], event('me stopped leading'), 0]);
  },
);

/** A notice every five seconds; the seconds at which the log has a line at level 0, or an error. */
async function loggedAt(seconds: number, noticeAt: (second: number) => Notice) {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const report = createReporter({ clock, logger }, config);
  const lines: unknown[] = [];
  for (let second = 0; second <= seconds; second += 5) {
    const before = logger.lines.length;
    report(noticeAt(second));
    for (const line of logger.lines.slice(before)) {
      const { lock: _, ...facts } = line.facts;
      if (line.kind === 'error' || (line.kind === 'info' && line.level === 0))
        lines.push([second, line.message, facts]);
    }
    await clock.advance(5_000);
  }
  return lines;
}

it('[common#82] given a standby for hours, then the log says so after a minute and at a pace that grows to an hour', async () => {
  const hint = 'the holder renews the lease, so there is nothing to do while its work is done';
  const lines = await loggedAt(4 * 3_600, () => ({ kind: 'held', by: 'x' }));
  expect(lines).toEqual(
    [60, 180, 420, 900, 1_860, 3_780, 7_380, 10_980].map((forSeconds) => [
      forSeconds,
      'Standing by',
      { holder: 'x', forSeconds, hint },
    ]),
  );
});

it('[runtime#151] given attempts that fail for minutes, then each is not an error line, and an answer begins the pace again', async () => {
  const hint =
    'without the lease nothing is done: can the API server be reached, and may this account get and write leases?';
  const text = 'Error retrieving lease lock';
  const lines = await loggedAt(60, (second) =>
    second === 40 ? { kind: 'held', by: 'x' } : { kind: 'failed', purpose: 'get', error },
  );
  expect(lines).toEqual([
    [0, text, {}],
    [10, text, { forSeconds: 10, hint }],
    [30, text, { forSeconds: 30, hint }],
    [45, text, {}],
    [55, text, { forSeconds: 10, hint }],
  ]);
});

it('given a leader that fails to renew, then each attempt is an error line, and a candidate has a pace again', async () => {
  const failure: Notice = { kind: 'failed', purpose: 'keep', error };
  const script: Readonly<Record<number, Notice>> = {
    5: { kind: 'acquired', lease },
    20: { kind: 'stoppedLeading', lease, because: 'renewDeadline' },
  };
  const lines = await loggedAt(35, (second) => script[second] ?? failure);
  const text = 'Failed to update lease';
  expect(lines).toEqual([
    [0, text, {}],
    [5, 'Successfully acquired lease', {}],
    [10, text, {}],
    [15, text, {}],
    [20, 'Failed to renew lease', {}],
    [25, text, expect.objectContaining({ forSeconds: 15 })],
  ]);
});
