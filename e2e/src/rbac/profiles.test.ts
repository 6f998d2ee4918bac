// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { rightsGranted } from '../audit/analyse.ts';
import { accountOf, extraRules, rbacObjects, rulesOf, type RbacProfile } from './profiles.ts';

const placement = { namespace: 'p-01', driverName: 'p-01.e2e.csi.test' };
const objectsOf = (profile: RbacProfile): ReturnType<typeof rbacObjects> =>
  rbacObjects({ profile, subject: 'external-provisioner' }, placement);

describe.each(['stock', 'minimal'] as const)('profile %s', (profile) => {
  const objects = objectsOf(profile);

  it('given a namespace, then everything namespaced is in it and bindings name its account', () => {
    expect(accountOf(objects)).toEqual({ namespace: 'p-01', name: 'csi-provisioner' });
    const namespaces = objects.flatMap(({ metadata }) => metadata.namespace ?? []);
    expect(new Set(namespaces)).toEqual(new Set(['p-01']));
    const subjects = objects.flatMap((object) => object.subjects ?? []);
    expect(subjects).toEqual(
      Array.from({ length: 2 }, () => ({ kind: 'ServiceAccount', name: 'csi-provisioner', namespace: 'p-01' })),
    );
  });

  it('given two namespaces, then their cluster-wide bindings have different names and the same role', () => {
    const other = rbacObjects({ profile, subject: 'external-provisioner' }, { ...placement, namespace: 'p-02' });
    const bindings = [objects, other].map((all) => all.find(({ kind }) => kind === 'ClusterRoleBinding'));
    expect(bindings[0]?.metadata.name).not.toBe(bindings[1]?.metadata.name);
    expect(bindings[0]?.roleRef).toEqual(bindings[1]?.roleRef);
  });

  it('given the rules, then none has a wildcard and none reaches secrets', () => {
    const rights = [...rightsGranted(rulesOf(objects))];
    expect(rights.filter((right) => right.includes('*') || right.includes('secrets'))).toEqual([]);
  });
});

it('given both profiles, then minimal grants nothing beyond stock but reading VolumeAttributesClasses', () => {
  const stock = rightsGranted(rulesOf(objectsOf('stock')));
  const minimal = rightsGranted(rulesOf(objectsOf('minimal')));
  expect([...minimal].filter((right) => !stock.has(right))).toEqual(['get volumeattributesclasses.storage.k8s.io']);
});

it('given profile minimal, then the lease is restricted to the name of the driver, but for create', () => {
  const leaseRules = rulesOf(objectsOf('minimal')).filter(({ resources }) => resources.includes('leases'));
  expect(leaseRules.map(({ verbs, resourceNames }) => [verbs, resourceNames])).toEqual([
    [['create'], undefined],
    [['get', 'update', 'watch'], ['p-01-e2e-csi-test']],
  ]);
});

it('given a need beyond the profile, then it is a role and a binding of their own', () => {
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
  const objects = extraRules({ namespace: 'p-19', name: 'csi-provisioner' }, 'secrets', rules);
  expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    'ClusterRole p-19-csi-provisioner-secrets',
    'ClusterRoleBinding p-19-csi-provisioner-secrets',
  ]);
});
