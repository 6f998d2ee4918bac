// SPDX-License-Identifier: Apache-2.0
/** What the reflector asks the server for, and what handlers see of it, when servers answer as servers do. */
import { describe, expect, it } from 'vitest';
import {
  aVolume,
  listPage,
  ScriptedBody,
  scriptedInformer,
  type ScriptedInformer,
  scriptedTransport,
  settle,
  FakeClock,
  recordingLogger,
  seededRandom,
} from '../../testing/index.ts';
import { createApiClient } from '../api/create-client.ts';
import { ApiError } from '../api/errors.ts';
import { persistentVolumes } from '../api/resource.ts';
import { TransportError } from '../api/transport.ts';
import { createInformer } from './create-informer.ts';

const refused = new TransportError('refused', 'connect ECONNREFUSED');
const busy = new ApiError({ status: 429, reason: 'TooManyRequests', message: 'busy' });
const expired = new ApiError({ status: 410, reason: 'Expired', message: 'too old' });
const unsupported = new ApiError({ status: 422, reason: 'Invalid', message: 'sendInitialEvents is forbidden' });
const forbidden = new ApiError({ status: 403, reason: 'Forbidden', message: 'forbidden' });
const missing = new ApiError({ status: 404, reason: 'NotFound', message: 'the server could not find the resource' });

const stream = (): ScriptedBody => new ScriptedBody();
const status = ({ status: code, reason, message }: ApiError): object => ({ kind: 'Status', code, reason, message });
/** A streaming list of these volumes, synced at a version. */
const synced = (resourceVersion: string, ...volumes: readonly object[]): ScriptedBody => {
  const body = stream();
  for (const volume of volumes) body.event('ADDED', volume);
  return body.bookmark(resourceVersion, 'end');
};
const errorLines = ({ logger }: ScriptedInformer): number => logger.lines.filter(({ kind }) => kind === 'error').length;

describe('first sync', () => {
  it('[runtime#59] given a server that streams lists, then one request, and no list', async () => {
    const { api, informer, told, start, stop } = scriptedInformer();
    api.answers(synced('10', aVolume('a', '7'), aVolume('b', '8')));
    await start();
    expect(api.summaries).toEqual(['stream rv=']);
    expect(api.requests[0]?.path).toBe(
      '/api/v1/persistentvolumes?watch=true&allowWatchBookmarks=true&sendInitialEvents=true' +
        '&resourceVersionMatch=NotOlderThan&timeoutSeconds=300',
    );
    expect(told).toEqual(['add a@7 initial', 'add b@8 initial']);
    expect(informer.hasSynced).toBe(true);
    await stop();
  });

  it.each([
    { id: '[runtime#60]', given: 'Invalid', error: unsupported },
    { id: '[runtime#61]', given: 'an error that is no answer of the server', error: new Error('dummy') },
  ])('$id given $given for the stream, then list and watch: three requests', async ({ error }) => {
    const { api, told, start, stop } = scriptedInformer();
    api.answers(error, listPage([aVolume('a', '7')], { resourceVersion: '10' }));
    await start();
    expect(api.summaries).toEqual(['stream rv=', 'list rv=0 limit=500', 'watch rv=10']);
    expect(told).toEqual(['add a@7 initial']);
    await stop();
  });

  it('[runtime#62] given 429 twice, then the third stream succeeds and nothing is listed', async () => {
    const { api, informer, clock, start, stop } = scriptedInformer();
    api.answers(busy, busy, synced('10'));
    await start();
    await clock.advance(800);
    await clock.advance(1600);
    expect(api.summaries).toEqual(['stream rv=', 'stream rv=', 'stream rv=']);
    expect(informer.hasSynced).toBe(true);
    await stop();
  });

  it('[runtime#63] given a stream closed before its end mark, then it starts over and handlers saw nothing', async () => {
    const { api, told, clock, start, stop } = scriptedInformer();
    api.answers(stream().event('ADDED', aVolume('gone', '5')).end(), synced('10', aVolume('a', '7')));
    await start();
    expect(told).toEqual([]);
    await clock.advance(800);
    expect(api.summaries).toEqual(['stream rv=', 'stream rv=']);
    expect(told).toEqual(['add a@7 initial']);
    await stop();
  });

  it('given a stream that had a minute and was closed without its end mark, then the collection is listed', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    const old = stream().event('ADDED', aVolume('a', '5'));
    api.answers(old);
    await start();
    await clock.advance(300_000);
    old.end();
    await clock.advance(800);
    expect(api.summaries).toEqual(['stream rv=', 'list rv=0 limit=500']);
    await stop();
  });

  it('[runtime#64] given the end mark with the value "false", then it is not synced', async () => {
    const { api, informer, start, stop } = scriptedInformer();
    const metadata = { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'false' } };
    api.answers(stream().event('BOOKMARK', { kind: 'PersistentVolume', apiVersion: 'v1', metadata }));
    await start();
    expect(informer.hasSynced).toBe(false);
    expect(informer.lister.resourceVersion).toBe('');
    await stop();
  });

  it('[runtime#65] given changes and deletions inside the initial stream, then handlers see the net result as adds', async () => {
    const { api, told, start, stop } = scriptedInformer();
    const body = stream().event('ADDED', aVolume('a', '1')).event('ADDED', aVolume('b', '2'));
    api.answers(body.event('MODIFIED', aVolume('a', '3')).event('DELETED', aVolume('b', '4')).bookmark('5', 'end'));
    await start();
    expect(told).toEqual(['add a@3 initial']);
    await stop();
  });

  it('[runtime#66] given a stop before the end mark, then no handler was called and nothing is synced', async () => {
    const { api, clock, informer, told, signal, start, stop } = scriptedInformer();
    api.answers(stream().event('ADDED', aVolume('a', '1')));
    await start();
    const waiting = informer.whenSynced(signal);
    await stop();
    expect(await waiting).toBe(false);
    expect(told).toEqual([]);
    expect(informer.hasSynced).toBe(false);
    expect(clock.pending).toBe(0);
  });

  it('[runtime#73] given an empty list, then it is synced', async () => {
    const { api, informer, signal, start, stop } = scriptedInformer({ streaming: 'off' });
    api.answers(listPage([], { resourceVersion: '3' }));
    await start();
    expect(await informer.whenSynced(signal)).toBe(true);
    expect(informer.lister.list()).toEqual([]);
    await stop();
  });

  it('[runtime#74] given a list item without metadata, then it is skipped and logged, and the others count', async () => {
    const harness = scriptedInformer({ streaming: 'off' });
    const { api, told, start, stop } = harness;
    api.answers(listPage([{ kind: 'PersistentVolume' }, aVolume('a', '2')], { resourceVersion: '3' }));
    await start();
    expect(told).toEqual(['add a@2 initial']);
    expect(errorLines(harness)).toBe(1);
    await stop();
  });

  it('[runtime#93a] given 429 with Retry-After while the server fills its cache, then the client waits and nothing is listed', async () => {
    const clock = new FakeClock();
    const logger = recordingLogger();
    const metadata = { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } };
    const bookmark = JSON.stringify({
      type: 'BOOKMARK',
      object: { kind: 'PersistentVolume', apiVersion: 'v1', metadata },
    });
    const scripted = scriptedTransport(
      { status: 429, headers: { 'retry-after': '1' }, body: status(busy) },
      { body: `${bookmark}\n` },
      'hang',
    );
    const client = createApiClient(
      { transport: scripted.transport, clock, logger },
      { userAgent: 'x', qps: -1, burst: 0 },
    );
    const informer = createInformer(
      { client, clock, random: seededRandom(1), logger },
      { resource: persistentVolumes },
    );
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    await clock.advance(1000);
    await settle();
    expect(informer.hasSynced).toBe(true);
    expect(scripted.requests.map(({ path }) => path.includes('sendInitialEvents=true'))).toEqual([true, true]);
    stop.abort();
    await running;
  });

  it('given a server without streaming lists, then it is asked for one again after 30 minutes only', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    const first = stream();
    const list = (): ScriptedBody => listPage([], { resourceVersion: '10' });
    api.answers(unsupported, list(), first, list());
    await start();
    first.event('ERROR', status(expired));
    await clock.advance(800);
    expect(api.summaries.slice(3)).toEqual(['list rv=10', 'watch rv=10']);
    await clock.advance(30 * 60_000);
    api.answers(expired);
    await clock.advance(335_000);
    expect(api.summaries.slice(-2)).toEqual(['watch rv=10', 'stream rv=10']);
    await stop();
  });

  it('given metadata only, then the server is asked for it and objects still name their own kind', async () => {
    const { api, informer, start, stop } = scriptedInformer({ content: 'metadata', labelSelector: 'a=b' });
    const partial = {
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { name: 'a', resourceVersion: '1' },
    };
    api.answers(unsupported, listPage([], { resourceVersion: '1' }), stream().event('ADDED', partial));
    await start();
    expect(api.requests.map(({ accept }) => accept)).toEqual([
      'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json',
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
      'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json',
    ]);
    expect(api.requests.every(({ path }) => path.includes('labelSelector=a%3Db'))).toBe(true);
    expect(informer.lister.list()).toEqual([
      { kind: 'PersistentVolume', apiVersion: 'v1', metadata: { name: 'a', resourceVersion: '1' } },
    ]);
    await stop();
  });
});

describe('lists', () => {
  it('[runtime#68] given a first list that came in pages, then later lists ask for pages too', async () => {
    const { api, told, clock, start, stop } = scriptedInformer({ streaming: 'off' });
    const watch = stream();
    api.answers(listPage([aVolume('a', '1')], { resourceVersion: '10', next: 'token' }));
    api.answers(listPage([aVolume('b', '2')], { resourceVersion: '11' }), watch);
    await start();
    watch.event('ERROR', status(expired));
    await clock.advance(800);
    expect(api.summaries).toEqual([
      'list rv=0 limit=500',
      'list rv= limit=500 continue=token',
      'watch rv=10',
      'list rv=10 limit=500',
    ]);
    expect(told).toEqual(['add a@1 initial', 'add b@2 initial']);
    await stop();
  });

  it('[runtime#69] given a relist at a version that is gone, then one list without a version follows at once', async () => {
    const { api, clock, start, stop } = scriptedInformer({ streaming: 'off' });
    const watch = stream();
    api.answers(listPage([], { resourceVersion: '10' }), watch, expired, expired);
    await start();
    watch.event('ERROR', status(expired));
    await clock.advance(800);
    expect(api.summaries).toEqual(['list rv=0 limit=500', 'watch rv=10', 'list rv=10', 'list rv= limit=500']);
    await stop();
  });

  it('[runtime#70] given a second page that has expired, then the whole list is read at the version first asked for', async () => {
    const { api, told, clock, start, stop } = scriptedInformer({ streaming: 'off', pageSize: 4 });
    const watch = stream();
    api.answers(listPage([], { resourceVersion: '10' }), watch);
    api.answers(listPage([aVolume('stale', '11')], { resourceVersion: '12', next: 'token' }), expired);
    api.answers(listPage([aVolume('a', '13')], { resourceVersion: '14' }));
    await start();
    watch.event('ERROR', status(expired));
    await clock.advance(800);
    expect(api.summaries.slice(2)).toEqual([
      'list rv=10 limit=4',
      'list rv= limit=4 continue=token',
      'list rv=10',
      'watch rv=14',
    ]);
    expect(told).toEqual(['add a@13']);
    await stop();
  });

  const timeout = { status: 504, reason: 'Timeout', message: 'timed out' };
  it.each([
    { dialect: 'a cause with a reason', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] }, message: 'x' },
    {
      dialect: 'a cause with a message',
      details: { causes: [{ message: 'Too large resource version' }] },
      message: 'x',
    },
    { dialect: 'a message', details: undefined, message: 'Timeout: Too large resource version: 10, current: 5' },
  ])(
    '[runtime#71] given a version too large, told by $dialect, then one list without a version follows at once',
    async (error) => {
      const { api, clock, start, stop } = scriptedInformer({ streaming: 'off' });
      const watch = stream();
      api.answers(listPage([], { resourceVersion: '10' }), watch, new ApiError({ ...timeout, ...error }));
      await start();
      watch.event('ERROR', status(expired));
      await clock.advance(800);
      expect(api.summaries.slice(2)).toEqual(['list rv=10', 'list rv= limit=500']);
      await stop();
    },
  );

  it('[runtime#72] given pages of different versions, then the first one is that of the list', async () => {
    const { api, informer, start, stop } = scriptedInformer({ streaming: 'off' });
    api.answers(listPage([], { resourceVersion: '10', next: 't' }), listPage([], { resourceVersion: '15' }));
    await start();
    expect(api.summaries.at(-1)).toBe('watch rv=10');
    expect(informer.lister.resourceVersion).toBe('10');
    await stop();
  });

  it('[runtime#93c] given a list cut in the middle, then the store stays as it was and the backoff begins', async () => {
    const harness = scriptedInformer({ streaming: 'off' });
    const { api, informer, told, clock, start, stop } = harness;
    const watch = stream();
    const whole = JSON.stringify({
      metadata: { resourceVersion: '12' },
      items: [aVolume('b', '11'), aVolume('c', '12')],
    });
    api.answers(
      listPage([aVolume('a', '1')], { resourceVersion: '10' }),
      watch,
      stream().write(whole.slice(0, -40)).end(),
    );
    await start();
    watch.event('ERROR', status(expired));
    await clock.advance(800);
    expect(told).toEqual(['add a@1 initial']);
    expect(informer.lister.list().map(({ metadata }) => metadata?.name)).toEqual(['a']);
    expect(errorLines(harness)).toBe(1);
    await clock.advance(1599);
    expect(api.summaries).toHaveLength(3);
    await clock.advance(1);
    expect(api.summaries.at(-1)).toBe('list rv=10');
    await stop();
  });

  it('given a Table for a list, then it is an error', async () => {
    const harness = scriptedInformer({ streaming: 'off' });
    harness.api.answers(stream().write('{"kind":"Table","metadata":{"resourceVersion":"1"},"rows":[]}').end());
    await harness.start();
    expect(errorLines(harness)).toBe(1);
    expect(harness.informer.hasSynced).toBe(false);
    await harness.stop();
  });
});

describe('watches that end', () => {
  it('[runtime#75] given a close after the timeout, then the watch is reopened at once from the last version', async () => {
    const { api, told, clock, start, stop } = scriptedInformer();
    const first = synced('10');
    api.answers(first);
    await start();
    await clock.advance(300_000);
    first.end();
    await clock.advance(0);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=10']);
    expect(told).toEqual([]);
    await stop();
  });

  it('[runtime#76] given watches that end at once without an event, then each is relisted with growing backoff', async () => {
    const { api, clock, start, stop } = scriptedInformer({ streaming: 'off' });
    for (let n = 0; n < 4; n += 1) api.answers(listPage([], { resourceVersion: '10' }), stream().end());
    await start();
    expect(api.summaries).toHaveLength(2);
    for (const [backoffMs, requests] of [
      [800, 4],
      [1600, 6],
      [3200, 8],
      [6400, 9],
    ] as const) {
      await clock.advance(backoffMs - 1);
      expect(api.summaries).toHaveLength(requests - (requests === 9 ? 1 : 2));
      await clock.advance(1);
      expect(api.summaries).toHaveLength(requests);
    }
    await stop();
  });

  it('[runtime#77] given ERROR 410, then after a backoff step the stream asks for the last version first', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    api.answers(synced('10').event('ERROR', status(expired)));
    await start();
    await clock.advance(799);
    expect(api.summaries).toEqual(['stream rv=']);
    await clock.advance(1);
    expect(api.summaries).toEqual(['stream rv=', 'stream rv=10']);
    await stop();
  });

  it('[runtime#78] given ERROR 429, then after a backoff step the watch goes on, and one list was enough', async () => {
    const { api, clock, start, stop } = scriptedInformer({ streaming: 'off' });
    api.answers(listPage([], { resourceVersion: '10' }), stream().event('ERROR', status(busy)));
    await start();
    await clock.advance(799);
    expect(api.summaries).toHaveLength(2);
    await clock.advance(1);
    expect(api.summaries).toEqual(['list rv=0 limit=500', 'watch rv=10', 'watch rv=10']);
    await stop();
  });

  it('[runtime#79] given 429 for five watches, then five backoff steps and one list in total', async () => {
    const { api, clock, start, stop } = scriptedInformer({ streaming: 'off' });
    api.answers(listPage([], { resourceVersion: '10' }), busy, busy, busy, busy, busy);
    await start();
    for (const [n, backoffMs] of [800, 1600, 3200, 6400, 12_800].entries()) {
      await clock.advance(backoffMs - 1);
      expect(api.summaries).toHaveLength(n + 2);
      await clock.advance(1);
      expect(api.summaries).toHaveLength(n + 3);
    }
    expect(api.summaries.filter((summary) => summary.startsWith('list'))).toHaveLength(1);
    await stop();
  });

  it('[runtime#80] given nobody listens for 10 minutes, then requests follow the backoff, and nothing is listed afterwards', async () => {
    const { api, told, clock, start, stop } = scriptedInformer();
    const first = synced('10');
    api.answers(first);
    await start();
    await clock.advance(300_000);
    api.answers(...Array.from({ length: 24 }, () => refused), stream().event('ADDED', aVolume('a', '11')));
    first.fail(new TransportError('reset', 'gone'));
    await clock.advance(0);
    // 0.8 to 25.6 s are six steps of together 50.4 s, then every 30 s.
    await clock.advance(600_000);
    expect(api.summaries.slice(1)).toEqual(Array.from({ length: 25 }, () => 'watch rv=10'));
    await clock.advance(30_000);
    expect(told).toEqual(['add a@11']);
    expect(api.summaries.every((summary) => !summary.startsWith('list'))).toBe(true);
    await stop();
  });

  it('[runtime#81] given a server restart with the version compacted away, then one relist', async () => {
    const { api, told, clock, start, stop } = scriptedInformer();
    const first = synced('10', aVolume('a', '5'));
    api.answers(first, expired, expired, synced('50', aVolume('a', '5'), aVolume('b', '40')));
    await start();
    await clock.advance(300_000);
    first.fail(new TransportError('eof', 'closed'));
    await clock.advance(0);
    await clock.advance(800);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=10', 'stream rv=10', 'stream rv=']);
    expect(told).toEqual(['add a@5 initial', 'add b@40']);
    await stop();
  });

  it('given three watches in a row that end with an internal error, then the fourth is relisted', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    const fault = status(new ApiError({ status: 500, reason: 'InternalError', message: 'etcdserver: no leader' }));
    api.answers(synced('10').event('ERROR', fault));
    for (let n = 0; n < 3; n += 1) api.answers(stream().event('ERROR', fault));
    await start();
    for (const backoffMs of [800, 1600, 3200, 6400]) await clock.advance(backoffMs);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=10', 'watch rv=10', 'watch rv=10', 'stream rv=10']);
    await stop();
  });

  it('given a stream still open 30 s after its timeout, then it is given up and reopened', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    const first = synced('10');
    api.answers(first);
    await start();
    await clock.advance(329_999);
    expect(first.closed).toBe(false);
    await clock.advance(1);
    expect(first.closed).toBe(true);
    await clock.advance(0);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=10']);
    await stop();
  });

  it('given bookmarks that stop coming, then the stream is given up after 150 s of silence', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    const first = synced('10').bookmark('20');
    api.answers(first);
    await start();
    await clock.advance(149_999);
    expect(api.summaries).toEqual(['stream rv=']);
    await clock.advance(1);
    await clock.advance(0);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=20']);
    await stop();
  });

  it('[runtime#93] given a list without a version, then ADDED events do not move it, and the first other event does', async () => {
    const { api, clock, start, stop } = scriptedInformer({ streaming: 'off' });
    const first = stream().event('ADDED', aVolume('a', '7')).end();
    const second = stream()
      .event('ADDED', aVolume('b', '8'))
      .event('MODIFIED', aVolume('a', '9'))
      .event('ADDED', aVolume('c', '10'));
    api.answers(listPage([], { resourceVersion: '' }), first, second.end());
    await start();
    await clock.advance(1000);
    await clock.advance(1000);
    expect(api.summaries).toEqual(['list rv=0 limit=500', 'watch rv=', 'watch rv=', 'watch rv=10']);
    await stop();
  });
});

describe('relists', () => {
  /** Synced at 10 with these volumes, then told to start over, which leads to `again`. */
  const relisted = async (before: readonly object[], again: ScriptedBody): Promise<ScriptedInformer> => {
    const harness = scriptedInformer();
    harness.api.answers(synced('10', ...before).event('ERROR', status(expired)), again);
    await harness.start();
    (harness.told as string[]).length = 0;
    await harness.clock.advance(800);
    return harness;
  };

  it('[runtime#67] given a server restored to an older state, then the version goes back and what vanished is deleted', async () => {
    const { api, informer, told, clock, start, stop } = scriptedInformer();
    const tooLarge = new ApiError({
      status: 504,
      reason: 'Timeout',
      message: 'Too large resource version: 100, current: 50',
    });
    api.answers(synced('100', aVolume('a', '90'), aVolume('b', '95')).event('ERROR', status(expired)));
    api.answers(tooLarge, synced('50', aVolume('a', '40')));
    await start();
    await clock.advance(800);
    expect(api.summaries).toEqual(['stream rv=', 'stream rv=100', 'stream rv=']);
    expect(told.slice(2)).toEqual(['tombstone b@95', 'update a@90->40']);
    expect(informer.lister.resourceVersion).toBe('50');
    await stop();
  });

  it('[runtime#85] given one object deleted and one created meanwhile, then the deletion is told first', async () => {
    const { told, stop } = await relisted([aVolume('a', '5')], synced('20', aVolume('b', '15')));
    expect(told).toEqual(['tombstone a@5', 'add b@15']);
    await stop();
  });

  it('[runtime#86] given the same name with another uid, then the old one is deleted and the new one added', async () => {
    const again = aVolume('a', '15', { uid: 'other' });
    const { told, stop } = await relisted(
      [aVolume('a', '5'), aVolume('b', '6')],
      synced('20', again, aVolume('b', '6')),
    );
    expect(told).toEqual(['tombstone a@5', 'add a@15']);
    await stop();
  });

  it('[runtime#87] given identical objects, then no handler is called and the cached objects stay the same', async () => {
    const volumes = [aVolume('a', '5'), aVolume('b', '6')];
    const { api, informer, told, clock, start, stop } = scriptedInformer();
    const first = synced('10', ...volumes);
    api.answers(first, synced('20', ...volumes));
    await start();
    const before = informer.lister.list();
    first.event('ERROR', status(expired));
    await clock.advance(800);
    expect(api.summaries).toHaveLength(2);
    expect(told).toEqual(['add a@5 initial', 'add b@6 initial']);
    expect(informer.lister.list().every((object, n) => object === before[n])).toBe(true);
    expect(informer.lister.resourceVersion).toBe('20');
    await stop();
  });
});

describe('a server that refuses', () => {
  it('[runtime#82] given 403 for lists, then an error is logged per step, nothing is synced, and it goes on', async () => {
    const harness = scriptedInformer();
    const { api, informer, clock, start, stop } = harness;
    api.answers(...Array.from({ length: 6 }, () => forbidden));
    await start();
    await clock.advance(800);
    await clock.advance(1600);
    expect(api.summaries).toEqual([
      'stream rv=',
      'list rv=0 limit=500',
      'stream rv=',
      'list rv=0 limit=500',
      'stream rv=',
      'list rv=0 limit=500',
    ]);
    expect(errorLines(harness)).toBe(3);
    expect(informer.hasSynced).toBe(false);
    await clock.advance(3200);
    expect(api.summaries).toHaveLength(7);
    await stop();
  });

  it('[runtime#83] given 404 until the resource is installed, then the next step recovers', async () => {
    const harness = scriptedInformer();
    const { api, told, clock, start, stop } = harness;
    api.answers(missing, missing, synced('10', aVolume('a', '5')));
    await start();
    expect(errorLines(harness)).toBe(1);
    await clock.advance(800);
    expect(told).toEqual(['add a@5 initial']);
    await stop();
  });

  it('[runtime#84] given the resource is removed while watched, then the cache keeps its content', async () => {
    const { api, informer, told, clock, start, stop } = scriptedInformer();
    const first = synced('10', aVolume('a', '5'));
    api.answers(first, missing, missing, missing, missing, missing);
    await start();
    await clock.advance(5000);
    first.end();
    await clock.advance(0);
    await clock.advance(800);
    await clock.advance(1600);
    expect(api.summaries.slice(1)).toEqual(['watch rv=10', 'stream rv=10', 'list rv=10', 'stream rv=10', 'list rv=10']);
    expect(told).toEqual(['add a@5 initial']);
    expect(informer.lister.size).toBe(1);
    await stop();
  });
});

describe('pauses', () => {
  it('[runtime#89] given a stop during a backoff, then it ends at once and leaves no timer', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    api.answers(refused);
    await start();
    expect(clock.pending).toBe(1);
    await stop();
    expect(clock.pending).toBe(0);
    expect(api.summaries).toHaveLength(1);
  });

  it('[runtime#90] given failures without end, then the backoff stays at its cap; a watch of a minute resets it', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    api.answers(...Array.from({ length: 20 }, () => busy));
    await start();
    let requests = 1;
    for (const backoffMs of [800, 1600, 3200, 6400, 12_800, 25_600, ...Array.from({ length: 14 }, () => 30_000)]) {
      await clock.advance(backoffMs - 1);
      expect(api.summaries).toHaveLength(requests);
      await clock.advance(1);
      requests += 1;
      expect(api.summaries).toHaveLength(requests);
      if (requests === 20) api.answers(synced('10').event('ERROR', status(expired)), synced('10'));
    }
    // Synced for a moment is no evidence: the next pause is the cap again.
    await clock.advance(29_999);
    expect(api.summaries).toHaveLength(21);
    await clock.advance(1);
    expect(api.summaries).toHaveLength(22);
    await stop();

    const healthy = scriptedInformer();
    const watch = synced('10');
    healthy.api.answers(busy, busy, watch);
    await healthy.start();
    await healthy.clock.advance(800);
    await healthy.clock.advance(1600);
    await healthy.clock.advance(60_000);
    watch.event('ERROR', status(expired));
    await healthy.clock.advance(800);
    expect(healthy.api.summaries).toHaveLength(4);
    await healthy.stop();
  });

  it('[runtime#91] given ten watches that close at once, then they are reopened over a second, none within the first', async () => {
    const clock = new FakeClock();
    const informers = Array.from({ length: 10 }, (_, n) =>
      scriptedInformer({ clock, random: { next: () => n / 10, uuid: () => '' } }),
    );
    for (const { api, start } of informers) {
      api.answers(synced('10').end());
      await start();
    }
    await clock.advance(2500);
    const reopened = informers.flatMap(({ api }) => api.requests.slice(1).map(({ atMs }) => atMs));
    expect(reopened).toEqual([1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900]);
    await Promise.all(informers.map(({ stop }) => stop()));
  });

  it('[runtime#92] given wall clocks that jump, then pauses and guards last as long as before', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    const first = synced('10');
    api.answers(refused, first);
    await start();
    clock.shiftWallClock(3_600_000);
    await clock.advance(799);
    expect(api.summaries).toHaveLength(1);
    await clock.advance(1);
    clock.shiftWallClock(-7_200_000);
    await clock.advance(329_999);
    expect(first.closed).toBe(false);
    await clock.advance(1);
    expect(first.closed).toBe(true);
    await stop();
  });
});
