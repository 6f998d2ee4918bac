// SPDX-License-Identifier: Apache-2.0
/**
 * Reads objects for a command, and remembers what could not be read and what is not known because of it. An object is read once, however
 * often it is asked for. After the time limit nothing more is sent.
 */
import {
  type ApiClient,
  ApiError,
  type Clock,
  DeadlineError,
  definedOnly,
  isForbidden,
  type KubeObject,
  type ListQuery,
  type ObjectRef,
  type Resource,
  subjectAccessReviews,
  TransportError,
  withDeadline,
} from '@csi-sidecars/runtime';
import { eachLine } from '../metrics/series.ts';
import { type AccessQuestion, isAllowed } from './access-review.ts';
import type { Meter } from './layer.ts';
import type { Pages, TextLines } from './limits.ts';
import { isServed, keyOf, watchPath } from './request-paths.ts';

export type Because = 'forbidden' | 'absent' | 'timeout' | 'limit' | 'failed';

/** The answer to a reading. `absent`: the server says that there is no such object. */
export type Reading<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly because: Because };

/** A reading that failed, and what is not known because of it. */
export interface Missing {
  readonly verb: 'get' | 'list' | 'create';
  readonly group: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly because: Because;
  readonly notKnown: string;
}

export interface KnownObjects {
  readonly resource: Resource;
  readonly objects: readonly KubeObject[];
}

/** For a watch. */
export interface ReadObject {
  /** Of the collection, with the selector of the object. */
  readonly path: string;
  /** Undefined: the object is not there. */
  readonly resourceVersion: string | undefined;
}

export interface Reader {
  /** `notKnown` completes "... is not known". */
  get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, notKnown: string): Promise<Reading<T>>;
  /** The object as it is now, even if it was read before. */
  getAgain<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, notKnown: string): Promise<Reading<T>>;
  /** What is kept of a list may be less than the objects; a list that ends at a limit is found, and the limit is recorded. */
  list<T extends KubeObject>(
    resource: Resource<T>,
    query: ListQuery & Pages<T>,
    notKnown: string,
  ): Promise<Reading<readonly T[]>>;
  /** Whether an account may do something, as the server decides it. Undefined: it does not say. */
  review(access: AccessQuestion): Promise<boolean | undefined>;
  /** `v1.37.2`. Undefined: the server does not say. */
  version(): Promise<string | undefined>;
  /** What is concluded from several readings is concluded once, however many rows ask. */
  concluded<T>(what: string, conclude: () => Promise<T>): Promise<T>;
  readonly missing: () => readonly Missing[];
  /** A path beyond objects: discovery. */
  raw(path: string, notKnown: string): Promise<Reading<unknown>>;
  /** A text, line by line. One that is longer than may be read is found, and the limit is recorded. */
  lines(
    path: string,
    facts: Pick<Missing, 'resource' | 'notKnown'>,
    text: TextLines,
  ): Promise<Reading<'whole' | 'cut'>>;
  /** All objects that were found, by kind. */
  readonly known: () => readonly KnownObjects[];
  /** What was read by name, and lists of events: what a change of the answer would come from, in the order of reading. */
  readonly objects: () => readonly ReadObject[];
  /** The time of the server. */
  readonly nowMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

export interface ReaderDeps {
  readonly client: Pick<ApiClient, 'get' | 'list' | 'create' | 'raw' | 'stream'>;
  readonly clock: Clock;
  readonly meter: Meter;
  /** Aborts at the time limit of the command. */
  readonly signal: AbortSignal;
  /** Of each request. */
  readonly requestTimeoutMs: number;
}

/** The credentials are not accepted: no other request would be answered differently. */
export class CredentialsError extends Error {
  override readonly name = 'CredentialsError';
}

const pageSize = 500;
const mostPages = 10;

/** Kinds whose change may change the answer. Classes, drivers and nodes are read again with them. */
const watchedPlurals: ReadonlySet<string> = new Set([
  'persistentvolumeclaims',
  'persistentvolumes',
  'pods',
  'volumeattachments',
  'volumesnapshots',
  'volumesnapshotcontents',
  'volumegroupsnapshots',
  'volumegroupsnapshotcontents',
]);
const mostWatched = 8;

export function createReader({ client, clock, meter, signal, requestTimeoutMs }: ReaderDeps): Reader {
  const read = new Map<string, Promise<Reading<unknown>>>();
  const missing = new Map<string, Missing>();
  const watchable = { objects: new Map<string, ReadObject>(), events: new Map<string, ReadObject>() };
  const found = new Map<string, { readonly resource: Resource; readonly objects: Map<string, KubeObject> }>();
  const conclusions = new Map<string, Promise<unknown>>();
  let unnamedLists = 0;
  const note = (resource: Resource, object: KubeObject, is: 'whole' | 'part'): void => {
    const key = `${resource.group}/${resource.plural}`;
    const known = found.get(key) ?? { resource, objects: new Map<string, KubeObject>() };
    const name = `${object.metadata?.namespace ?? ''}/${object.metadata?.name ?? ''}`;
    if (is === 'whole' || !known.objects.has(name)) known.objects.set(name, object);
    found.set(key, known);
  };
  const options = { signal, timeoutMs: requestTimeoutMs };

  function unknown(facts: Omit<Missing, 'because'>, because: Because): Reading<never> {
    missing.set(
      `${facts.verb} ${facts.group}/${facts.resource} ${facts.namespace ?? ''} ${because} ${facts.notKnown}`,
      { ...facts, because },
    );
    return { kind: 'unknown', because };
  }

  async function once<T>(
    key: string,
    facts: Omit<Missing, 'because'>,
    request: () => Promise<Reading<T>>,
  ): Promise<Reading<T>> {
    const known = read.get(key) as Promise<Reading<T>> | undefined;
    if (known !== undefined) {
      const answer = await known;
      return answer.kind === 'unknown' ? unknown(facts, answer.because) : answer;
    }
    const started = (async (): Promise<Reading<T>> => {
      if (signal.aborted) return unknown(facts, 'timeout');
      try {
        return await request();
      } catch (error) {
        return failed(facts, error);
      }
    })();
    read.set(key, started);
    return started;
  }

  function failed(facts: Omit<Missing, 'because'>, error: unknown): Reading<never> {
    if (error instanceof ApiError && error.status === 401) {
      throw new CredentialsError(`the API server does not accept the credentials: ${error.message}`, { cause: error });
    }
    if (error instanceof ApiError && error.status === 404)
      return isServed(error) ? { kind: 'absent' } : unknown(facts, 'absent');
    if (isForbidden(error)) return unknown(facts, 'forbidden');
    const isLate =
      signal.aborted ||
      error instanceof DeadlineError ||
      (error instanceof TransportError && error.failure === 'timeout');
    return unknown(facts, isLate ? 'timeout' : 'failed');
  }

  function get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, notKnown: string): Promise<Reading<T>> {
    const { group, plural, namespaced } = resource;
    const namespace = namespaced ? ref.namespace : undefined;
    const facts = { verb: 'get', group, resource: plural, namespace, notKnown } as const;
    return once(keyOf(resource, ref), facts, async () => {
      const path = watchPath(resource, namespace, `metadata.name=${ref.name}`);
      if (watchedPlurals.has(plural)) watchable.objects.set(path, { path, resourceVersion: undefined });
      const value = await client.get(resource, ref, options);
      if (watchedPlurals.has(plural)) {
        watchable.objects.set(path, { path, resourceVersion: value.metadata?.resourceVersion });
      }
      note(resource, value, 'whole');
      return { kind: 'found', value };
    });
  }

  function raw(path: string, notKnown: string): Promise<Reading<unknown>> {
    const facts = { verb: 'get', group: '', resource: path, namespace: undefined, notKnown } as const;
    return once(`raw ${path}`, facts, async () => ({ kind: 'found', value: await client.raw(path, options) }));
  }

  return {
    get,
    getAgain(resource, ref, notKnown) {
      read.delete(keyOf(resource, ref));
      return get(resource, ref, notKnown);
    },
    list<T extends KubeObject>(
      resource: Resource<T>,
      { size = pageSize, most = mostPages, isEnough = () => false, keep, keptAs, ...query }: ListQuery & Pages<T>,
      notKnown: string,
    ) {
      const { group, plural } = resource;
      const facts = { verb: 'list', group, resource: plural, namespace: query.namespace, notKnown } as const;
      unnamedLists += 1;
      const kept = keep === undefined ? 'whole' : (keptAs ?? unnamedLists);
      return once(`list ${group}/${plural} ${JSON.stringify({ ...query, size, most, kept })}`, facts, async () => {
        const items: T[] = [];
        let next: string | undefined;
        for (let page = 1; ; page += 1) {
          const answer = await client.list(
            resource,
            { ...query, limit: size, ...(next !== undefined && { continue: next }) },
            { ...options, keep },
          );
          for (const item of answer.items) {
            items.push(item);
            note(resource, item, keep === undefined ? 'whole' : 'part');
          }
          if (plural === 'events') {
            const path = watchPath(resource, query.namespace, query.fieldSelector ?? '');
            watchable.events.set(path, { path, resourceVersion: answer.resourceVersion });
          }
          next = answer.continue;
          if (next === undefined || next === '' || isEnough(items.length)) break;
          if (page < most) continue;
          unknown(facts, 'limit');
          break;
        }
        return { kind: 'found', value: items };
      });
    },
    async review({ user, groups, ...attributes }) {
      const { group, plural } = subjectAccessReviews;
      const notKnown = `whether ${user} may ${attributes.verb} ${attributes.resource}`;
      const facts = { verb: 'create', group, resource: plural, namespace: undefined, notKnown } as const;
      const answer = await once(`review ${user} ${JSON.stringify(attributes)}`, facts, async () => {
        const spec = { user, groups, resourceAttributes: definedOnly(attributes) };
        return { kind: 'found', value: await client.create(subjectAccessReviews, { spec }, options) };
      });
      return answer.kind === 'found' ? isAllowed(answer.value) : undefined;
    },
    raw,
    async lines(path, named, { mostBytes, onLine, isExpected }) {
      const facts = { verb: 'get', group: '', namespace: undefined, ...named } as const;
      const read = async (deadline: AbortSignal): Promise<Reading<'whole' | 'cut'>> => {
        const { body } = await client.stream({ purpose: 'list', path, accept: 'text/plain' }, deadline);
        const value = await eachLine(body, mostBytes, onLine);
        if (!isExpected()) return unknown(facts, 'failed');
        if (value === 'cut') unknown(facts, 'limit');
        return { kind: 'found', value };
      };
      const deadline = { parent: signal, ms: requestTimeoutMs };
      const answer = await once(`lines ${path}`, facts, () => withDeadline(clock, deadline, read));
      return answer.kind === 'absent' ? unknown(facts, 'absent') : answer;
    },
    known: () => [...found.values()].map(({ resource, objects }) => ({ resource, objects: [...objects.values()] })),
    async version() {
      const read = await raw('/version', 'the version of the server');
      const version = (valueOf(read) as { readonly gitVersion?: unknown } | null | undefined)?.gitVersion;
      return typeof version === 'string' ? version : undefined;
    },
    concluded<T>(what: string, conclude: () => Promise<T>) {
      const known = (conclusions.get(what) as Promise<T> | undefined) ?? conclude();
      conclusions.set(what, known);
      return known;
    },
    missing: () => [...missing.values()],
    objects: () => [
      ...[...watchable.objects.values()].slice(0, mostWatched),
      ...[...watchable.events.values()].slice(0, 1),
    ],
    nowMs: () => clock.nowMs() + meter.serverAheadMs(),
    sleep: (ms) => clock.sleep(ms, signal),
  };
}

/** The object, or undefined if it is absent or not known. */
export function valueOf<T>(reading: Reading<T>): T | undefined {
  return reading.kind === 'found' ? reading.value : undefined;
}
