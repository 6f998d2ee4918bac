// SPDX-License-Identifier: Apache-2.0
/**
 * The permissions that the charts grant: what the programs use, from their own tables, and what upstream's manifests grant. Each rule
 * names the feature that needs it; a `when` of a program that no feature stands for is an error.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { leaseRules, mergedRules, type PolicyRule, type UsedRule } from '@csi-sidecars/runtime';
import { loadAll } from 'js-yaml';
import { namespaceRules } from '../../packages/provisioner/src/rbac.ts';
import { manifests } from '../manifests.ts';

export interface ChartRule extends PolicyRule {
  /** A key of the chart's features, `always`, or `upstream`: where the image is upstream's. */
  readonly feature: string;
}
export interface LeaseRule extends PolicyRule {
  /** Restricted to the names of the Leases. */
  readonly byName?: true;
}
export interface Profiles<Rule> {
  readonly minimal: readonly Rule[];
  readonly compatible: readonly Rule[];
}

/** Features by the conditions of the programs' tables. `undefined`: granted by other means, namely the roles for secrets. */
const featureOf: Readonly<Record<string, string | undefined>> = {
  'a class names a provisioner secret': undefined,
  'the driver has MODIFY_VOLUME, and a claim names a VolumeAttributesClass': 'volumeAttributesClass',
  'the driver has CREATE_DELETE_SNAPSHOT': 'snapshots',
  'the driver has CREATE_DELETE_SNAPSHOT and --snapshot-orphan-sweep-interval is not 0': 'snapshots',
  '--feature-gates=CrossNamespaceVolumeDataSource=true': 'crossNamespaceDataSources',
  'the driver has VOLUME_ACCESSIBILITY_CONSTRAINTS': 'topology',
  'no --node-deployment; the driver has VOLUME_ACCESSIBILITY_CONSTRAINTS, or --enable-capacity is set': 'topology',
  '--node-deployment, and a claim has the provisioning finalizer of another node': 'distributed',
  'the driver has PUBLISH_UNPUBLISH_VOLUME': 'attach',
  // The chart has csi-attacher with other drivers too, if it is asked to.
  'the driver attaches volumes': 'always',
  'a volume names a controller publish secret': undefined,
  '`--handle-volume-inuse-error` is on': 'handleVolumeInUseError',
  'the driver has MODIFY_VOLUME and the gate VolumeAttributesClass is on': 'volumeAttributesClass',
  'a volume names an expand or modify secret': undefined,
  'the gate CSIVolumeGroupSnapshot is on, and the cluster has the kinds': 'groupSnapshots',
  'the gate CSIVolumeGroupSnapshot is on, and the cluster has its kinds': 'groupSnapshots',
  'a content or its class names a secret': undefined,
  '`--enable-distributed-snapshotting` is on': 'distributedSnapshotting',
  // By the name of its object, in the template.
  '`--audience` is not set': undefined,
  'a class names a secret': undefined,
};

/** The file with upstream's rules, by program. */
const stockFiles: Readonly<Record<string, string>> = {
  'csi-provisioner': 'external-provisioner',
  'csi-attacher': 'external-attacher',
  'csi-resizer': 'external-resizer',
  'csi-snapshotter': 'external-snapshotter',
  'csi-external-health-monitor-controller': 'external-health-monitor-controller',
  'snapshot-controller': 'snapshot-controller',
};

const rbacFolder = join(import.meta.dirname, '..', '..', 'e2e', 'rbac', 'stock');

/** What the program uses. */
export function minimalOf(program: string): readonly ChartRule[] {
  const manifest = manifests.find(({ name }) => name === program);
  if (manifest === undefined) throw new Error(`there is no program ${program}`);
  return mergedRules(manifest.rules.flatMap(toChartRule));
}

export function profilesOf(program: string): Profiles<ChartRule> {
  const minimal = minimalOf(program);
  const stock = stockRules(program, 'ClusterRole').map((rule) => toRule(rule, 'always'));
  return { minimal, compatible: [...stock, ...minimal.flatMap((rule) => beyond(stock, rule))] };
}

/** For a Role in the namespace of the Leases. `create` cannot be restricted by name, so it is a rule of its own. */
export function leaseProfiles(): Profiles<LeaseRule> {
  const minimal = mergedRules(leaseRules).flatMap(({ apiGroups, resources, verbs }): readonly LeaseRule[] => {
    if (!resources.includes('leases')) return [{ apiGroups, resources, verbs }];
    return [
      { apiGroups, resources, verbs: verbs.filter((verb) => verb === 'create') },
      { apiGroups, resources, verbs: verbs.filter((verb) => verb !== 'create'), byName: true },
    ];
  });
  const stock = stockRules('csi-attacher', 'Role').filter(({ resources }) => resources.includes('leases'));
  return { minimal, compatible: stock };
}

/** For a Role in the namespace of the CSIStorageCapacity objects. */
export function capacityProfiles(): Profiles<PolicyRule> {
  const minimal = mergedRules(namespaceRules).map(({ apiGroups, resources, verbs }) => ({
    apiGroups,
    resources,
    verbs,
  }));
  const compatible = stockRules('csi-provisioner', 'Role').filter(({ resources }) => !resources.includes('leases'));
  return { minimal, compatible };
}

function toChartRule({ when, ...rule }: UsedRule): readonly ChartRule[] {
  if (when === undefined) return [toRule(rule, 'always')];
  if (!Object.hasOwn(featureOf, when.text))
    throw new Error(`no feature of a chart stands for the condition: ${when.text}`);
  const feature = featureOf[when.text];
  return feature === undefined ? [] : [toRule(rule, feature)];
}

const toRule = ({ apiGroups, resources, verbs }: PolicyRule, feature: string): ChartRule => ({
  feature,
  apiGroups,
  resources,
  verbs,
});

/** What a rule grants that others do not. */
function beyond(granted: readonly ChartRule[], rule: ChartRule): readonly ChartRule[] {
  return rule.resources.flatMap((resource) => {
    const covering = granted.filter(
      ({ apiGroups, resources }) =>
        resources.includes(resource) && rule.apiGroups.every((group) => apiGroups.includes(group)),
    );
    const verbs = rule.verbs.filter((verb) => !covering.some((each) => each.verbs.includes(verb)));
    return verbs.length === 0 ? [] : [{ ...rule, resources: [resource], verbs }];
  });
}

function stockRules(program: string, kind: 'ClusterRole' | 'Role'): readonly PolicyRule[] {
  const text = readFileSync(join(rbacFolder, `${stockFiles[program]}.yaml`), 'utf8');
  const objects = loadAll(text) as readonly { readonly kind: string; readonly rules?: readonly PolicyRule[] }[];
  return objects.filter((object) => object.kind === kind).flatMap(({ rules = [] }) => rules);
}
