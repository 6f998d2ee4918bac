// SPDX-License-Identifier: Apache-2.0
/** When the objects of a test environment reached a state, seen by informers of the bench itself, in monotonic milliseconds of this process. */
import { eventually } from '@csi-sidecars/e2e';
import { silentLogger, systemRandom, type Informer, type KubeObject, type Resource } from '@csi-sidecars/runtime';
import { createInformer } from '@csi-sidecars/runtime/internal';
import type { BenchCluster } from './bench-cluster.ts';

/** States of the objects of one resource: each gives the name under which an object has reached it. */
export interface Watched<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly namespace?: string;
  readonly states: Readonly<Record<string, (object: T) => string | undefined>>;
  /** The state of an object that is deleted. */
  readonly gone?: Readonly<Record<string, (object: T) => string | undefined>>;
}

export interface Watching extends AsyncDisposable {
  /** By name, the first time. */
  at(state: string): ReadonlyMap<string, number>;
  /** As `at`, for these names in their order. NaN: it has not been reached. */
  times(state: string, names: readonly string[]): readonly number[];
  /** Resolves when all of these names have reached the state. */
  until(state: string, names: readonly string[]): Promise<void>;
}

/** Longer than any expected duration, so that a run always ends. */
const patienceMs = 240_000;

/** For a list of resources of different types. */
export const watched = <T extends KubeObject>(of: Watched<T>): Watched<KubeObject> =>
  of as unknown as Watched<KubeObject>;

/** Watches until disposed; resolves when all caches are filled. */
export async function watching(
  { api: client, clock, patience }: BenchCluster,
  all: readonly Watched<KubeObject>[],
): Promise<Watching> {
  const known = new Map<string, Map<string, number>>();
  const stop = new AbortController();
  const running: Promise<unknown>[] = [];
  const informers: Informer<KubeObject>[] = [];
  for (const { resource, namespace, states, gone = {} } of all) {
    for (const state of [...Object.keys(states), ...Object.keys(gone)]) known.set(state, new Map());
    const note = (of: typeof states, object: KubeObject): void => {
      for (const [state, nameIn] of Object.entries(of)) {
        const [times, name] = [known.get(state)!, nameIn(object)];
        if (name !== undefined && !times.has(name)) times.set(name, clock.monotonicMs());
      }
    };
    const informer = createInformer(
      { client, clock, random: systemRandom(), logger: silentLogger },
      { resource, ...(namespace !== undefined && { namespace }) },
    );
    informer.addHandler({
      add: (object) => note(states, object),
      update: (_previous, object) => note(states, object),
      delete: ({ object }) => note(gone, object),
    });
    informers.push(informer);
    running.push(informer.run(stop.signal));
  }
  await Promise.all(informers.map((informer) => informer.whenSynced(patience.signal)));
  const at = (state: string): ReadonlyMap<string, number> => {
    const times = known.get(state);
    if (times === undefined) throw new Error(`nothing is watched for ${state}`);
    return times;
  };
  return {
    at,
    times: (state, names) => names.map((name) => at(state).get(name) ?? NaN),
    until: async (state, names) => {
      const check = (): boolean => names.every((name) => at(state).has(name));
      await eventually(patience, { what: `${names.length} are ${state}`, check, timeoutMs: patienceMs });
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all(running);
    },
  };
}
