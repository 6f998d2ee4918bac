// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aVolume, recordingMetrics, scriptedInformer, syncedStream } from '../../testing/index.ts';
import { ApiError } from '../api/errors.ts';
import { noMetrics } from '../metrics/metrics.ts';
import { createRegistry } from '../metrics/registry.ts';
import { workQueueMetricsOf } from '../workqueue/queue-metrics.ts';
import { DecodeError } from './decode/decode-error.ts';
import type { Change, ServerObject, WatchEvent } from './decode/watch-event.ts';
import { informerMetrics } from './informer-metrics.ts';
import type { Input } from './reflector/state.ts';
import { firstState, step } from './reflector/step.ts';

it('[runtime#93g] given two informers of one collection with different selectors, then each has series of its own', () => {
  const metrics = recordingMetrics();
  const observed = (selector: string, size: number) =>
    informerMetrics(metrics)({ name: 'secrets', selector, size: () => size, monotonicMs: () => 0 });
  const [all, some] = [observed('', 7), observed('app=x', 3)];
  all.handlerFailed();
  some.handlerFailed();
  some.handlerFailed();
  const value = (family: string, selector: string) => metrics.value(family, { name: 'secrets', selector });
  expect([value('informer_objects', ''), value('informer_objects', 'app=x')]).toEqual([7, 3]);
  const failures = 'informer_handler_errors_total';
  expect([value(failures, ''), value(failures, 'app=x')]).toEqual([1, 2]);
});

it('[runtime#93g] given an informer with selectors for metadata, then its label names all of that', async () => {
  const selection = { labelSelector: 'a=b', fieldSelector: 'metadata.name=x', content: 'metadata' } as const;
  const { api, metrics, start, stop } = scriptedInformer(selection);
  const partial = { ...aVolume('x', '5'), kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' };
  api.answers(syncedStream('10', partial));
  await start();
  const labels = { name: 'persistentvolumes', selector: 'a=b;metadata.name=x;metadata' };
  expect(metrics.value('informer_objects', labels)).toBe(1);
  await stop();
});

it('given no registry, then informers and queues share nothing that would keep them in memory', () => {
  expect(informerMetrics(noMetrics)).not.toBe(informerMetrics(noMetrics));
  expect(workQueueMetricsOf(noMetrics)).not.toBe(workQueueMetricsOf(noMetrics));
});

const at = (seconds: number, input: Input) => ({ seconds, input });
const event = (seconds: number, of: WatchEvent) => at(seconds, { kind: 'event', event: of });
const changed = (seconds: number, type: Change['type']) =>
  event(seconds, { kind: 'change', change: { type, object: aVolume('a', '5') as ServerObject } });
const bookmarked = (seconds: number, initialEventsEnd: boolean) =>
  event(seconds, { kind: 'bookmark', resourceVersion: '7', initialEventsEnd });
const error = new ApiError({ status: 500, reason: 'InternalError', message: 'no' });
const opened: Input = { kind: 'opened' };
const closed: Input = { kind: 'closed', cause: 'end' };
const failed: Input = { kind: 'failed', error };
const woke: Input = { kind: 'woke' };

/** What a scrape reads at second 100, after an informer has gone through these steps. */
async function scraped(streaming: 'preferred' | 'off', phases: readonly (readonly ReturnType<typeof at>[])[]) {
  const registry = createRegistry();
  const observed = { name: 'volumes', selector: 'x', size: () => 4, monotonicMs: () => 100_000 };
  const metrics = informerMetrics(registry)(observed);
  // It is not run, and counts nothing.
  informerMetrics(registry)({ ...observed, name: 'idle' });
  informerMetrics(registry)({ ...observed, name: 'ended' }).release();
  let state = firstState({ nowMs: 0, streaming, pageSize: undefined });
  for (const { seconds, input } of phases.flat()) {
    const nowMs = seconds * 1_000;
    const to = step(state, input, { nowMs, streaming, pageSize: undefined });
    metrics.stepped({ from: state, input, to, nowMs });
    state = to.state;
  }
  metrics.handlerFailed();
  metrics.transformFailed();
  const lines = (await registry.text()).trim().split('\n');
  const helps = lines.filter((line) => line.startsWith('# HELP')).map((line) => line.replace('# HELP ', ''));
  return { helps, samples: lines.filter((line) => !line.startsWith('#')) };
}

const always = [
  'informer_handler_errors_total{name="volumes",selector="x"} 1',
  'informer_transform_errors_total{name="volumes",selector="x"} 1',
  'informer_objects{name="volumes",selector="x"} 4',
  'informer_objects{name="idle",selector="x"} 4',
];

it('given an informer that streams its first content and watches, when scraped, then requests, events and the age of the last one are there', async () => {
  const { helps, samples } = await scraped('preferred', [
    [at(0, opened), at(7, closed), at(8, woke)],
    [at(20, opened), changed(21, 'ADDED'), changed(21, 'ADDED'), bookmarked(22, true)],
    [changed(30, 'ADDED'), changed(31, 'MODIFIED'), changed(32, 'DELETED'), bookmarked(33, false)],
    [event(40, { kind: 'foreign', what: 'a Table' }), event(41, { kind: 'error', error }), at(42, woke)],
    // One watch and one stream that end at once.
    [at(43, opened), at(43.9, closed), at(45, woke), at(46, opened), at(46.5, closed)],
  ]);
  expect(samples).toEqual([
    'reflector_watches_total{name="volumes",result="success",selector="x"} 4',
    'reflector_short_watches_total{name="volumes",selector="x"} 2',
    'reflector_replaces_total{name="volumes",selector="x"} 1',
    'reflector_events_total{name="volumes",selector="x",type="added"} 3',
    'reflector_events_total{name="volumes",selector="x",type="bookmark"} 2',
    'reflector_events_total{name="volumes",selector="x",type="modified"} 1',
    'reflector_events_total{name="volumes",selector="x",type="deleted"} 1',
    'reflector_events_total{name="volumes",selector="x",type="error"} 1',
    ...always,
    'reflector_last_event_age_seconds{name="volumes",selector="x"} 59',
  ]);
  expect(helps).toEqual([
    'reflector_watches_total Watches that were opened',
    'reflector_short_watches_total Watches that ended at once, without an event',
    'reflector_replaces_total How often the whole content was read',
    'reflector_events_total Events of watches',
    'informer_handler_errors_total Exceptions of change handlers',
    'informer_transform_errors_total Exceptions of transforms',
    'informer_objects Objects in the cache',
    'reflector_last_event_age_seconds Time since the last event of the watch, bookmarks included',
  ]);
});

it('given an informer that lists and watches, when scraped, then failed lists, failed watches and what it could not decode are there', async () => {
  const page: Input = { kind: 'page', resourceVersion: '7', continue: undefined };
  const undecodable = { kind: 'undecodable', error: new DecodeError('no json', { bytes: 12 }) } as const;
  const { helps, samples } = await scraped('off', [
    [at(0, failed), at(1, woke), at(2, { ...page, continue: 'token' }), at(3, page)],
    [at(4, failed), at(5, woke), at(6, opened), at(96, closed), at(97, woke), at(97, opened)],
    [event(98, undecodable)],
  ]);
  expect(samples).toEqual([
    'reflector_lists_total{name="volumes",result="error",selector="x"} 1',
    'reflector_lists_total{name="volumes",result="success",selector="x"} 2',
    'reflector_watches_total{name="volumes",result="error",selector="x"} 1',
    'reflector_watches_total{name="volumes",result="success",selector="x"} 2',
    'reflector_replaces_total{name="volumes",selector="x"} 1',
    'reflector_decode_errors_total{name="volumes",selector="x"} 1',
    ...always,
    'reflector_last_event_age_seconds{name="volumes",selector="x"} 2',
  ]);
  expect(helps).toEqual(
    expect.arrayContaining([
      'reflector_lists_total Pages of lists that were asked for',
      'reflector_decode_errors_total Events that could not be decoded',
    ]),
  );
});
