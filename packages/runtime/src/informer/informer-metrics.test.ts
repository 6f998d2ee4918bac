// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aVolume, recordingMetrics, scriptedInformer, syncedStream } from '../../testing/index.ts';
import { informerMetrics } from './informer-metrics.ts';

it('[runtime#93g] given two informers of one collection with different selectors, then each has series of its own', () => {
  const metrics = recordingMetrics();
  const observe = informerMetrics(metrics);
  const observed = (selector: string, size: number) =>
    observe({ name: 'secrets', selector, size: () => size, monotonicMs: () => 0 });
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
