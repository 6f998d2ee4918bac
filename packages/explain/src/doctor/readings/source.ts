// SPDX-License-Identifier: Apache-2.0
/** A source is read once for all checks that need it. What could not be read is named, so that checks can say what they lack. */
import type { KubeObject, ListQuery, Resource } from '@csi-sidecars/runtime';
import type { Pages } from '../../cluster/limits.ts';
import type { Missing, Reader, Reading } from '../../cluster/reader.ts';
import type { ViaPorts } from '../../leader-answer/ask.ts';
import type { Readings } from './facts.ts';

export type Read<T> =
  | {
      readonly kind: 'read';
      readonly value: T;
      /** What of it was left out. */
      readonly cut: readonly Missing[];
    }
  | { readonly kind: 'notRead'; readonly missing: readonly Missing[] };

export interface Scope {
  /** Undefined: all drivers. */
  readonly driver: string | undefined;
  /** Where workloads and Leases are, if they may not be listed everywhere. Empty: everywhere. */
  readonly namespace: string;
}

export interface Gathering {
  readonly reader: Reader;
  readonly scope: Scope;
  /** Undefined: leaders are not asked. */
  readonly via: ViaPorts | undefined;
  readonly get: <K extends keyof Readings>(name: K) => Promise<Read<Readings[K]>>;
}

export interface Source<T> {
  /** For `--list`: `list nodes`. */
  readonly rights: readonly string[];
  readonly read: (gathering: Gathering) => Promise<Read<T>>;
}

export function isRead<T>(read: Read<T>): read is Extract<Read<T>, { kind: 'read' }> {
  return read.kind === 'read';
}

export function value<T>(read: T, cut: readonly Missing[] = []): Read<T> {
  return { kind: 'read', value: read, cut };
}

/** The value of what was read; nothing of what was not. */
export function orNothing<T>(read: Read<readonly T[]>): readonly T[] {
  return isRead(read) ? read.value : [];
}

/** Kinds that the cluster does not serve are an empty list. */
const mostPages = 100;

export async function listed<T extends KubeObject>(
  { reader }: Pick<Gathering, 'reader'>,
  resource: Resource<T>,
  {
    notKnown = `what ${resource.plural} say`,
    ...query
  }: ListQuery &
    Pages<T> & {
      /** Completes "... is not known". */
      readonly notKnown?: string;
    } = {},
): Promise<Read<readonly T[]>> {
  const read = await reader.list(resource, { most: mostPages, ...query }, notKnown);
  const { group, plural } = resource;
  const missing = { verb: 'list', group, resource: plural, namespace: query.namespace, notKnown } as const;
  if (read.kind === 'found') {
    const isCut = reader
      .missing()
      .some((each) => each.because === 'limit' && each.resource === plural && each.namespace === query.namespace);
    return value(read.value, isCut ? [{ ...missing, because: 'limit' }] : []);
  }
  if (read.kind === 'absent' || read.because === 'absent') return value([]);
  return { kind: 'notRead', missing: [{ ...missing, because: read.because }] };
}

/** A source that is a list of one kind. */
export function listSource<T extends KubeObject>(resource: Resource<T>, pages: Pages<T> = {}): Source<readonly T[]> {
  return { rights: [rightOf('list', resource)], read: (gathering) => listed(gathering, resource, pages) };
}

/** A source of which no more is kept than what checks ask about. */
export function reducedSource<T extends KubeObject, R>(
  resource: Resource<T>,
  reduce: (object: T, nowMs: number) => R | undefined,
): Source<readonly R[]> {
  return {
    rights: [rightOf('list', resource)],
    read: async (gathering) => {
      const kept: R[] = [];
      const nowMs = gathering.reader.nowMs();
      const keep = (object: T): undefined => {
        const reduced = reduce(object, nowMs);
        if (reduced !== undefined) kept.push(reduced);
      };
      const read = await listed(gathering, resource, { keep });
      return read.kind === 'read' ? value(kept, read.cut) : read;
    },
  };
}

export function rightOf(verb: 'get' | 'list', { plural, group }: Resource): string {
  return `${verb} ${plural}${group === '' ? '' : `.${group}`}`;
}

/** Why an object is not known; undefined: it is known whether it exists. */
export function missingGet<T>(
  read: Reading<T>,
  { group, plural }: Resource,
  { namespace, notKnown }: { readonly namespace?: string | undefined; readonly notKnown: string },
): Missing | undefined {
  if (read.kind !== 'unknown') return undefined;
  return { verb: 'get', group, resource: plural, namespace, because: read.because, notKnown };
}

/** All of them, or what is missing of any. */
export function together<T>(reads: readonly Read<T>[]): Read<readonly T[]> {
  const missing = reads.flatMap((read) => (read.kind === 'notRead' ? read.missing : []));
  if (missing.length > 0) return { kind: 'notRead', missing };
  const found = reads.filter(isRead);
  return value(
    found.map((read) => read.value),
    found.flatMap(({ cut }) => cut),
  );
}

/** As many at a time as a command may send requests. */
export async function eachOf<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const index = next;
      next += 1;
      results[index] = await work(items[index]!);
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return results;
}
