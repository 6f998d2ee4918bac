// SPDX-License-Identifier: Apache-2.0
/** An API client that reads through another one and never writes: the first write is reported, and gets no answer. */
import type { ApiClient, PatchTarget } from '../api/client.ts';
import { isNotFound } from '../api/error-predicates.ts';
import type { KubeObject } from '../api/objects.ts';
import { type Resource, secrets } from '../api/resource.ts';
import type { DryAction, Reader, WriteVerb } from './world.ts';

export interface Guard {
  readonly onAction: (action: DryAction) => void;
  /** A read has failed, and not because there is no such object. */
  readonly onFailedRead: (what: string) => void;
}

export function guardedClient(read: Reader, { onAction, onFailedRead }: Guard): ApiClient {
  const refuse = (verb: WriteVerb, { plural }: Resource, subresource?: string): Promise<never> => {
    onAction({ kind: 'write', verb, resource: subresource === undefined ? plural : `${plural}/${subresource}` });
    return noAnswer();
  };
  const reading = async <T>(what: string, ask: () => Promise<T>): Promise<T> => {
    try {
      return await ask();
    } catch (error) {
      if (!isNotFound(error)) onFailedRead(what);
      throw error;
    }
  };
  return {
    get: (resource, ref, options) => {
      const name = ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`;
      return reading(`get ${resource.plural} ${name}`, async () =>
        withoutValues(resource, await read.get(resource, ref, options)),
      );
    },
    list: (resource, query, options) =>
      reading(`list ${resource.plural}`, async () => {
        const page = await read.list(resource, query, options);
        return { ...page, items: page.items.map((item) => withoutValues(resource, item)) };
      }),
    raw: (path, options) => reading(`get ${path}`, () => read.raw(path, options)),
    create: (resource, _object, options) => refuse('create', resource, options?.subresource),
    update: (resource, _object, options) => refuse('update', resource, options?.subresource),
    patch: <T extends KubeObject>({ resource }: PatchTarget<T>, _patch: unknown, options?: { subresource?: string }) =>
      refuse('patch', resource, options?.subresource),
    delete: (resource) => refuse('delete', resource),
    stream: () => Promise.reject(new Error('a dry run watches nothing')),
  };
}

/** A step that waits for it goes no further. */
export function noAnswer(): Promise<never> {
  return new Promise(() => undefined);
}

/** Only the existence of a secret counts. Its values must not stay in memory, whatever the reader has brought. */
function withoutValues<T extends KubeObject>({ group, plural }: Resource<T>, object: T): T {
  if (group !== secrets.group || plural !== secrets.plural) return object;
  const { apiVersion, kind, metadata } = object;
  return { apiVersion, kind, metadata } as T;
}
