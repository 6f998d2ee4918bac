// SPDX-License-Identifier: Apache-2.0
/** How an informer gets its first content. */
import { describe, expect, it } from 'vitest';
import {
  aVolume,
  FakeClock,
  listPage,
  recordingLogger,
  collectionErrors,
  ScriptedBody,
  scriptedInformer,
  scriptedTransport,
  seededRandom,
  settle,
  syncedStream,
  type ScriptedInformer,
} from '../../../testing/index.ts';
import { createApiClient } from '../../api/create-client.ts';
import { persistentVolumes } from '../../api/resource.ts';
import { createInformer } from '../create-informer.ts';

const errorLines = ({ logger }: ScriptedInformer): number => logger.lines.filter(({ kind }) => kind === 'error').length;

describe('first sync', () => {
  it('[runtime#59] given a server that streams lists, then one request, and no list', async () => {
    const { api, informer, calls, start, stop } = scriptedInformer();
    api.answers(syncedStream('10', aVolume('a', '7'), aVolume('b', '8')));
    await start();
    expect(api.summaries).toEqual(['stream rv=']);
    expect(api.requests[0]?.path).toBe(
      '/api/v1/persistentvolumes?watch=true&allowWatchBookmarks=true&sendInitialEvents=true' +
        '&resourceVersionMatch=NotOlderThan&timeoutSeconds=300',
    );
    expect(calls).toEqual(['add a@7 initial', 'add b@8 initial']);
    expect(informer.hasSynced).toBe(true);
    await stop();
  });

  it.each([
    { id: '[runtime#60]', given: 'Invalid', error: collectionErrors.unsupported },
    { id: '[runtime#61]', given: 'an error that is no answer of the server', error: new Error('dummy') },
  ])('$id given $given for the stream, then list and watch: three requests', async ({ error }) => {
    const { api, calls, start, stop } = scriptedInformer();
    api.answers(error, listPage([aVolume('a', '7')], { resourceVersion: '10' }));
    await start();
    expect(api.summaries).toEqual(['stream rv=', 'list rv=0 limit=500', 'watch rv=10']);
    expect(calls).toEqual(['add a@7 initial']);
    await stop();
  });

  it('[runtime#62] given 429 twice, then the third stream succeeds and nothing is listed', async () => {
    const { api, informer, clock, start, stop } = scriptedInformer();
    api.answers(collectionErrors.busy, collectionErrors.busy, syncedStream('10'));
    await start();
    await clock.advance(800);
    await clock.advance(1600);
    expect(api.summaries).toEqual(['stream rv=', 'stream rv=', 'stream rv=']);
    expect(informer.hasSynced).toBe(true);
    await stop();
  });

  it('[runtime#63] given a stream closed before its end mark, then it starts over and handlers saw nothing', async () => {
    const { api, calls, clock, start, stop } = scriptedInformer();
    api.answers(new ScriptedBody().event('ADDED', aVolume('gone', '5')).end(), syncedStream('10', aVolume('a', '7')));
    await start();
    expect(calls).toEqual([]);
    await clock.advance(800);
    expect(api.summaries).toEqual(['stream rv=', 'stream rv=']);
    expect(calls).toEqual(['add a@7 initial']);
    await stop();
  });

  it('given a stream that had a minute and was closed without its end mark, then the collection is listed', async () => {
    const { api, clock, start, stop } = scriptedInformer();
    const old = new ScriptedBody().event('ADDED', aVolume('a', '5'));
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
    api.answers(new ScriptedBody().event('BOOKMARK', { kind: 'PersistentVolume', apiVersion: 'v1', metadata }));
    await start();
    expect(informer.hasSynced).toBe(false);
    expect(informer.lister.resourceVersion).toBe('');
    await stop();
  });

  it('[runtime#65] given changes and deletions inside the initial stream, then handlers see the net result as adds', async () => {
    const { api, calls, start, stop } = scriptedInformer();
    const body = new ScriptedBody().event('ADDED', aVolume('a', '1')).event('ADDED', aVolume('b', '2'));
    api.answers(body.event('MODIFIED', aVolume('a', '3')).event('DELETED', aVolume('b', '4')).bookmark('5', 'end'));
    await start();
    expect(calls).toEqual(['add a@3 initial']);
    await stop();
  });

  it('[runtime#66] given a stop before the end mark, then no handler is called and the informer is not synced', async () => {
    const { api, clock, informer, calls, signal, start, stop } = scriptedInformer();
    api.answers(new ScriptedBody().event('ADDED', aVolume('a', '1')));
    await start();
    const waiting = informer.whenSynced(signal);
    await stop();
    expect(await waiting).toBe(false);
    expect(calls).toEqual([]);
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
    const { api, calls, start, stop } = harness;
    api.answers(listPage([{ kind: 'PersistentVolume' }, aVolume('a', '2')], { resourceVersion: '3' }));
    await start();
    expect(calls).toEqual(['add a@2 initial']);
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
      { status: 429, headers: { 'retry-after': '1' }, body: { kind: 'Status', code: 429, reason: 'TooManyRequests' } },
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
    const first = new ScriptedBody();
    const list = (): ScriptedBody => listPage([], { resourceVersion: '10' });
    api.answers(collectionErrors.unsupported, list(), first, list());
    await start();
    first.refuse(collectionErrors.expired);
    await clock.advance(800);
    expect(api.summaries.slice(3)).toEqual(['list rv=10', 'watch rv=10']);
    await clock.advance(30 * 60_000);
    api.answers(collectionErrors.expired);
    await clock.advance(335_000);
    expect(api.summaries.slice(-3)).toEqual(['watch rv=10', 'stream rv=10', 'list rv=10']);
    await stop();
  });

  it('given metadata only, then the server is asked for it and objects still name their own kind', async () => {
    const { api, informer, start, stop } = scriptedInformer({ content: 'metadata', labelSelector: 'a=b' });
    const partial = {
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { name: 'a', resourceVersion: '1' },
    };
    api.answers(
      collectionErrors.unsupported,
      listPage([], { resourceVersion: '1', kind: 'PartialObjectMetadata' }),
      new ScriptedBody().event('ADDED', partial),
    );
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
