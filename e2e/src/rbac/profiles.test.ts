// SPDX-License-Identifier: Apache-2.0
import { clusterRules as attacherRules } from '@csi-sidecars/attacher';
import { clusterRules as healthMonitorRules } from '@csi-sidecars/health-monitor';
import { clusterRules as provisionerRules, namespaceRules as provisionerRoleRules } from '@csi-sidecars/provisioner';
import { clusterRules as resizerRules } from '@csi-sidecars/resizer';
import { leaseRules, type UsedRule } from '@csi-sidecars/runtime';
import { clusterRules as snapshotterRules } from '@csi-sidecars/snapshotter';
import { clusterRules as snapshotControllerRules } from '@csi-sidecars/snapshot-controller';
import { clusterRules as metadataRules } from '@csi-sidecars/snapshot-metadata';
import { clusterRules as validatorRules } from '@csi-sidecars/data-source-validator';
import { describe, expect, it } from 'vitest';
import { rightsGranted } from '../audit/analyse.ts';
import { accountOf, extraRules, rbacObjects, rulesOf, type RbacProfile, type RbacSubject } from './profiles.ts';

const placement = { namespace: 'p-01', driverName: 'p-01.e2e.csi.test' };
const accounts = [
  { subject: 'external-provisioner', account: 'csi-provisioner', lease: 'p-01-e2e-csi-test' },
  { subject: 'external-attacher', account: 'csi-attacher', lease: 'external-attacher-leader-p-01-e2e-csi-test' },
  { subject: 'external-resizer', account: 'csi-resizer', lease: 'external-resizer-p-01-e2e-csi-test' },
  {
    subject: 'external-snapshotter',
    account: 'csi-snapshotter',
    lease: 'external-snapshotter-leader-p-01-e2e-csi-test',
  },
  {
    subject: 'external-health-monitor-controller',
    account: 'csi-external-health-monitor-controller',
    lease: 'external-health-monitor-leader-p-01-e2e-csi-test',
  },
  { subject: 'snapshot-controller', account: 'snapshot-controller', lease: 'snapshot-controller-leader' },
  {
    subject: 'volume-data-source-validator',
    account: 'volume-data-source-validator',
    lease: 'data-source-validator-leader',
  },
] as const;
const metadata = { subject: 'external-snapshot-metadata', account: 'csi-snapshot-metadata' } as const;
/** Upstream's manifest of the validator runs it without an election. */
const hasNoRole = (profile: RbacProfile, subject: RbacSubject): boolean =>
  subject === metadata.subject || (profile === 'stock' && subject === 'volume-data-source-validator');
const cases = (['stock', 'minimal'] as const).flatMap((profile) =>
  [...accounts, metadata].map((each) => ({ profile, ...each })),
);

describe.each(cases)('profile $profile of $subject', ({ profile, subject, account }) => {
  const objects = rbacObjects({ profile, subject }, placement);

  it('given a namespace, then everything namespaced is in it and bindings name its account', () => {
    expect(accountOf(objects)).toEqual({ namespace: 'p-01', name: account });
    const namespaces = objects.flatMap(({ metadata }) => metadata.namespace ?? []);
    expect(new Set(namespaces)).toEqual(new Set(['p-01']));
    const subjects = objects.flatMap((object) => object.subjects ?? []);
    expect(subjects).toEqual(
      Array.from({ length: hasNoRole(profile, subject) ? 1 : 2 }, () => ({
        kind: 'ServiceAccount',
        name: account,
        namespace: 'p-01',
      })),
    );
  });

  it('given two namespaces, then their cluster-wide bindings have different names and the same role', () => {
    const other = rbacObjects({ profile, subject }, { ...placement, namespace: 'p-02' });
    const bindings = [objects, other].map((all) => all.find(({ kind }) => kind === 'ClusterRoleBinding'));
    expect(bindings[0]!.metadata.name).not.toBe(bindings[1]!.metadata.name);
    expect(bindings[0]?.roleRef).toEqual(bindings[1]?.roleRef);
  });

  it('given the rules, then none has a wildcard and none reaches secrets', () => {
    const rights = [...rightsGranted(rulesOf(objects))];
    expect(rights.filter((right) => right.includes('*') || right.includes('secrets'))).toEqual([]);
  });
});

it.each<{ subject: RbacSubject; beyond: readonly string[] }>([
  { subject: 'external-provisioner', beyond: ['get volumeattributesclasses.storage.k8s.io'] },
  { subject: 'external-attacher', beyond: ['create events', 'patch events'] },
  { subject: 'external-resizer', beyond: [] },
  { subject: 'external-snapshotter', beyond: [] },
  { subject: 'external-health-monitor-controller', beyond: [] },
  { subject: 'snapshot-controller', beyond: [] },
  {
    subject: 'volume-data-source-validator',
    beyond: ['create', 'get', 'update', 'watch'].map((verb) => `${verb} leases.coordination.k8s.io`),
  },
  {
    subject: metadata.subject,
    beyond: ['get', 'list'].map((verb) => `${verb} volumesnapshotclasses.snapshot.storage.k8s.io`),
  },
])('given both profiles of $subject, then minimal grants beyond stock: $beyond', ({ subject, beyond }) => {
  const granted = (profile: RbacProfile): ReadonlySet<string> =>
    rightsGranted(rulesOf(rbacObjects({ profile, subject }, placement)));
  const stock = granted('stock');
  expect([...granted('minimal')].filter((right) => !stock.has(right))).toEqual(beyond);
});

it.each(accounts)(
  'given profile minimal of $subject, then the lease is restricted to $lease, but for create',
  ({ subject, lease }) => {
    const rules = rulesOf(rbacObjects({ profile: 'minimal', subject }, placement));
    const leaseRules = rules.filter(({ resources }) => resources.includes('leases'));
    expect(leaseRules.map(({ verbs, resourceNames }) => [verbs, resourceNames])).toEqual([
      [['create'], undefined],
      [['get', 'update', 'watch'], [lease]],
    ]);
  },
);

it('given a need beyond the profile, then it is a role and a binding of their own', () => {
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
  const objects = extraRules({ namespace: 'p-19', name: 'csi-provisioner' }, 'secrets', rules);
  expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    'ClusterRole p-19-csi-provisioner-secrets',
    'ClusterRoleBinding p-19-csi-provisioner-secrets',
  ]);
});

/** Scenarios that need these have them granted beyond the profile. */
const onRequest = /^get secrets$| referencegrants\./;

it('given profile minimal of external-snapshot-metadata, then it grants what the program uses but secrets, and no more', () => {
  const granted = rightsGranted(rulesOf(rbacObjects({ profile: 'minimal', subject: metadata.subject }, placement)));
  expect([...granted].sort()).toEqual(
    [...rightsGranted(metadataRules)].filter((right) => !onRequest.test(right)).sort(),
  );
});

it.each<{ subject: RbacSubject; used: readonly UsedRule[]; inReserve: RegExp }>([
  { subject: 'external-attacher', used: attacherRules, inReserve: /^$/ },
  { subject: 'external-resizer', used: resizerRules, inReserve: /^$/ },
  { subject: 'external-snapshotter', used: snapshotterRules, inReserve: /^$/ },
  { subject: 'external-health-monitor-controller', used: healthMonitorRules, inReserve: /^$/ },
  { subject: 'volume-data-source-validator', used: validatorRules, inReserve: /^$/ },
  // Nodes are for distributed snapshotting, populators for the validator. Both have to be switched on.
  {
    subject: 'snapshot-controller',
    used: snapshotControllerRules.filter(
      ({ resources }) => !resources.includes('nodes') && !resources.includes('volumepopulators'),
    ),
    inReserve: /^$/,
  },
  { subject: 'external-provisioner', used: [...provisionerRules, ...provisionerRoleRules], inReserve: /^$/ },
])(
  'given profile minimal of $subject, then it grants what the program uses but what a scenario asks for, and no more',
  ({ subject, used, inReserve }) => {
    const granted = rightsGranted(rulesOf(rbacObjects({ profile: 'minimal', subject }, placement)));
    const needed = [...rightsGranted([...used, ...leaseRules])].filter((right) => !onRequest.test(right));
    expect([...granted].filter((right) => !inReserve.test(right)).sort()).toEqual(needed.sort());
  },
);
