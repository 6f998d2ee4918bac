// SPDX-License-Identifier: Apache-2.0
/** What the compiler says of a patch. `npm run typecheck` fails if an expected error does not come. */
import { expect, it } from 'vitest';
import { changeObject, type ChangeObjectDeps, type MergePatch, type PatchOf } from './change-object.ts';
import type { KubeObject, PersistentVolumeClaim } from './objects.ts';
import { persistentVolumeClaims } from './resource.ts';

interface Widget extends KubeObject {
  readonly spec: { readonly size: number; readonly tags?: readonly { readonly name: string }[] };
  readonly status?: { readonly phase?: string };
}

it('[runtime#264] given a patch, then it names fields of its kind, null removes one, a list is whole, and another field or type is refused', () => {
  const taken: readonly PatchOf<Widget>[] = [
    {},
    { status: { phase: 'Ready' } },
    { status: { phase: null }, metadata: { labels: { a: null }, finalizers: [] } },
    { spec: { tags: [{ name: 'a' }] } },
    { status: null },
  ];
  const refused: readonly PatchOf<Widget>[] = [
    // @ts-expect-error: there is no such field.
    { status: { fase: 'Ready' } },
    // @ts-expect-error: it is no text.
    { spec: { size: 'big' } },
    // @ts-expect-error: the list would lose the names of its entries.
    { spec: { tags: [{}] } },
    // @ts-expect-error: a label is a text.
    { metadata: { labels: { a: 1 } } },
  ];
  expect([taken, refused].map(({ length }) => length)).toEqual([5, 4]);
});

it('[runtime#264] given a call with a patch for another kind, then it is refused, unless it says that it works on several', () => {
  const [deps, object] = [{} as ChangeObjectDeps<PersistentVolumeClaim>, {} as PersistentVolumeClaim];
  const change = { resource: persistentVolumeClaims, object };
  const calls = [
    // @ts-expect-error: claims have no such field.
    () => changeObject(deps, { ...change, patch: () => ({ status: { fase: 'Bound' } }) }),
    () => changeObject(deps, { ...change, patch: () => ({ status: { phase: 'Bound' } }) }),
    () => changeObject<PersistentVolumeClaim, MergePatch>(deps, { ...change, patch: () => ({ any: 1 }) }),
    // A kind without fields of its own takes any.
    (patch: MergePatch): PatchOf<KubeObject> => patch,
  ];
  expect(calls).toHaveLength(4);
});
