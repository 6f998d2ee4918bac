// SPDX-License-Identifier: Apache-2.0
/**
 * One reader's view of an informer that others read too: the objects that its own transform keeps. An object that comes into the view is
 * added, and one that leaves it is deleted, as an informer with that transform alone would report it.
 */
import type { KubeObject } from '../../api/objects.ts';
import type { InformerOptions } from '../create-informer.ts';
import type { Deletion, Handler, HandlerRegistration, Indexers, Informer, Lister } from '../informer.ts';
import { keyOf } from '../key.ts';

export interface ViewOptions<T extends KubeObject> extends Pick<InformerOptions<T>, 'indexers' | 'resyncMs'> {
  /** Indexes of several readers may have the same name. */
  readonly owner: string;
  readonly isKept: (object: T) => boolean;
  /** An index function has thrown. The others who read the informer have no part in it. */
  readonly onDefect: (error: unknown) => void;
}

export interface View<T extends KubeObject> extends Informer<T> {
  /** Its handlers are not called any more. */
  leave(): void;
}

/** The indexes that an informer has already. */
const indexesOf = new WeakMap<object, Set<string>>();

export function createView<T extends KubeObject>(informer: Informer<T>, options: ViewOptions<T>): View<T> {
  const { owner, isKept, onDefect, resyncMs = 0, indexers = {} } = options;
  const registrations = new Set<HandlerRegistration>();
  const known = indexesOf.get(informer) ?? new Set();
  indexesOf.set(informer, known);

  const addIndexers = (added: Indexers<T>): void => {
    for (const [name, valuesOf] of Object.entries(added)) {
      const own = ownName(owner, name);
      // An earlier view of the same reader, with the same functions.
      if (known.has(own)) continue;
      const valuesIn = (object: T): readonly string[] => {
        if (!isKept(object)) return none;
        try {
          return valuesOf(object);
        } catch (cause) {
          onDefect(new Error(`index function "${own}" failed`, { cause }));
          return none;
        }
      };
      informer.addIndexers({ [own]: valuesIn });
      known.add(own);
    }
  };
  addIndexers(indexers);

  return {
    lister: listerOf(informer.lister, { owner, isKept }),
    get hasSynced() {
      return informer.hasSynced;
    },
    addHandler: (handler, own) => {
      const registration = informer.addHandler(filtered(handler, isKept), { resyncMs: own?.resyncMs ?? resyncMs });
      registrations.add(registration);
      return registration;
    },
    addIndexers,
    whenSynced: (signal) => informer.whenSynced(signal),
    remember: (object) => informer.remember(object),
    doubt: (object, answer) => informer.doubt(object, answer),
    doubted: informer.doubted,
    confirm: (key, read) => informer.confirm(key, read),
    run: () => Promise.reject(new Error('a view is run by the process that shares its informer')),
    leave: () => {
      for (const registration of registrations) registration.remove();
    },
  };
}

const none: readonly string[] = [];

function ownName(owner: string, index: string): string {
  return `${owner}/${index}`;
}

function listerOf<T extends KubeObject>(
  lister: Lister<T>,
  { owner, isKept }: Pick<ViewOptions<T>, 'owner' | 'isKept'>,
): Lister<T> {
  return {
    get: (key) => {
      const object = lister.get(key);
      return object !== undefined && isKept(object) ? object : undefined;
    },
    list: (namespace) => lister.list(namespace).filter(isKept),
    byIndex: (index, value) => lister.byIndex(ownName(owner, index), value),
    get size() {
      return lister.list().filter(isKept).length;
    },
    get resourceVersion() {
      return lister.resourceVersion;
    },
  };
}

function filtered<T extends KubeObject>(handler: Handler<T>, isKept: (object: T) => boolean): Handler<T> {
  return {
    add: (object, context) => {
      if (isKept(object)) handler.add?.(object, context);
    },
    update: (previous, current) => {
      const [was, is] = [isKept(previous), isKept(current)];
      if (was && is) handler.update?.(previous, current);
      else if (is) handler.add?.(current, { isInInitialList: false });
      else if (was) handler.delete?.(leaving(previous));
    },
    delete: (deletion) => {
      const { object, stored } = deletion;
      const seen = stored !== undefined && isKept(stored) ? stored : undefined;
      const last = isKept(object) ? object : seen;
      if (last !== undefined) handler.delete?.({ ...deletion, object: last, stored: seen });
    },
  };
}

function leaving<T extends KubeObject>(object: T): Deletion<T> {
  return { key: keyOf(object), object, observed: true, stored: object };
}
