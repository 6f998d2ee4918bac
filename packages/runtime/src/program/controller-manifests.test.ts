// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { configMaps } from '../api/common-resources.ts';
import { persistentVolumes, pods } from '../api/resource.ts';
import type { Loop, LoopTypes } from '../loop/loop.ts';
import { definePeriodicLoop, type PeriodicSpec } from '../loop/periodic-loop.ts';
import { controllerAccess, controllerManifests, type Described } from './controller-manifests.ts';

function aLoop(watches: PeriodicSpec<LoopTypes['watched']>['watches']): Loop {
  return definePeriodicLoop({ name: 'loop', watches, pauseMs: 1, pass: () => Promise.resolve(), failed: 'failed' });
}

const described: Described = {
  name: 'labels',
  loops: [aLoop({ maps: { resource: configMaps }, pods: { resource: pods, namespace: 'work' } })],
  rules: [
    { apiGroups: [''], resources: ['configmaps'], verbs: ['patch'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['create'], namespace: 'work' },
  ],
};
const maps = { apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch', 'patch'] };
const inWork = { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch', 'create'] };
const leases = {
  apiGroups: ['coordination.k8s.io'],
  resources: ['leases'],
  verbs: ['get', 'watch', 'create', 'update'],
};
const events = { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] };

describe('the access of a controller', () => {
  it('given loops and rules, then what is watched and what is written become one rule for each resource, in the namespace where it is used', () => {
    const { everywhere, inNamespaces } = controllerAccess(described, 'home');
    expect(everywhere).toEqual([maps]);
    expect([...inNamespaces]).toEqual([['work', [inWork]]]);
  });

  it.each([
    [{ name: 'labels' }, 'home'],
    [{ name: 'labels', namespace: 'leases' }, 'leases'],
  ])('given the lease %j, then its rules are in the namespace %s', (lease, namespace) => {
    const { inNamespaces } = controllerAccess({ ...described, loops: [], rules: [], lease }, 'home');
    expect([...inNamespaces]).toEqual([[namespace, [leases, events]]]);
  });

  it('given loops that are made from ports, then they are made beside nothing', () => {
    const loops: Described['loops'] = ({ events: recorder, client }) => {
      expect([typeof recorder.record, client]).toEqual(['function', {}]);
      return [aLoop({ volumes: { resource: persistentVolumes } })];
    };
    const { everywhere } = controllerAccess({ name: 'labels', loops }, 'home');
    expect(everywhere).toEqual([{ apiGroups: [''], resources: ['persistentvolumes'], verbs: ['list', 'watch'] }]);
  });
});

describe('the manifests of a controller', () => {
  const manifests = (more: Partial<Described> = {}) =>
    controllerManifests({ ...described, ...more }, { image: 'r/labels:v1', namespace: 'home' });

  it('given rules everywhere and in a namespace, then each role has a binding to the account', () => {
    const group = 'rbac.authorization.k8s.io';
    const subjects = [{ kind: 'ServiceAccount', name: 'labels', namespace: 'home' }];
    const roleRef = (kind: string) => ({ apiGroup: group, kind, name: 'labels' });
    const own = { name: 'labels', namespace: 'work' };
    expect(manifests().slice(0, -1)).toEqual([
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'labels', namespace: 'home' } },
      { apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata: { name: 'labels' }, rules: [maps] },
      {
        apiVersion: `${group}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name: 'labels' },
        roleRef: roleRef('ClusterRole'),
        subjects,
      },
      { apiVersion: `${group}/v1`, kind: 'Role', metadata: own, rules: [inWork] },
      { apiVersion: `${group}/v1`, kind: 'RoleBinding', metadata: own, roleRef: roleRef('Role'), subjects },
    ]);
  });

  it('given nothing that is used everywhere, then there is no ClusterRole', () => {
    const kinds = manifests({ loops: [], rules: [] }).map(({ kind }) => kind);
    expect(kinds).toEqual(['ServiceAccount', 'Deployment']);
  });

  it('[runtime#254] given a lease, then the replicas are on nodes of their own if they can be, and a budget lets one of them be evicted at a time', () => {
    const [budget, deployment] = manifests({ lease: { name: 'labels' } }).slice(-2);
    const selector = { matchLabels: { 'app.kubernetes.io/name': 'labels' } };
    expect(budget).toEqual({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'labels', namespace: 'home', labels: selector.matchLabels },
      spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow', selector },
    });
    const spread = {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: selector,
      matchLabelKeys: ['pod-template-hash'],
    };
    expect(deployment).toMatchObject({
      spec: { selector, template: { spec: { topologySpreadConstraints: [spread] } } },
    });
  });

  it('[runtime#254] given one replica, then there is no budget and nothing to spread', () => {
    const made = manifests();
    expect(made.map(({ kind }) => kind)).not.toContain('PodDisruptionBudget');
    expect(JSON.stringify(made)).not.toContain('topologySpreadConstraints');
  });

  it.each([
    [undefined, 30],
    [60_000, 65],
    [1_500, 7],
  ])('[runtime#255] given a drain of %s ms, then a pod has %d s to end', (drainMs, seconds) => {
    expect(manifests(drainMs === undefined ? {} : { drainMs }).at(-1)).toMatchObject({
      spec: { template: { spec: { terminationGracePeriodSeconds: seconds } } },
    });
  });

  it.each([
    [undefined, 1],
    [{ name: 'labels' }, 2],
  ])('given the lease %j, then the Deployment has %d replicas of a container without privileges', (lease, replicas) => {
    expect(manifests({ lease }).at(-1)).toMatchObject({
      kind: 'Deployment',
      metadata: { name: 'labels', namespace: 'home' },
      spec: {
        replicas,
        template: {
          spec: {
            serviceAccountName: 'labels',
            securityContext: { runAsNonRoot: true },
            containers: [
              {
                image: 'r/labels:v1',
                ports: [{ containerPort: 8080 }],
                livenessProbe: { httpGet: { path: '/healthz', port: 'metrics' } },
                securityContext: { readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
              },
            ],
          },
        },
      },
    });
  });
});
