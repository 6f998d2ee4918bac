// SPDX-License-Identifier: Apache-2.0
import { FakeClock, recordingLogger, recordingMetrics, seededRandom } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { CsiError } from '../csi-error.ts';
import { createAuditMetrics } from './audit-metrics.ts';
import { auditPass } from './audit-pass.ts';
import type { ListFacts } from './list-into.ts';
import type { ListedPage } from './list-pages.ts';

const finding = { row: 'O10', class: 'missing', level: 'difference', handle: 'h', sentence: 'it is gone' };
const results = ['ok', 'incomplete', 'failed'];

interface Listed extends ListFacts {
  readonly entries: ReadonlyMap<string, unknown>;
}

/** A pass over these pages; `compare` may end the leadership. */
async function passed(pages: readonly (ListedPage | CsiError)[], compare: (stop: AbortController) => void = () => {}) {
  const clock = new FakeClock();
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
      settings: { auditIntervalMs: 60_000, timeoutMs: 1_000, workerThreads: 10 },
    },
    {
      listed: 'volumes',
      page: async () => {
        at += 1;
        const page = pages[at]!;
        if (page instanceof CsiError) throw page;
        return page;
      },
      collector: {
        begin: () => (taken = new Map()),
        take: ({ entries }) => entries.forEach((entry) => taken.set(String(entry), entry)),
        listOf: (facts) => ({ ...facts, entries: taken }),
      },
      compare: (list: Listed) => {
        lists.push(list);
        compare(stop);
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
  const { outcome, logged, counted, found } = await passed([{ entries: ['a'], next_token: '' }], (stop) =>
    stop.abort(lost),
  );
  expect([outcome, counted, found, logged]).toEqual([lost, [], undefined, []]);
});
