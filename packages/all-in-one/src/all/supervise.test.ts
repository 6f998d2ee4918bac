// SPDX-License-Identifier: Apache-2.0
import { FakeClock, recordingLogger, recordingMetrics, settle } from '@csi-sidecars/runtime/testing';
import { ExitError } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { createStates } from './states.ts';
import { type ProcessFault, supervise } from './supervise.ts';
import type { RunEnd } from './supervision.ts';

const name = 'resizer';
const failed = (error: unknown): RunEnd => ({ kind: 'failed', error });

/** Runs end as listed, one after the other; the last one does not end. */
function supervised(ends: readonly RunEnd[], { onFailure = 'restart', lastingMs = [] as readonly number[] } = {}) {
  const clock = new FakeClock();
  const log = recordingLogger();
  const metrics = recordingMetrics();
  const states = createStates([name], metrics);
  const faults: ProcessFault[] = [];
  const stopping = new AbortController();
  const controller = { name, failures: 0 };
  const startsMs: number[] = [];
  const run = async (): Promise<RunEnd> => {
    states.set(name, 'working');
    startsMs.push(clock.monotonicMs());
    const end = ends[startsMs.length - 1];
    if (end === undefined) return await new Promise(() => undefined);
    const lastedMs = lastingMs[startsMs.length - 1] ?? 0;
    if (lastedMs > 0) await clock.sleep(lastedMs, new AbortController().signal);
    return end;
  };
  let isOver = false;
  const over = supervise(
    {
      clock,
      log,
      states,
      onFailure: onFailure as 'restart' | 'exit',
      endProcess: (fault) => faults.push(Object.assign({ stateThen: states.of(name) }, fault)),
    },
    { controller, run },
    stopping.signal,
  ).then(() => (isOver = true));
  const restarts = () => metrics.value('csi_sidecars_controller_restarts_total', { controller: name });
  return { clock, log, states, faults, stopping, controller, startsMs, restarts, over, isOver: () => isOver };
}

const error = new ExitError(7, 'what', { cause: new Error('why') });

it.each<[RunEnd, string, object]>([
  [{ kind: 'stopped' }, 'stopped', { row: 'U1', action: 'rest' }],
  [{ kind: 'refused', error }, 'stopped', { row: 'U2', action: 'endProcess' }],
  [{ kind: 'driverLost' }, 'starting', { row: 'U3', action: 'awaitDriver' }],
  [{ kind: 'lacking', error }, 'parked', { row: 'U4', action: 'park' }],
])('given a run with the end %j, then no other follows, and the state is %s', async (end, state, facts) => {
  const { log, states, faults, startsMs, over } = supervised([end, end]);
  expect(states.running).toEqual(new Set([name]));
  await over;
  expect([startsMs, states.of(name), states.running]).toEqual([[0], state, new Set()]);
  expect(log.lines[0]).toEqual({ kind: 'info', level: 5, message: 'Decided', facts });
  expect(faults).toEqual(end.kind === 'refused' ? [{ code: 7, error, controller: name, stateThen: 'stopped' }] : []);
  expect(log.lines.slice(1)).toEqual(
    end.kind === 'lacking'
      ? [
          {
            kind: 'error',
            message: 'what; the controller is parked until the driver connects again',
            facts: {},
            error: error.cause,
          },
        ]
      : [],
  );
});

it('given a lost lease, then the next run begins at once', async () => {
  const { log, states, startsMs, restarts, isOver } = supervised([{ kind: 'leaseLost' }]);
  await settle();
  expect([startsMs, isOver(), restarts(), states.running]).toEqual([[0, 0], false, 0, new Set([name])]);
  expect(log.messages()).toEqual(['Decided', 'The lease is lost, the controller stands by']);
});

it('given failures, then each is logged with its cause, the pauses become longer, and a long run makes them short again', async () => {
  const plain = new TypeError('defect');
  const bare = new ExitError(1, 'bare');
  const { clock, log, states, controller, startsMs, restarts } = supervised([
    failed(error),
    failed(plain),
    failed(bare),
  ]);
  await settle();
  expect([states.of(name), states.running, controller.failures, restarts()]).toEqual(['backoff', new Set(), 1, 1]);
  await clock.advance(7_000);
  expect([states.of(name), startsMs, controller.failures, restarts()]).toEqual([
    'working',
    [0, 1_000, 3_000, 7_000],
    3,
    3,
  ]);
  const message = 'The controller failed and starts again';
  expect(log.lines.filter(({ kind }) => kind === 'error')).toEqual([
    { kind: 'error', message, facts: { what: 'what', afterSeconds: 1 }, error: error.cause },
    { kind: 'error', message, facts: { afterSeconds: 2 }, error: plain },
    { kind: 'error', message, facts: { afterSeconds: 4 }, error: bare },
  ]);
  const wrapping = new Error('outside', { cause: plain });
  const other = supervised([wrapping, wrapping, wrapping].map(failed), { lastingMs: [600_000, 600_000] });
  await other.clock.advance(1_204_000);
  expect(other.startsMs).toEqual([0, 601_000, 1_202_000, 1_204_000]);
  expect(other.log.lines.filter(({ kind }) => kind === 'error')).toEqual(
    [1, 1, 2].map((afterSeconds) => ({ kind: 'error', message, facts: { afterSeconds }, error: wrapping })),
  );
});

it('given a failure and exit as the reaction, then the process ends with 1', async () => {
  const { faults, over } = supervised([failed(error)], { onFailure: 'exit' });
  await over;
  expect(faults).toEqual([{ code: 1, error, controller: name, stateThen: 'stopped' }]);
});

it.each([
  ['starting', 'backoff'],
  ['stopped', 'stopped'],
] as const)(
  'given a stop during a pause, then no run follows, and the state is %s if it was %s',
  async (state, before) => {
    const { clock, states, stopping, startsMs, over } = supervised([failed(error)]);
    await settle();
    states.set(name, before);
    stopping.abort();
    await over;
    await clock.advance(60_000);
    expect([states.of(name), startsMs]).toEqual([state, [0]]);
  },
);
