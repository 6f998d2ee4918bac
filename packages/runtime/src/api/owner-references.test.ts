// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { configMaps, deployments } from './common-resources.ts';
import { controllerOf, controllerReference, isOwnedBy, ownerReference } from './owner-references.ts';

const owner = { metadata: { namespace: 'team', name: 'web', uid: 'u1' } };
const reference = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u1' };

it('given an owner, then its reference names its type, name and UID', () => {
  expect(ownerReference(deployments, owner)).toEqual(reference);
  expect(ownerReference(configMaps, { metadata: { name: 'a', uid: 'u2' } }).apiVersion).toBe('v1');
});

it('given an owner that manages the object, then its reference is that of the controller, and blocks foreground deletion', () => {
  const managed = controllerReference(deployments, owner);
  expect(managed).toEqual({ ...reference, controller: true, blockOwnerDeletion: true });
  expect(controllerOf({ metadata: { ownerReferences: [{ ...reference, uid: 'u2' }, managed] } })).toBe(managed);
});

it.each([{}, { metadata: {} }, { metadata: { ownerReferences: [reference] } }])(
  'given %j, then the object has no controller',
  (object) => expect(controllerOf(object)).toBeUndefined(),
);

it('given an owner, then objects with its UID are its own, and those of an earlier owner of its name are not', () => {
  expect(isOwnedBy({ metadata: { ownerReferences: [{ ...reference, name: 'old' }] } }, owner)).toBe(true);
  expect(isOwnedBy({ metadata: { ownerReferences: [{ ...reference, uid: 'u0' }] } }, owner)).toBe(false);
  expect(isOwnedBy({}, owner)).toBe(false);
});

it('given an owner that was never stored, then nothing is its own', () => {
  const odd = { ...reference, uid: undefined as never };
  expect(isOwnedBy({ metadata: { ownerReferences: [odd] } }, { metadata: { name: 'web' } })).toBe(false);
});
