// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { ApiClient } from './client.ts';
import { isNotFound } from './error-predicates.ts';
import { gettingByList } from './find-object.ts';
import type { PersistentVolume } from './objects.ts';
import { persistentVolumes } from './resource.ts';

it.each([{ items: [{ metadata: { name: 'pv' } }] }, { items: [] }])(
  'given a role that does not allow get, when an object is read, then it is looked for by a list of its name: $items',
  async ({ items }) => {
    const sent: unknown[] = [];
    const list = async (...request: readonly unknown[]) => {
      sent.push(request);
      return { items };
    };
    const { signal } = new AbortController();
    const reading = gettingByList({ list } as unknown as ApiClient);
    const read = await reading
      .get<PersistentVolume>(persistentVolumes, { name: 'pv' }, { signal })
      .catch((error: unknown) => error);
    expect(sent).toEqual([
      [persistentVolumes, { namespace: undefined, fieldSelector: 'metadata.name=pv' }, { signal }],
    ]);
    expect(items.length === 0 ? [isNotFound(read), (read as Error).message] : [read]).toEqual(
      items.length === 0 ? [true, 'persistentvolumes "pv" not found'] : items,
    );
  },
);
