// SPDX-License-Identifier: Apache-2.0
/** What a controller watches, found by assembling it beside nothing: no list of watches has to agree with its loops. */
import type { KubeObject } from '../api/objects.ts';
import type { ControllerPorts, Controller } from '../controller/controller.ts';
import { createEventRecorder } from '../event-recorder/create-event-recorder.ts';
import type { InformerOptions } from '../informer/create-informer.ts';
import type { InformerFactory } from '../informer/factory.ts';
import type { Informer } from '../informer/informer.ts';
import { noMetrics } from '../metrics/metrics.ts';
import { createWorkQueueMetrics } from '../workqueue/queue-metrics.ts';
import { silentLogger } from '../log/logger.ts';
import type { LeadingPorts } from './with-caches.ts';

/** Assembling starts nothing, so what is assembled here is dropped. */
export function watchesOf(
  { client, clock, random }: Pick<ControllerPorts, 'client' | 'clock' | 'random'>,
  assemble: (ports: LeadingPorts) => Controller,
): readonly InformerOptions<KubeObject>[] {
  const asked: InformerOptions<KubeObject>[] = [];
  const informers: InformerFactory = {
    informer: (options) => {
      asked.push(options as unknown as InformerOptions<KubeObject>);
      return emptyInformer as never;
    },
    start: () => Promise.resolve(),
    waitForSync: () => Promise.resolve(false),
    shutdown: () => Promise.resolve(),
  };
  const ports = { client, clock, random, informers, logger: silentLogger, metrics: noMetrics };
  assemble({
    ...ports,
    queueMetrics: createWorkQueueMetrics(noMetrics),
    recorderOf: (options) => createEventRecorder(ports, options),
  });
  return asked;
}

const emptyInformer: Informer<KubeObject> = {
  lister: { get: () => undefined, list: () => [], byIndex: () => [], size: 0, resourceVersion: '' },
  hasSynced: false,
  addHandler: () => ({ hasSynced: false, remove: () => undefined }),
  addIndexers: () => undefined,
  whenSynced: () => Promise.resolve(false),
  remember: () => undefined,
  doubt: () => undefined,
  doubted: new Map(),
  confirm: () => Promise.resolve(),
  run: () => Promise.resolve(),
};
