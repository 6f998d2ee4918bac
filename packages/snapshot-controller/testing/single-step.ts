// SPDX-License-Identifier: Apache-2.0
/** One action of a loop by itself: without queue, informers and the decision before it. */
import { isFailed, type KubeObject, TransportError } from '@csi-sidecars/runtime';
import { FakeClock, learnedAtStop, seededRandom, silentApi } from '@csi-sidecars/runtime/testing';
import { anApiServer } from './api-server.ts';

interface AnyAction {
  readonly kind: string;
}

const cacheNames = ['snapshots', 'contents', 'claims', 'volumes', 'groups', 'groupContents', 'owners'];

function emptyCaches(remember: (object: KubeObject) => void): object {
  const cache = { get: () => undefined, byIndex: () => [], remember, doubt: () => undefined };
  return Object.fromEntries(cacheNames.map((name) => [name, cache]));
}

async function perform(performers: object, action: AnyAction, ports: object): Promise<object> {
  const performer = (performers as Record<string, (step: object) => object | Promise<object>>)[action.kind];
  if (performer === undefined) throw new Error(`no function performs ${action.kind}`);
  return await performer({ ...ports, action, state: {} });
}

/** Why the request failed in the end, whatever its failure was wrapped in. */
function transportFailure(error: unknown): string {
  if (error instanceof TransportError) return error.failure;
  return error instanceof Error ? transportFailure(error.cause) : String(error);
}

/** What the action learns from an API server that does not answer before the process must stop; undefined: it waits on. */
export async function learnedInSilence(
  performers: object,
  action: AnyAction,
): Promise<{ readonly requests: number; readonly learned: object | undefined }> {
  const clock = new FakeClock();
  const { client, requests } = silentApi(clock);
  const ports = { client, clock, random: seededRandom(1), caches: emptyCaches(() => undefined) };
  const learned = await learnedAtStop((signal) => perform(performers, action, { ...ports, signal }), clock);
  if (learned === undefined) return { requests: requests.length, learned };
  const texts = Object.entries(learned).map(([field, value]: [string, string | object]) => [
    field,
    isFailed(value) ? transportFailure(value.failure) : value,
  ]);
  return { requests: requests.length, learned: Object.fromEntries(texts) as object };
}

export interface Performed {
  readonly learned: object;
  /** `patch volumesnapshots 409` */
  readonly requests: readonly string[];
  /** What the cache shows at once. */
  readonly remembered: KubeObject | undefined;
}

interface Stored<T extends KubeObject> {
  readonly object: T;
  /** `outdated`: somebody changed the object after it was cached. Default `current`. */
  readonly cache?: 'current' | 'outdated';
  /** What else the API server has. */
  readonly beside?: readonly KubeObject[];
}

/** Performs an action on an object that the API server has. */
export async function performed<T extends KubeObject>(
  performers: object,
  { object, cache = 'current', beside = [] }: Stored<T>,
  actionOn: (cached: T) => AnyAction,
): Promise<Performed> {
  const { server, ports, requests, end } = anApiServer();
  for (const other of beside) server.seed(other);
  const cached = server.seed<T>(object);
  if (cache === 'outdated') server.seed<T>({ ...cached, metadata: { ...cached.metadata, labels: { changed: 'yes' } } });
  let remembered: KubeObject | undefined;
  const caches = emptyCaches((known) => (remembered = known));
  const { signal } = new AbortController();
  const learned = await end(perform(performers, actionOn(cached), { ...ports, caches, signal }));
  return { learned, requests: requests(), remembered };
}
