// SPDX-License-Identifier: Apache-2.0
import { FakeClock, recordingLogger, recordingMetrics, seededRandom } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { CsiError } from '../csi-error.ts';
import { type AuditDesk, createAuditBoard } from './audit-board.ts';
import { createAuditMetrics } from './audit-metrics.ts';
import { auditPass } from './audit-pass.ts';
import type { ListFacts } from './list-into.ts';
import type { ListedPage } from './list-pages.ts';

const finding = {
  row: 'O10',
  class: 'missing',
  level: 'difference',
  confirmed: true,
  handle: 'h',
  sinceMs: 0,
  sentence: 'it is gone',
};
const results = ['ok', 'incomplete', 'failed'];

interface Listed extends ListFacts {
  readonly entries: ReadonlyMap<string, unknown>;
}

const onePage = [{ entries: ['a'], next_token: '' }];

/** A pass over these pages that compares in three slices; `compare` may end the leadership. */
async function passed(
  pages: readonly (ListedPage | CsiError)[],
  compare: (stop: AbortController, slice: number) => void = () => {},
  desk?: AuditDesk,
) {
  const clock = new FakeClock();
  const began: number[] = [];
  const comparedMs: number[] = [];
  const logger = recordingLogger();
  const metrics = recordingMetrics();
  const stop = new AbortController();
  const lists: Listed[] = [];
  let taken = new Map<string, unknown>();
  let at = -1;
  const running = auditPass(
    { clock, logger, random: seededRandom(1), signal: stop.signal },
    {
      underWay: () => 0,
      metrics: createAuditMetrics(metrics, 'volumes'),
      desk,
      settings: { auditIntervalMs: 60_000, timeoutMs: 1_000, workerThreads: 10 },
    },
    {
      listed: 'volumes',
      page: async () => {
        at += 1;
        began.push(clock.monotonicMs());
        const page = pages[at]!;
        if (page instanceof CsiError) throw page;
        return page;
      },
      collector: {
        begin: () => (taken = new Map()),
        take: ({ entries }) => entries.forEach((entry) => taken.set(String(entry), entry)),
        listOf: (facts) => ({ ...facts, entries: taken }),
      },
      *compare(list: Listed) {
        lists.push(list);
        for (const slice of [1, 2, 3]) {
          if (slice > 1) yield undefined;
          comparedMs.push(clock.monotonicMs());
          compare(stop, slice);
        }
        return { findings: [finding], isSuspicious: false };
      },
      compared: 'Compared',
      object: 'PV',
    },
  );
  const outcome = running.then(
    ({ isWhole }) => isWhole,
    (error: unknown) => error,
  );
  await clock.advance(60_000);
  return {
    outcome: await outcome,
    lists,
    waitedMs: began[0],
    pausesMs: began.slice(1).map((ms, at) => ms - began[at]!),
    comparedMs,
    logged: logger.lines,
    counted: results.filter((result) => metrics.value('csi_sidecars_audit_passes_total', { kind: 'volumes', result })),
    found: metrics.value('csi_sidecars_audit_findings', { kind: 'volumes', class: 'missing' }),
  };
}

it('given a whole list, then the findings are counted, and each is logged at level 4 with its object', async () => {
  const { outcome, lists, logged, counted, found } = await passed([
    { entries: ['a'], next_token: '1' },
    { entries: ['b'], next_token: '' },
  ]);
  expect([outcome, counted, found]).toEqual([true, ['ok'], 1]);
  expect(lists).toMatchObject([{ isComplete: true, entries: new Map(Object.entries({ a: 'a', b: 'b' })) }]);
  expect(logged).toMatchObject([
    { kind: 'info', level: 2, message: 'Compared', facts: { entries: 2, differences: 1, mayBeWork: 0 } },
    { kind: 'info', level: 4, facts: { row: 'O10', class: 'missing', handle: 'h', PV: '', reason: 'it is gone' } },
  ]);
});

it('given a page that fails after the first one, then the pass is incomplete: the reason is logged, and no finding is counted', async () => {
  const failed = new CsiError({ code: 'Internal', method: 'ListVolumes', detail: 'broken' });
  const { outcome, lists, logged, counted, found } = await passed([{ entries: ['a'], next_token: '1' }, failed]);
  expect([outcome, counted, found]).toEqual([false, ['incomplete'], undefined]);
  expect(lists).toMatchObject([{ isComplete: false }]);
  expect(logged).toMatchObject([{ kind: 'warn', facts: { reason: 'page 2 failed: ' + failed.message } }]);
});

it('given a leadership that ends after the last page, then the pass is not counted, and nothing is reported', async () => {
  const lost = new Error('the lease is lost');
  const { outcome, logged, counted, found } = await passed([{ entries: ['a'], next_token: '' }], (stop, slice) => {
    if (slice === 3) stop.abort(lost);
  });
  expect([outcome, counted, found, logged]).toEqual([lost, [], undefined, []]);
});

it('[explain#123] given several pages and slices, then there is half a second between two pages, and 20 ms between two slices, for the other loops of the process', async () => {
  const pages = [1, 2, 3].map((at) => ({ entries: [`${at}`], next_token: at < 3 ? `${at}` : '' }));
  const { outcome, pausesMs, comparedMs } = await passed(pages);
  const [first = 0] = comparedMs;
  expect([outcome, pausesMs, comparedMs]).toEqual([true, [500, 500], [first, first + 20, first + 40]]);
});

it('given a leadership that ends between two slices, then the next one is not begun', async () => {
  const lost = new Error('the lease is lost');
  const { outcome, comparedMs } = await passed(onePage, (stop, slice) => {
    if (slice === 2) stop.abort(lost);
  });
  expect([outcome, comparedMs.length]).toEqual([lost, 2]);
});

function aDesk() {
  const board = createAuditBoard({ clock: new FakeClock() });
  return { board, desk: board.open({ listed: 'volumes', isPeriodic: true }) };
}

it('given a pass that was asked for, then it begins at once; otherwise instances do not list together', async () => {
  const asked = aDesk();
  asked.board.ask();
  expect((await passed(onePage, undefined, asked.desk)).waitedMs).toBe(0);
  expect((await passed(onePage, undefined, aDesk().desk)).waitedMs).toBeGreaterThan(0);
});

it('given a whole pass, an incomplete one and one that fails, then each is remembered with its result and its reason', async () => {
  const broken = new CsiError({ code: 'Internal', method: 'ListVolumes', detail: 'broken' });
  const lastOf = async (pages: Parameters<typeof passed>[0]) => {
    const { board, desk } = aDesk();
    await passed(pages, undefined, desk);
    return board.state();
  };
  expect(await lastOf(onePage)).toMatchObject({
    isRunning: false,
    last: { result: 'ok', reason: undefined, entries: 1, findings: [finding] },
  });
  expect(await lastOf([{ entries: ['a'], next_token: '1' }, broken])).toMatchObject({
    last: { result: 'incomplete', reason: `page 2 failed: ${broken.message}` },
  });
  expect(await lastOf([broken])).toMatchObject({ last: { result: 'failed', reason: broken.message, findings: [] } });
});

it('[explain#122] given a leadership that ends in a pass, then the pass is not remembered', async () => {
  const { board, desk } = aDesk();
  await passed(onePage, (stop) => stop.abort(new Error('lost')), desk);
  expect(board.state()).toMatchObject({ last: undefined });
});
