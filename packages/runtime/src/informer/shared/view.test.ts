// SPDX-License-Identifier: Apache-2.0
/** One view over an informer. Several readers of one informer are in hub.test.ts. */
import { expect, it } from 'vitest';
import { aVolume, recordCallsTo, scriptedInformer, syncedStream } from '../../../testing/index.ts';
import type { PersistentVolume } from '../../api/objects.ts';
import type { Deletion } from '../informer.ts';
import { toObjectKey } from '../key.ts';
import { createView, type ViewOptions } from './view.ts';

const minute = 60_000;
const key = (name: string) => toObjectKey(undefined, name);
const mine = { labels: { mine: 'yes' } };

/** A view of volumes with a label, of an informer that resyncs every four minutes. */
function setUp(options: Partial<ViewOptions<PersistentVolume>> = {}) {
  const scripted = scriptedInformer({ resyncMs: 4 * minute });
  const defects: unknown[] = [];
  const view = createView(scripted.informer, {
    owner: 'one',
    isKept: ({ metadata }) => metadata?.labels?.['mine'] === 'yes',
    onDefect: (error) => defects.push(error),
    ...options,
  });
  return { ...scripted, view, defects };
}

it('given objects of which some are kept, then the lister of the view shows those, at the version of the informer', async () => {
  const { api, view, start, stop } = setUp();
  api.answers(syncedStream('10', aVolume('a', '1', mine), aVolume('b', '2')));
  await start();
  expect(['a', 'b', 'c'].map((name) => view.lister.get(key(name))?.metadata?.name)).toEqual([
    'a',
    undefined,
    undefined,
  ]);
  expect([view.lister.size, view.lister.list().length, view.lister.resourceVersion]).toEqual([1, 1, '10']);
  view.remember(aVolume('c', '12', mine));
  expect(view.lister.size).toBe(2);
  await stop();
});

it('given an object that comes into the view, changes and is deleted, then its handler gets what an informer of its own would report', async () => {
  const { api, view, start, stop } = setUp();
  const contexts: object[] = [];
  const deletions: Deletion<PersistentVolume>[] = [];
  view.addHandler({ add: (_, context) => contexts.push(context), delete: (deletion) => deletions.push(deletion) });
  const last = aVolume('a', '13', mine);
  const before = [aVolume('d', '2', mine), aVolume('e', '3', mine), aVolume('f', '4')] as const;
  const changes = syncedStream('10', aVolume('a', '1'), ...before);
  api.answers(
    changes
      .event('MODIFIED', aVolume('a', '11', mine))
      .event('DELETED', last)
      // What was shown of these is not what ends.
      .event('MODIFIED', aVolume('d', '20'))
      .event('DELETED', aVolume('e', '21'))
      .event('DELETED', aVolume('f', '22', mine))
      // Nothing of these two was seen before.
      .event('DELETED', aVolume('b', '14', mine))
      .event('DELETED', aVolume('c', '15')),
  );
  await start();
  expect(contexts.slice(2)).toEqual([{ isInInitialList: false }]);
  expect(deletions).toEqual([
    { key: 'a', object: last, observed: true, stored: aVolume('a', '11', mine) },
    { key: 'd', object: before[0], observed: true, stored: before[0] },
    { key: 'e', object: before[1], observed: true, stored: before[1] },
    { key: 'f', object: aVolume('f', '22', mine), observed: true, stored: undefined },
    { key: 'b', object: aVolume('b', '14', mine), observed: true, stored: undefined },
  ]);
  await stop();
});

it('given a handler that is interested in nothing, then no change of the view is an error', async () => {
  const { api, logger, view, start, stop } = setUp();
  view.addHandler({});
  const changes = syncedStream('10', aVolume('a', '1', mine), aVolume('b', '2', mine));
  api.answers(
    changes
      .event('MODIFIED', aVolume('a', '11', { ...mine, annotations: {} }))
      .event('MODIFIED', aVolume('a', '12'))
      .event('MODIFIED', aVolume('a', '13', mine))
      .event('DELETED', aVolume('b', '14', mine)),
  );
  await start();
  expect(logger.messages()).toEqual(['Caches populated']);
  await stop();
});

it.each([
  { ofView: undefined, ofHandler: undefined, resyncs: 0 },
  { ofView: 4 * minute, ofHandler: undefined, resyncs: 4 },
  { ofView: 4 * minute, ofHandler: 8 * minute, resyncs: 2 },
  { ofView: 4 * minute, ofHandler: 0, resyncs: 0 },
])(
  'given a view with a period of $ofView ms and a handler with $ofHandler ms, then it is resynced $resyncs times in 16 minutes, until it is removed',
  async ({ ofView, ofHandler, resyncs }) => {
    const { api, clock, logger, view, start, stop } = setUp(ofView === undefined ? {} : { resyncMs: ofView });
    const calls: string[] = [];
    const options = ofHandler === undefined ? {} : { resyncMs: ofHandler };
    const registration = view.addHandler(recordCallsTo(calls), options);
    api.answers(syncedStream('10', aVolume('a', '1', mine)));
    await start();
    expect(registration.hasSynced).toBe(true);
    await clock.advance(16 * minute);
    registration.remove();
    await clock.advance(16 * minute);
    expect(calls).toEqual(['add a@1 initial', ...Array<string>(resyncs).fill('update a@1->1')]);
    expect(logger.lines.filter(({ kind }) => kind === 'warn')).toEqual([]);
    await stop();
  },
);

it('given an index function that throws, then the owner of the view hears of it, with the cause', async () => {
  const cause = new Error('wrong index');
  const broken = () => {
    throw cause;
  };
  const { api, defects, start, stop } = setUp({ indexers: { broken } });
  api.answers(syncedStream('10', aVolume('a', '1', mine)));
  await start();
  expect(defects).toEqual([new Error('index function "one/broken" failed', { cause })]);
  expect((defects[0] as Error).cause).toBe(cause);
  await stop();
});

it('given a view, then it cannot be run', async () => {
  const running = setUp().view.run(new AbortController().signal);
  await expect(running).rejects.toThrow('a view is run by the process that shares its informer');
});
