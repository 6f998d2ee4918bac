// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { deployments } from '../api/common-resources.ts';
import type { KubeObject } from '../api/objects.ts';
import type { OwnerReference } from '../api/owner-references.ts';
import { nodes, pods, type Resource } from '../api/resource.ts';
import { ownedBy } from './owned-by.ts';

const reference = (more: Partial<OwnerReference>): OwnerReference => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  name: 'web',
  uid: 'u',
  controller: true,
  ...more,
});
const owned = (...references: readonly Partial<OwnerReference>[]): KubeObject => ({
  metadata: { name: 'a', namespace: 'ns', ownerReferences: references.map(reference) },
});
const wokenBy = (resource: Resource, previous: KubeObject | undefined, current: KubeObject | undefined) =>
  ownedBy(resource)({ previous, current, isInInitialList: false });

it.each<[string, Resource, KubeObject, readonly string[]]>([
  ['the kind', deployments, owned({}), ['ns/web']],
  ['the kind in another version', deployments, owned({ apiVersion: 'apps/v1beta2' }), ['ns/web']],
  ['the kind in the core group', pods, owned({ apiVersion: 'v1', kind: 'Pod' }), ['ns/web']],
  ['a kind without namespaces', nodes, owned({ apiVersion: 'v1', kind: 'Node' }), ['web']],
  ['a kind of that name in another group', deployments, owned({ apiVersion: 'example.com/v1' }), []],
  ['a kind of that name in the core group', deployments, owned({ apiVersion: 'v1' }), []],
  ['another kind', deployments, owned({ kind: 'ReplicaSet' }), []],
  ['the kind, which does not manage it', deployments, owned({ controller: false }), []],
  ['two objects, of which the second manages it', deployments, owned({ controller: false }, { name: 'b' }), ['ns/b']],
  ['nothing', deployments, owned(), []],
])(
  '[runtime#250] given an object whose owner is %s, then its addition and its deletion wake the owner of the kind only',
  (...[, resource, object, keys]) => {
    expect(wokenBy(resource, undefined, object)).toEqual(keys);
    expect(wokenBy(resource, object, undefined)).toEqual(keys);
  },
);

it.each<[string, KubeObject, KubeObject, readonly string[]]>([
  ['the same owner', owned({}), owned({}), ['ns/web']],
  ['another owner', owned({}), owned({ name: 'b' }), ['ns/web', 'ns/b']],
  ['an owner that it did not have', owned(), owned({}), ['ns/web']],
  ['no owner any more', owned({}), owned(), ['ns/web']],
])(
  '[runtime#250] given a changed object with %s, then the owner before and the owner now are woken, each once',
  (...row) => {
    const [, previous, current, keys] = row;
    expect(wokenBy(deployments, previous, current)).toEqual(keys);
  },
);
