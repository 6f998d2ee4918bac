// SPDX-License-Identifier: Apache-2.0
/** What all bare programs share. */
import type { PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { type Api, type Call, type Item, type Meta, Refused } from './clients.ts';

export interface Tools {
  readonly api: Api;
  readonly call: Call;
  readonly driver: string;
}
export type With<T> = T & Item;
export type Claim = With<PersistentVolumeClaim>;
export type Volume = With<PersistentVolume>;

export const volumes = '/api/v1/persistentvolumes';
export const claims = '/api/v1/persistentvolumeclaims';

export function pathOf(collection: string, { name, namespace }: Pick<Meta, 'name' | 'namespace'>): string {
  if (namespace === undefined) return `${collection}/${name}`;
  const at = collection.lastIndexOf('/');
  return `${collection.slice(0, at)}/namespaces/${namespace}${collection.slice(at)}/${name}`;
}

/** Returns whether a step of an object is asked for the first time. */
export function firstTimes(): (what: string, { uid }: Meta) => boolean {
  const seen = new Set<string>();
  return (what, { uid }) => {
    const key = `${what} ${uid}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  };
}

/** What fails is printed, and the bench waits in vain. */
export function inBackground(work: () => Promise<unknown>): void {
  work().catch((error: unknown) => console.error(error));
}

/** An object, and the path of it or of its status. */
export interface Target<T extends Item> {
  readonly path: string;
  readonly object: T;
}

/** With the object as it is stored, which is read again after a conflict. */
export async function afterConflicts<T extends Item>(
  api: Api,
  { path, object }: Target<T>,
  write: (now: T) => Promise<T>,
): Promise<T> {
  for (let now = object; ; now = await api.request<T>('GET', path)) {
    try {
      return await write(now);
    } catch (error) {
      if (!(error instanceof Refused) || error.code !== 409) throw error;
    }
  }
}

/** `listOf`: undefined, if the list is as it should be. The whole list is written, because custom resources take no strategic merge patches. */
export function changeFinalizers<T extends Item>(
  api: Api,
  target: Target<T>,
  listOf: (object: T) => readonly string[] | undefined,
): Promise<T> {
  return afterConflicts(api, target, async (now) => {
    const { uid, resourceVersion } = now.metadata;
    const finalizers = listOf(now);
    if (finalizers === undefined) return now;
    return await api.request<T>('PATCH', target.path, { metadata: { uid, resourceVersion, finalizers } });
  });
}

let events = 0;
export function record(
  api: Api,
  { metadata: { name, namespace, uid } }: Item,
  { kind, reason }: { readonly kind: string; readonly reason: string },
): Promise<unknown> {
  const to = namespace ?? 'default';
  const now = new Date().toISOString();
  return api.request('POST', `/api/v1/namespaces/${to}/events`, {
    metadata: { name: `${name}.${(events += 1)}.${process.pid}`, namespace: to },
    involvedObject: { kind, name, uid, namespace },
    reason,
    message: `${reason} ${name}`,
    type: 'Normal',
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
    source: { component: 'bare' },
  });
}
