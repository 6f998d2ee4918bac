// SPDX-License-Identifier: Apache-2.0
/** The metrics of informers. One set per registry, shared by all informers; distinguished by the labels `name` and `selector`. */
import { type Metrics, perRegistry, type Sample } from '../metrics/metrics.ts';
import type { StepFacts } from './reflector/log-step.ts';
import { isVeryShort } from './reflector/step.ts';

export interface ReflectorMetrics {
  stepped(facts: StepFacts): void;
}

export interface InformerMetrics extends ReflectorMetrics {
  /** A handler has thrown. */
  handlerFailed(): void;
  transformFailed(): void;
  /** Stops reporting this informer. */
  release(): void;
}

export interface Observed {
  readonly name: string;
  /** The selectors beside the name; empty for everything. */
  readonly selector: string;
  readonly size: () => number;
  readonly monotonicMs: () => number;
}

export type ObserveInformer = (observed: Observed) => InformerMetrics;

/** A registry refuses a name it knows, so the set is created once for each. */
export const informerMetrics: (metrics: Metrics) => ObserveInformer = perRegistry(createSet);

interface Live extends Observed {
  lastEventMs: number | undefined;
}

function createSet(metrics: Metrics): ObserveInformer {
  const live = new Set<Live>();
  const labels = ['name', 'selector'];
  const counter = (name: string, help: string, more: readonly string[] = []): ReturnType<Metrics['counter']> =>
    metrics.counter({ name, help, labels: [...labels, ...more] });
  const lists = counter('reflector_lists_total', 'Pages of lists that were asked for', ['result']);
  const watches = counter('reflector_watches_total', 'Watches that were opened', ['result']);
  const shortWatches = counter('reflector_short_watches_total', 'Watches that ended at once, without an event');
  const relists = counter('reflector_replaces_total', 'How often the whole content was read');
  const events = counter('reflector_events_total', 'Events of watches', ['type']);
  const decodeErrors = counter('reflector_decode_errors_total', 'Events that could not be decoded');
  const handlerFailures = counter('informer_handler_errors_total', 'Exceptions of change handlers');
  const transformFailures = counter('informer_transform_errors_total', 'Exceptions of transforms');
  const each = (value: (informer: Live) => number | undefined) => (): Iterable<Sample> =>
    [...live].flatMap((informer) => {
      const sample = value(informer);
      return sample === undefined
        ? []
        : [{ labels: { name: informer.name, selector: informer.selector }, value: sample }];
    });
  metrics.gauge({
    name: 'informer_objects',
    help: 'Objects in the cache',
    labels,
    collect: each(({ size }) => size()),
  });
  metrics.gauge({
    name: 'reflector_last_event_age_seconds',
    help: 'Time since the last event of the watch, bookmarks included',
    labels,
    collect: each(({ lastEventMs, monotonicMs }) =>
      lastEventMs === undefined ? undefined : (monotonicMs() - lastEventMs) / 1000,
    ),
  });

  return (observed) => {
    const { name, selector } = observed;
    const own: Live = { ...observed, lastEventMs: undefined };
    live.add(own);
    // Label objects are made once: the events of a watch are the hot path.
    const byName = { name, selector };
    const result = { success: { name, selector, result: 'success' }, error: { name, selector, result: 'error' } };
    const byType = {
      ADDED: { name, selector, type: 'added' },
      MODIFIED: { name, selector, type: 'modified' },
      DELETED: { name, selector, type: 'deleted' },
      bookmark: { name, selector, type: 'bookmark' },
      error: { name, selector, type: 'error' },
    };
    return {
      stepped({ from, input, to, nowMs }) {
        if (to.effect?.kind === 'replace') relists.inc(byName);
        switch (input.kind) {
          case 'event': {
            own.lastEventMs = nowMs;
            const { event } = input;
            if (event.kind === 'change') events.inc(byType[event.change.type]);
            else if (event.kind === 'undecodable') decodeErrors.inc(byName);
            else if (event.kind !== 'foreign') events.inc(byType[event.kind]);
            return;
          }
          case 'opened':
            watches.inc(result.success);
            return;
          case 'page':
            lists.inc(result.success);
            return;
          case 'failed':
            (from.kind === 'listing' ? lists : watches).inc(result.error);
            return;
          case 'closed':
            if ((from.kind === 'watching' || from.kind === 'streaming') && isVeryShort(from, { nowMs })) {
              shortWatches.inc(byName);
            }
            return;
          case 'woke':
        }
      },
      handlerFailed: () => handlerFailures.inc(byName),
      transformFailed: () => transformFailures.inc(byName),
      release: () => live.delete(own),
    };
  };
}
