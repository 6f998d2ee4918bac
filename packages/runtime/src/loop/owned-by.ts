// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from '../api/objects.ts';
import { controllerOf } from '../api/owner-references.ts';
import type { Resource } from '../api/resource.ts';
import { type ObjectKey, toObjectKey } from '../informer/key.ts';
import type { Change } from './loop.ts';

/**
 * A handler that wakes the owner that manages an object, `Owns()` of controller-runtime: its owner with `controller: true`, if that is of the API group
 * and kind of `resource`. The version of the owner is not compared. When the owner changes, both are woken.
 */
export function ownedBy({
  group,
  kind,
  namespaced,
}: Pick<Resource, 'group' | 'kind' | 'namespaced'>): (change: Change<KubeObject>) => readonly ObjectKey[] {
  const ownerOf = (object: KubeObject = {}): ObjectKey | undefined => {
    const { namespace } = object.metadata ?? {};
    const owner = controllerOf(object);
    if (owner?.kind !== kind || groupOf(owner.apiVersion) !== group) return undefined;
    return toObjectKey(namespaced ? namespace : undefined, owner.name);
  };
  return ({ previous, current }) => {
    const [before, now] = [ownerOf(previous), ownerOf(current)];
    return [before, before === now ? undefined : now].filter((key) => key !== undefined);
  };
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? (apiVersion.split('/')[0] as string) : '';
}
