// SPDX-License-Identifier: Apache-2.0
/** `/debug/audit`: what is answered of the last audit, and when one begins because of the question. */
import { type AuditedPass, createAuditBoard, type PassFinding } from '@csi-sidecars/csi';
import type { HttpRequest, HttpResponse } from '@csi-sidecars/runtime';
import { createInspection } from '@csi-sidecars/runtime/internal';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { debugAuditRoute } from './debug-audit.ts';

const hourMs = 3_600_000;
type HttpClient = NonNullable<HttpRequest['client']>;

const local: HttpClient = { address: '127.0.0.1', host: 'localhost:8080', origin: undefined };
const finding: PassFinding = {
  row: 'O6',
  class: 'unrecorded',
  level: 'difference',
  confirmed: true,
  handle: 'vol-1',
  object: { kind: 'PersistentVolume', name: 'pv-1' },
  claim: { namespace: 'shop', name: 'data' },
  sinceMs: 0,
  sentence: 'no object of this cluster names it',
};
const ended: AuditedPass = {
  startedMs: 0,
  endedMs: 1_000,
  result: 'ok',
  reason: undefined,
  entries: 3,
  findings: [finding],
};

interface Answered {
  readonly controllers: readonly {
    readonly running: boolean;
    readonly last: { readonly findings: readonly object[]; readonly truncated: boolean } | null;
  }[];
}

interface SetUp {
  readonly audits?: boolean;
  readonly leads?: boolean;
  readonly isPeriodic?: boolean;
}

function setUp({ audits = true, leads = true, isPeriodic = true }: SetUp = {}) {
  const clock = new FakeClock();
  const board = createAuditBoard({ clock });
  const inspection = createInspection({ clock }, 'csi-provisioner');
  inspection.describe(() => ({
    driver: { name: 'a.example.com', connected: true, capabilities: [] },
    settings: null,
    rights: null,
  }));
  if (leads) inspection.leads();
  const desk = audits ? board.open({ listed: 'volumes', isPeriodic }) : undefined;
  const route = debugAuditRoute(
    { clock, version: 'v1.2.3', hostName: 'pod-1' },
    { access: 'loopback', controllers: [{ inspection, board }] },
  );
  const send = (client: HttpClient = local, query = '', method = 'GET') =>
    route.handler({
      method,
      path: '/debug/audit',
      query: new URLSearchParams(query),
      signal: new AbortController().signal,
      client,
    }) as HttpResponse;
  const ask = () => {
    const { status, body } = send();
    expect(status).toBe(200);
    return JSON.parse(String(body)) as Answered;
  };
  return { clock, board, desk, send, ask };
}

describe('the last audit', () => {
  it('given a pass that has ended, then it is answered with its findings, and none begins', () => {
    const { board, desk, ask } = setUp();
    desk?.began();
    desk?.ended(ended);
    expect(ask()).toEqual({
      apiVersion: 'csi-sidecars/v1',
      kind: 'DebugAudit',
      version: 'v1.2.3',
      pod: 'pod-1',
      now: expect.any(String) as unknown,
      controllers: [
        {
          program: 'csi-provisioner',
          driver: 'a.example.com',
          leading: true,
          holder: null,
          listed: 'volumes',
          running: false,
          last: {
            startedAt: '1970-01-01T00:00:00.000Z',
            endedAt: '1970-01-01T00:00:01.000Z',
            result: 'ok',
            reason: null,
            entries: 3,
            counts: { unrecorded: 1 },
            findings: [
              {
                row: 'O6',
                class: 'unrecorded',
                level: 'difference',
                confirmed: true,
                handle: 'vol-1',
                object: { kind: 'PersistentVolume', name: 'pv-1' },
                claim: { namespace: 'shop', name: 'data' },
                since: '1970-01-01T00:00:00.000Z',
                sentence: 'no object of this cluster names it',
              },
            ],
            truncated: false,
          },
        },
      ],
    });
    expect(board.state()?.isRunning).toBe(false);
  });

  it('given a leader without one, then one begins; the questions of an hour after it begin no other', async () => {
    const { clock, desk, ask } = setUp();
    const begins = async () => {
      let isOver = false;
      const stop = new AbortController();
      const pause = desk?.pause(24 * hourMs, stop.signal).then(
        () => (isOver = true),
        () => undefined,
      );
      ask();
      await clock.advance(0);
      stop.abort();
      await pause;
      return isOver;
    };
    expect(await begins()).toBe(true);
    desk?.began();
    desk?.ended({ ...ended, result: 'failed', findings: [] });
    expect(await begins()).toBe(false);
    await clock.advance(hourMs);
    expect(await begins()).toBe(true);
  });

  it('given a leader that makes audits only when asked, then a question begins one if the last began an hour ago, and has none until it ends', async () => {
    const { clock, board, desk, ask } = setUp({ isPeriodic: false });
    desk?.began();
    desk?.ended(ended);
    expect(ask().controllers).toMatchObject([{ last: { result: 'ok' } }]);
    await clock.advance(hourMs);
    expect(ask().controllers).toMatchObject([{ last: null }]);
    expect(desk?.began()).toBe(true);
    expect(ask().controllers).toMatchObject([{ running: true, last: null }]);
    desk?.ended(ended);
    expect(ask().controllers).toMatchObject([{ running: false, last: { result: 'ok' } }]);
    expect(board.state()).toMatchObject({ last: { result: 'ok' } });
  });

  it('given a standby, or a controller that makes no audit, then there is none, and none begins', () => {
    for (const facts of [{ leads: false }, { audits: false }]) {
      const { board, ask } = setUp(facts);
      let asked = 0;
      const before = board.ask;
      Object.assign(board, { ask: () => ((asked += 1), before()) });
      expect(ask().controllers).toMatchObject([{ leading: facts.leads ?? true, listed: null, last: null }]);
      expect(asked).toBe(0);
    }
  });

  it('given thousands of findings with long handles, then the worst are answered within 64 KiB, and it is said that there are more', () => {
    const { desk, send, ask } = setUp();
    const many = Array.from({ length: 3_000 }, (_, at) => ({
      ...finding,
      level: at === 2_999 ? 'difference' : 'info',
      handle: 'x'.repeat(4_096),
    }));
    desk?.began();
    desk?.ended({ ...ended, findings: many });
    expect(Buffer.byteLength(String(send().body))).toBeLessThan(64 * 1_024);
    const last = ask().controllers[0]?.last;
    expect([last?.truncated, (last?.findings.length ?? 0) > 50]).toEqual([true, true]);
    expect(last?.findings[0]).toMatchObject({ level: 'difference', handle: 'x'.repeat(256) });
    expect(last).toMatchObject({ counts: { unrecorded: 3_000 } });
  });

  it('[explain#85] given a password in the text of a failure, then no byte of it is answered', () => {
    const { desk, send } = setUp();
    desk?.began();
    desk?.ended({
      ...ended,
      result: 'failed',
      reason: 'login failed: password=hunter2',
      findings: [{ ...finding, sentence: 'token: hunter2' }],
    });
    expect(String(send().body)).not.toContain('hunter2');
  });
});

describe('who may ask', () => {
  it.each<readonly [string, Partial<HttpClient>]>([
    ['another pod', { address: '10.0.0.7' }],
    ['another host', { host: 'evil.example.com' }],
    ['an origin', { origin: 'http://localhost' }],
  ])('[explain#81] given %s, then 403 without a body, and nothing begins', (_what, client) => {
    const { board, desk, send } = setUp();
    expect(send({ ...local, ...client })).toMatchObject({ status: 403, body: '' });
    expect(desk?.began()).toBe(false);
    expect(board.state()).toMatchObject({ isRunning: true, last: undefined });
  });

  it('given another method, a query, or a sixth question in a second, then it is refused', () => {
    const { send } = setUp();
    expect(send(local, '', 'POST')).toMatchObject({ status: 405, body: '' });
    expect(send(local, 'kind=pvc')).toMatchObject({ status: 400, body: '' });
    expect(Array.from({ length: 6 }, () => send().status)).toEqual([200, 200, 200, 200, 200, 429]);
  });
});
