// SPDX-License-Identifier: Apache-2.0
/**
 * Whether a program used everything that the charts grant it in profile `minimal`. What no run of all scenarios uses for certain is
 * listed here, with the reason.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { leaseRules, type PolicyRule } from '@csi-sidecars/runtime';
import { clusterRules as snapshotControllerRules } from '@csi-sidecars/snapshot-controller';
import { load } from 'js-yaml';
import { rightsGranted, rightsUnused, rightsUsed, type Right } from '../audit/analyse.ts';
import type { AuditedRequest } from '../audit/read-audit.ts';
import { type ControllerName, repositoryRoot } from '../processes/program.ts';

export interface Exception {
  readonly program: ControllerName;
  readonly right: Right;
  readonly because: string;
}

const afterConflict = 'an object is read again after a conflict, or when the cache may be behind: that comes by chance';
const repeatedEvent = 'an event is counted up when it is repeated within some minutes: that comes by chance';
const snapshotApi = 'snapshot.storage.k8s.io';

export const exceptions: readonly Exception[] = [
  {
    program: 'csi-provisioner',
    right: 'get nodes',
    because: 'in node deployment, for a deleted claim that an instance on another node holds',
  },
  { program: 'csi-attacher', right: 'patch events', because: repeatedEvent },
  { program: 'csi-snapshotter', right: 'patch events', because: repeatedEvent },
  { program: 'snapshot-controller', right: 'patch events', because: repeatedEvent },
  { program: 'csi-external-health-monitor-controller', right: 'patch events', because: repeatedEvent },
  { program: 'csi-resizer', right: 'get persistentvolumeclaims', because: afterConflict },
  { program: 'csi-snapshotter', right: `get volumesnapshotcontents.${snapshotApi}`, because: afterConflict },
  { program: 'csi-snapshotter', right: `get volumegroupsnapshotcontents.group${snapshotApi}`, because: afterConflict },
  { program: 'snapshot-controller', right: 'get persistentvolumeclaims', because: afterConflict },
  { program: 'snapshot-controller', right: `get volumesnapshots.${snapshotApi}`, because: afterConflict },
  { program: 'snapshot-controller', right: `get volumesnapshotcontents.${snapshotApi}`, because: afterConflict },
  ...['list', 'watch'].map((verb) => ({
    program: 'snapshot-controller' as const,
    right: `${verb} volumepopulators.populator.storage.k8s.io`,
    because: 'no scenario switches the validator on',
  })),
  { program: 'snapshot-controller', right: `get volumegroupsnapshots.group${snapshotApi}`, because: afterConflict },
  {
    program: 'snapshot-controller',
    right: `get volumegroupsnapshotcontents.group${snapshotApi}`,
    because: afterConflict,
  },
];

/** Those that a chart runs by themselves. */
export const chartPrograms: readonly ControllerName[] = [
  'csi-provisioner',
  'csi-attacher',
  'csi-resizer',
  'csi-snapshotter',
  'snapshot-controller',
];

interface ChartRules {
  readonly sidecars: Readonly<Record<string, { readonly minimal: readonly PolicyRule[] }>>;
  readonly leases: { readonly minimal: readonly PolicyRule[] };
  readonly capacity: { readonly minimal: readonly PolicyRule[] };
}

/** The chart csi-driver has its rules in a file. The template of snapshot-controller is generated from the program's table. */
export function chartRules(program: ControllerName): readonly PolicyRule[] {
  if (program === 'snapshot-controller') return [...snapshotControllerRules, ...leaseRules];
  const path = join(repositoryRoot, 'charts', 'csi-driver', 'files', 'rbac.yaml');
  const { sidecars, leases, capacity } = load(readFileSync(path, 'utf8')) as ChartRules;
  const key = program === 'csi-external-health-monitor-controller' ? 'healthMonitor' : program.replace('csi-', '');
  const own = sidecars[key];
  if (own === undefined) throw new Error(`the chart has no rules for ${program}`);
  return [...own.minimal, ...leases.minimal, ...(program === 'csi-provisioner' ? capacity.minimal : [])];
}

/** What the program did not use of what the charts grant it, without exceptions. */
export function unusedChartRights(program: ControllerName, requests: readonly AuditedRequest[]): readonly Right[] {
  const rules = chartRules(program);
  const used = rightsUsed(requests);
  const granted = rightsGranted(rules);
  // API servers that stream lists, the default since Kubernetes 1.34, are asked for a watch instead of a list. Older ones are asked for both.
  const isStreamed = (right: Right): boolean => {
    const watch = right.replace(/^list /, 'watch ');
    return watch !== right && granted.has(watch) && used.has(watch);
  };
  const excepted = new Set(exceptions.filter((each) => each.program === program).map(({ right }) => right));
  return rightsUnused(rules, requests).filter((right) => !excepted.has(right) && !isStreamed(right));
}
