// SPDX-License-Identifier: Apache-2.0
/** `/debug/explain` over a real HTTP server: who may ask, how often, and what is refused. */
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeClock, recordingLogger, settle } from '../../testing/index.ts';
import { systemClock } from '../clock/system-clock.ts';
import { startDiagnosticsServer } from '../diagnostics/diagnostics-server.ts';
import type { HttpClient } from '../diagnostics/diagnostics-server.ts';
import { debugExplainRoute, type DebugExplainOptions, type DebugExplanation } from './debug-explain.ts';
import { type ControllerFacts, createInspection, type Inspection, type InspectionState } from './inspection.ts';
import { isLoopbackAddress, isLoopbackHost } from '../api/connection/loopback.ts';

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
}

async function serve(options: Partial<DebugExplainOptions> = {}) {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const inspections = options.inspections ?? [createInspection({ clock }, 'csi-attacher')];
  const route = debugExplainRoute(
    { clock },
    {
      access: 'loopback',
      version: 'v1.2.3',
      hostName: 'pod-1',
      inspections,
      ...options,
    },
  );
  const server = await startDiagnosticsServer({
    address: '127.0.0.1:0',
    routes: [route],
    logger,
    clock: systemClock(),
  });
  onTestFinished(() => server.close());
  const ask = (query = '', given: { readonly method?: string; readonly headers?: Record<string, string> } = {}) =>
    new Promise<Answer>((resolve, reject) => {
      const path = `/debug/explain${query}`;
      const sent = httpRequest({ host: '127.0.0.1', port: server.port, path, agent: false, ...given }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
        response.on('end', () => resolve({ status: response.statusCode, body, headers: response.headers }));
      });
      sent.on('error', reject).end();
    });
  return { clock, logger, port: server.port, ask, route };
}

const answerTo = (client: HttpClient | undefined, access: DebugExplainOptions['access'] = 'loopback') => {
  const { handler } = debugExplainRoute(
    { clock: new FakeClock() },
    { access, version: '', hostName: '', inspections: [] },
  );
  const request = { method: 'GET', path: '/debug/explain', query: new URLSearchParams() };
  return handler({ ...request, signal: new AbortController().signal, ...(client === undefined ? {} : { client }) });
};

describe('who may ask', () => {
  it('[explain#81] given a client of this machine that asks for this machine, then it is answered, and nobody keeps the answer', async () => {
    const { ask } = await serve();
    const answer = await ask();
    expect([answer.status, answer.headers['content-type'], answer.headers['cache-control']]).toEqual([
      200,
      'application/json',
      'no-store',
    ]);
    expect(JSON.parse(answer.body)).toMatchObject({
      apiVersion: 'csi-sidecars/v1',
      kind: 'DebugExplanation',
      version: 'v1.2.3',
      pod: 'pod-1',
      known: null,
      controllers: [{ program: 'csi-attacher', leading: false, holder: null, loops: [], queues: [] }],
    });
  });

  it.each([
    ['another host', { headers: { host: 'evil.example.com' } }, 403],
    ['a host that begins as this machine does', { headers: { host: '127.0.0.1.evil.example.com' } }, 403],
    ['an origin', { headers: { origin: 'http://localhost' } }, 403],
    ['POST', { method: 'POST' }, 405],
    ['HEAD', { method: 'HEAD' }, 405],
  ] as const)(
    '[explain#81] given a request with %s, then it is refused without a body',
    async (_what, given, status) => {
      const { ask } = await serve();
      const answer = await ask('', given);
      expect([answer.status, answer.body]).toEqual([status, '']);
    },
  );

  it.each(['10.0.0.7', '::ffff:10.0.0.7', 'fe80::1', undefined])(
    '[explain#81] given a client at %s, as of another pod, then it is refused; with any it is answered',
    (address) => {
      const client = { address, host: 'localhost:8080', origin: undefined };
      expect(answerTo(client)).toMatchObject({ status: 403, body: '' });
      expect(answerTo(client, 'any')).toMatchObject({ status: 200 });
    },
  );

  it('[explain#81] given a client that is not known, then it is refused', () => {
    expect(answerTo(undefined)).toMatchObject({ status: 403 });
  });

  it('given addresses and names of this machine, then they are known as such, and no others', () => {
    expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].map(isLoopbackAddress)).toEqual(Array(4).fill(true));
    expect(['128.0.0.1', '127.evil', '', '::', undefined].map(isLoopbackAddress)).toEqual(Array(5).fill(false));
    expect(['localhost', 'LOCALHOST:8080', '127.0.0.1:1', '[::1]', '[::1]:80'].map(isLoopbackHost)).toEqual(
      Array(5).fill(true),
    );
    const others = [
      '',
      undefined,
      'localhost.',
      'a.localhost',
      'localhost:x',
      '[::2]',
      '::1',
      'localhost@evil',
      '127.1',
    ];
    expect(others.map(isLoopbackHost)).toEqual(others.map(() => false));
  });
});

describe('what is asked', () => {
  it.each([
    '?kind=pvc&key=shop/data',
    '?kind=pv&key=pv-1',
    '?kind=va&uid=0a1b',
    '?kind=vgsc&key=x',
    '?kind=widgets&key=shop/w',
    '',
  ])('given the query %s, then it is answered', async (query) => {
    const { ask } = await serve();
    expect((await ask(query)).status).toBe(200);
  });

  it.each([
    '?kind=pvc',
    '?key=a',
    '?kind=pvc&key=',
    '?kind=pvc&key=a&key=b',
    '?kind=pvc&kind=pv&key=a',
    '?kind=pvc&key=a&uid=b',
    '?kind=pvc&key=a&other=b',
    '?kind=pvc&key=a%00b',
    '?kind=pvc&key=a/b/c',
    '?kind=__proto__&key=a',
    `?kind=pvc&key=${'a'.repeat(513)}`,
    `?kind=pvc&key=${'a'.repeat(10_240)}`,
  ])('[explain#83] given the query %.40s, then 400 without a body, and the next one is answered', async (query) => {
    const { ask } = await serve();
    const refused = await ask(query);
    expect([refused.status, refused.body]).toEqual([400, '']);
    expect((await ask('?kind=pvc&key=shop/data')).status).toBe(200);
  });

  it('[explain#83] given any query, method and header, then the request is answered or refused, nothing is logged, and the server goes on', async () => {
    const { port, logger, ask, clock } = await serve({ access: 'any' });
    const pieces = [
      'kind=',
      'key=',
      'uid=',
      'pvc',
      '&',
      '=',
      '%00',
      '%ff',
      '%',
      '/',
      '..',
      'a'.repeat(600),
      '\u00e9',
      '+',
      '#',
    ];
    const queries = fc.array(fc.constantFrom(...pieces), { maxLength: 10 });
    const methods = fc.constantFrom('GET', 'HEAD', 'POST', 'DELETE', 'nonsense');
    const headers = fc.constantFrom('host: [', 'host: evil', 'origin: null', 'x: y', 'host:');
    await fc.assert(
      fc.asyncProperty(queries, methods, headers, async (query, method, header) => {
        const head = `${method} /debug/explain?${query.join('')} HTTP/1.1\r\n${header}\r\nconnection: close\r\n\r\n`;
        expect(await rawStatus(port, head)).toMatch(/^(200|400|405|429|431)$/);
      }),
      { seed: 83, numRuns: 200 },
    );
    await clock.advance(1_000);
    expect((await ask()).status).toBe(200);
    expect(logger.messages()).toEqual([]);
  });
});

function rawStatus(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(/^HTTP\/1\.1 (\d+) /.exec(received)?.[1] ?? 'closed'));
  });
}

/** An inspection that counts how often it is asked for its state. */
function counted(state: Partial<InspectionState> = {}) {
  const asked = { times: 0 };
  const known = { leadingSinceMs: 0, holder: 'pod-1_x', caches: [], isSynced: true, ...state };
  const inspection: Inspection = {
    ...createInspection({ clock: new FakeClock() }, 'csi-attacher'),
    state: () => known,
    summaries: () => {
      asked.times += 1;
      return [];
    },
  };
  return { inspection, asked };
}

describe('facts of a controller', () => {
  const factsOf = async (facts: Partial<ControllerFacts>) => {
    const { inspection } = counted();
    inspection.describe(() => ({ driver: null, settings: null, rights: null, ...facts }));
    const { ask } = await serve({ inspections: [inspection] });
    return (JSON.parse((await ask()).body) as DebugExplanation).controllers[0];
  };

  it('given a controller of which nothing is described, then driver, settings and rights are null', async () => {
    const { ask } = await serve();
    expect(JSON.parse((await ask()).body)).toMatchObject({
      controllers: [{ driver: null, settings: null, rights: null }],
    });
  });

  it('given a driver and missing rights, then they are answered as they are at that moment', async () => {
    const driver = { name: 'a.example.com', connected: false, capabilities: ['CONTROLLER_SERVICE'] };
    const rights = [{ verb: 'list', group: '', resource: 'nodes', namespace: null }];
    expect(await factsOf({ driver, rights })).toMatchObject({ driver, rights, settings: null });
  });

  it('[explain#85] given a setting with a credential in it, or a long one, then neither is shown whole', async () => {
    const settings = { url: 'https://admin:hunter2@host', long: 'x'.repeat(2_000) };
    const shown = (await factsOf({ settings }))?.settings;
    expect(shown).toEqual({ url: 'https://***stripped***@host', long: 'x'.repeat(256) });
  });
});

describe('how often', () => {
  const request = { method: 'GET', path: '/debug/explain', query: new URLSearchParams() };
  const client = { address: '127.0.0.1', host: 'localhost', origin: undefined };

  it('[explain#84] given 200 requests at once, then five are answered and the others get 429 without work, ten of them at once and the rest 20 in a second; a second later five more', async () => {
    const { inspection, asked } = counted();
    const { route, clock } = await serve({ inspections: [inspection] });
    const statuses: number[] = [];
    const ask = async (): Promise<void> => {
      const { status } = await route.handler({ ...request, client, signal: new AbortController().signal });
      statuses.push(status);
    };
    const asking = Array.from({ length: 200 }, ask);
    await settle();
    expect(statuses.toSorted((a, b) => a - b)).toEqual([...Array(5).fill(200), ...Array(10).fill(429)]);
    await clock.advance(999);
    expect(statuses).toHaveLength(15 + 19);
    asking.push(ask());
    await clock.advance(1);
    await ask();
    expect(statuses.at(-1)).toBe(200);
    await clock.advance(200 * 50);
    await Promise.all(asking);
    expect(asked.times).toBe(6);
  });

  it('[explain#84] given a client that is gone before its refusal, then the refusal waits for nothing any more', async () => {
    const { route } = await serve({ inspections: [counted().inspection] });
    const gone = new AbortController();
    const ask = async () => await route.handler({ ...request, client, signal: gone.signal });
    for (let at = 0; at < 15; at += 1) await ask();
    const refusal = ask();
    gone.abort(new Error('the client is gone'));
    await expect(refusal).rejects.toThrow('context canceled');
  });

  it('given a leader whose caches are not listed, then 503; one controller of several that has them is enough', async () => {
    const listing = counted({ isSynced: false }).inspection;
    const { ask } = await serve({ inspections: [listing] });
    const answer = await ask();
    expect([answer.status, answer.body]).toEqual([503, '']);
    const { ask: askBoth } = await serve({ inspections: [listing, counted().inspection] });
    expect((await askBoth()).status).toBe(200);
  });

  it('given an answer of more than 64 KiB, then 500 without a body', async () => {
    const caches = Array.from({ length: 2_000 }, (_, at) => ({ kind: `widgets-of-kind-${at}`, synced: true }));
    const { ask } = await serve({ inspections: [counted({ caches }).inspection] });
    const answer = await ask();
    expect([answer.status, answer.body]).toEqual([500, '']);
  });
});
