// SPDX-License-Identifier: Apache-2.0
/**
 * The handlers of an informer, and their calls. A handler is called synchronously; its exceptions are logged and
 * counted, and do not affect other handlers. A handler is not called after its `remove` has returned.
 */
import type { KubeObject } from '../api/objects.ts';
import type { Logger } from '../log/logger.ts';
import type { Deletion, Handler } from './informer.ts';
import type { InformerMetrics } from './informer-metrics.ts';

export type Notification<T> =
  | { readonly kind: 'add'; readonly object: T; readonly isInInitialList: boolean }
  | { readonly kind: 'update'; readonly previous: T; readonly current: T }
  | { readonly kind: 'delete'; readonly deletion: Deletion<T> };

export interface Subscriber<T extends KubeObject> {
  readonly handler: Handler<T>;
  /** `catchingUp` until every object that was there when it came has been added. */
  phase: 'catchingUp' | 'live' | 'removed';
}

export interface Distributor<T extends KubeObject> {
  /** True while a handler has not received all objects. */
  someoneCatchesUp(): boolean;
  subscribe(handler: Handler<T>, phase: 'catchingUp' | 'live'): Subscriber<T>;
  remove(subscriber: Subscriber<T>): void;
  /** Calls every live handler. */
  deliver(notification: Notification<T>): void;
  /** Calls one handler, unless it was removed. */
  deliverTo(subscriber: Subscriber<T>, notification: Notification<T>): void;
}

export function createDistributor<T extends KubeObject>(
  logger: Logger,
  metrics: Pick<InformerMetrics, 'handlerFailed'>,
): Distributor<T> {
  const subscribers = new Set<Subscriber<T>>();
  const deliverTo = ({ handler, phase }: Subscriber<T>, notification: Notification<T>): void => {
    if (phase === 'removed') return;
    try {
      call(handler, notification);
    } catch (error) {
      metrics.handlerFailed();
      logger.error(error, 'A change handler failed', { change: notification.kind });
    }
  };
  return {
    someoneCatchesUp: () => [...subscribers].some(({ phase }) => phase === 'catchingUp'),
    subscribe(handler, phase) {
      const subscriber: Subscriber<T> = { handler, phase };
      subscribers.add(subscriber);
      return subscriber;
    },
    remove(subscriber) {
      subscriber.phase = 'removed';
      subscribers.delete(subscriber);
    },
    deliver(notification) {
      for (const subscriber of subscribers) if (subscriber.phase === 'live') deliverTo(subscriber, notification);
    },
    deliverTo,
  };
}

const initialAdd = { isInInitialList: true };
const laterAdd = { isInInitialList: false };

function call<T extends KubeObject>(handler: Handler<T>, notification: Notification<T>): void {
  switch (notification.kind) {
    case 'add':
      handler.add?.(notification.object, notification.isInInitialList ? initialAdd : laterAdd);
      return;
    case 'update':
      handler.update?.(notification.previous, notification.current);
      return;
    case 'delete':
      handler.delete?.(notification.deletion);
  }
}
