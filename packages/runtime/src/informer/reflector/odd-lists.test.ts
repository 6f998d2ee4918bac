// SPDX-License-Identifier: Apache-2.0
/** Lists in another format than the API server's, or with other content. */
import { describe, expect, it } from 'vitest';
import { aVolume, collectionErrors, ScriptedBody, scriptedInformer, syncedStream } from '../../../testing/index.ts';

const metadata = { resourceVersion: '10' };
const bare = (name: string) => ({ metadata: { name, uid: name, resourceVersion: '5' } });
const full = (name: string) => ({ kind: 'PersistentVolume', apiVersion: 'v1', ...bare(name), spec: {} });
const body = (list: unknown, indent?: number): ScriptedBody =>
  new ScriptedBody().write(JSON.stringify(list, undefined, indent)).end();

describe('odd lists', () => {
  it('[runtime#93e] given an indented list, then its items are objects of the collection', async () => {
    const { api, calls, start, stop } = scriptedInformer({ streaming: 'off' });
    api.answers(body({ kind: 'PersistentVolumeList', apiVersion: 'v1', metadata, items: [bare('a'), bare('b')] }, 2));
    await start();
    expect(calls).toEqual(['add a@5 initial', 'add b@5 initial']);
    await stop();
  });

  it.each([
    { given: 'objects that name their own kind', items: [full('a')] },
    { given: 'objects that do not name their kind', items: [bare('a')] },
  ])(
    '[runtime#93e] given $given where metadata was asked for, then nothing is synced, and the cache stays',
    async (row) => {
      const { api, informer, logger, clock, calls, start, stop } = scriptedInformer({
        content: 'metadata',
        streaming: 'off',
      });
      const list = { kind: 'PersistentVolumeList', apiVersion: 'v1', metadata, items: row.items };
      const good = { ...list, kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', items: [bare('a')] };
      const watch = new ScriptedBody();
      api.answers(body(list), body(good), watch, body(list));
      await start();
      expect([informer.hasSynced, calls]).toEqual([false, []]);
      expect(logger.lines.filter(({ kind }) => kind === 'error')).toHaveLength(1);
      await clock.advance(1600);
      expect(calls).toEqual(['add a@5 initial']);
      watch.refuse(collectionErrors.expired);
      await clock.advance(1600);
      expect([api.summaries.at(-1), informer.lister.list().length, calls.length]).toEqual(['list rv=10', 1, 1]);
      await stop();
    },
  );

  it.each([
    ['null', 'something else'],
    ['{}', 'something else'],
    ['[]', 'something else'],
    ['"text"', 'something else'],
    ['{"kind":"PersistentVolumeList","apiVersion":"v1","metadata":{}}', 'a PersistentVolumeList'],
    ['{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}', 'a Status'],
    ['{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"10"},"rows":[]}', 'a Table'],
  ])('[runtime#93e] given the answer %s, then it is refused as %s, and the cache stays', async (answer, what) => {
    const { api, informer, logger, clock, calls, start, stop } = scriptedInformer({ streaming: 'off' });
    const watch = new ScriptedBody();
    const list = { kind: 'PersistentVolumeList', apiVersion: 'v1', metadata, items: [bare('a')] };
    api.answers(body(list), watch, new ScriptedBody().write(answer).end());
    await start();
    watch.refuse(collectionErrors.expired);
    await clock.advance(800);
    expect([api.summaries.at(-1), informer.lister.list().length, calls]).toEqual([
      'list rv=10',
      1,
      ['add a@5 initial'],
    ]);
    const errors = logger.lines.filter(({ kind }) => kind === 'error');
    expect(errors).toMatchObject([
      { error: { name: 'DecodeError', message: `the server answered a list with ${what}` } },
    ]);
    await stop();
  });

  it('[runtime#93e] given full objects in a stream of metadata, then the reflector lists instead, and the stream syncs nothing', async () => {
    const { api, informer, calls, start, stop } = scriptedInformer({ content: 'metadata' });
    api.answers(syncedStream('10', aVolume('a', '5')));
    await start();
    expect([api.summaries, informer.hasSynced, calls]).toEqual([['stream rv=', 'list rv=0 limit=500'], false, []]);
    await stop();
  });
});
