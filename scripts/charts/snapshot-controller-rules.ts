// SPDX-License-Identifier: Apache-2.0
/**
 * Writes the rules of the chart snapshot-controller from the program's own table and from upstream's roles. `npm run check` fails when
 * the file is not up to date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { leaseRules, mergedRules, type PolicyRule, type UsedRule } from '@csi-sidecars/runtime';
import { leaseName } from '@csi-sidecars/runtime/internal';
import { dump, loadAll } from 'js-yaml';
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { dataSourceValidatorManifest } from '../../packages/data-source-validator/src/manifest.ts';
import { snapshotControllerManifest } from '../../packages/snapshot-controller/src/manifest.ts';

const root = join(import.meta.dirname, '..', '..');
const { rules } = snapshotControllerManifest;
const leaseOf = ({ lockName }: ProgramManifest): string => leaseName(lockName?.('') ?? '');

const validatorIsOn = '`--enable-data-source-validator` is on';

/** When the chart renders a rule, by what the table says of it. */
const conditions: Readonly<Record<string, string>> = {
  'the gate CSIVolumeGroupSnapshot is on, and the cluster has its kinds':
    'include "snapshot-controller.groupSnapshots" .',
  '`--enable-distributed-snapshotting` is on': '.Values.controller.enableDistributedSnapshotting',
  [validatorIsOn]: '.Values.controller.enableDataSourceValidator',
};

interface StockObject {
  readonly kind: string;
  readonly rules?: readonly PolicyRule[];
}

function stockRules(
  program: 'snapshot-controller' | 'volume-data-source-validator',
  kind: string,
): readonly PolicyRule[] {
  const text = readFileSync(join(root, 'e2e', 'rbac', 'stock', `${program}.yaml`), 'utf8');
  const objects = loadAll(text) as StockObject[];
  return objects.filter((object) => object.kind === kind).flatMap((object) => object.rules ?? []);
}

/** What upstream grants the validator beyond what it grants snapshot-controller. */
const stockPopulators = stockRules('volume-data-source-validator', 'ClusterRole')
  .filter(({ resources }) => resources.includes('volumepopulators'))
  .map((rule): UsedRule => ({ ...rule, when: { text: validatorIsOn, facts: ['validator'] } }));

/** Commented out in upstream's file. */
const stockNodes: UsedRule = {
  apiGroups: [''],
  resources: ['nodes'],
  verbs: ['get', 'list', 'watch'],
  when: { text: '`--enable-distributed-snapshotting` is on', facts: ['distributed'] },
};

/** `create` cannot be restricted by name. Events need no rule here: the ClusterRole has them. */
function minimalLeaseRules(): readonly UsedRule[] {
  return mergedRules(leaseRules)
    .filter(({ resources }) => resources.includes('leases'))
    .flatMap(({ apiGroups, resources, verbs }) => [
      { apiGroups, resources, verbs: ['create'] },
      {
        apiGroups,
        resources,
        resourceNames: [leaseOf(snapshotControllerManifest)],
        verbs: verbs.filter((verb) => verb !== 'create'),
      },
      {
        apiGroups,
        resources,
        resourceNames: [leaseOf(dataSourceValidatorManifest)],
        verbs: verbs.filter((verb) => verb !== 'create'),
        when: { text: validatorIsOn, facts: ['validator'] },
      },
    ]);
}

function toYaml({ apiGroups, resources, resourceNames, verbs, when }: UsedRule): string {
  const names = resourceNames === undefined ? {} : { resourceNames };
  const text = dump([{ apiGroups, resources, ...names, verbs }], { flowLevel: 2, lineWidth: -1 }).trimEnd();
  if (when === undefined) return text;
  const condition = conditions[when.text];
  if (condition === undefined) throw new Error(`the chart has no value for the condition "${when.text}"`);
  return `{{- if ${condition} }}\n${text}\n{{- end }}`;
}

const define = (name: string, list: readonly UsedRule[]): string =>
  [`{{- define "snapshot-controller.${name}" }}`, ...list.map(toYaml), '{{- end }}'].join('\n');

const text = [
  '{{- /* SPDX-License-Identifier: Apache-2.0 */}}',
  '{{- /* Generated from packages/snapshot-controller/src/rbac.ts and e2e/rbac/stock (`npm run generate`). */}}',
  '',
  define('clusterRules.minimal', mergedRules(rules)),
  '',
  define('leaseRules.minimal', minimalLeaseRules()),
  '',
  define('clusterRules.compatible', [
    ...stockRules('snapshot-controller', 'ClusterRole'),
    stockNodes,
    ...stockPopulators,
  ]),
  '',
  define('leaseRules.compatible', stockRules('snapshot-controller', 'Role')),
  '',
].join('\n');
writeFileSync(join(root, 'charts', 'snapshot-controller', 'templates', '_rules.tpl'), text);
