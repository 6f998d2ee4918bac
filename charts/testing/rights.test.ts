// SPDX-License-Identifier: Apache-2.0
/** What the programs report of the minimal roles of the charts: nothing, and of each rule that is missing one warning. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CheckedRule, createApiClient, leaseRules, neededRules, type PolicyRule } from '@csi-sidecars/runtime';
import {
  type AccessRule,
  createFakeApiServer,
  FakeClock,
  recordingLogger,
  recordingMetrics,
  seededRandom,
  until,
} from '@csi-sidecars/runtime/testing';
import { load } from 'js-yaml';
import { expect, it } from 'vitest';
import { clusterRules as attacherRules } from '../../packages/attacher/src/rbac.ts';
import { clusterRules as healthMonitorRules } from '../../packages/health-monitor/src/rbac.ts';
import { clusterRules as provisionerRules, namespaceRules } from '../../packages/provisioner/src/rbac.ts';
import { clusterRules as resizerRules } from '../../packages/resizer/src/rbac.ts';
import { createRightsCheck } from '../../packages/sidecar/src/rights/check.ts';
import { type NeededRights, wantedRights } from '../../packages/sidecar/src/rights/wanted.ts';
import { clusterRules as snapshotterRules } from '../../packages/snapshotter/src/rbac.ts';
import { clusterRules as snapshotControllerRules } from '../../packages/snapshot-controller/src/rbac.ts';

const charts = join(import.meta.dirname, '..');
const [podNamespace, lease] = ['csi', 'the-lease'];

interface FeatureRule extends PolicyRule {
  readonly feature: string;
}
interface LeaseRule extends PolicyRule {
  readonly byName?: true;
}
interface DriverChart {
  readonly sidecars: Readonly<Record<string, { readonly minimal: readonly FeatureRule[] }>>;
  readonly leases: { readonly minimal: readonly LeaseRule[] };
  readonly capacity: { readonly minimal: readonly PolicyRule[] };
}
const driverChart = load(readFileSync(join(charts, 'csi-driver', 'files', 'rbac.yaml'), 'utf8')) as DriverChart;

type Features = ReadonlySet<string>;

/** As `sidecarRules` of the chart's template decides. */
function isRendered({ feature }: FeatureRule, on: Features): boolean {
  if (feature === 'topology') return (on.has('topology') || on.has('capacity')) && !on.has('distributed');
  return feature === 'always' || on.has(feature);
}

const plain = ({ apiGroups, resources, verbs, resourceNames }: PolicyRule): AccessRule => ({
  apiGroups,
  resources,
  verbs,
  ...(resourceNames !== undefined && { resourceNames }),
});
const inNamespace = (rule: PolicyRule): AccessRule => ({ ...plain(rule), namespace: podNamespace });

const leaseGrants = driverChart.leases.minimal.map(({ byName, ...rule }) =>
  inNamespace({ ...rule, ...(byName === true && { resourceNames: [lease] }) }),
);

const featureOf = (condition: string): string =>
  ['groupSnapshots', 'DataSourceValidator'].find((feature) => condition.includes(feature)) ?? 'distributedSnapshotting';

/** The rules that the template of snapshot-controller renders, between the lines of the template. */
function snapshotControllerGrants(on: Features): readonly AccessRule[] {
  const text = readFileSync(join(charts, 'snapshot-controller', 'templates', '_rules.tpl'), 'utf8');
  const define = (name: string): string =>
    new RegExp(
      `define "snapshot-controller\\.${name}" \\}\\}\\n([\\s\\S]*?)\\n\\{\\{- end \\}\\}\\n\\n\\{\\{- (?:define|/)`,
    ).exec(text)?.[1] ?? '';
  const conditional = define('clusterRules.minimal').replaceAll(
    /\{\{- if (.*) \}\}\n([\s\S]*?)\n\{\{- end \}\}/g,
    (_, condition: string, rules: string) => (on.has(featureOf(condition)) ? rules : ''),
  );
  const rules = load(conditional) as readonly PolicyRule[];
  return [...rules.map(plain), ...leaseGrants];
}

interface Program {
  /** The features of the chart that change its rules. */
  readonly features: readonly string[];
  readonly granted: (on: Features) => readonly AccessRule[];
  /** What it needs where these features are on: the driver has the capabilities and the flags are as the chart renders them. */
  readonly needed: (on: Features) => NeededRights;
}

const ofDriverChart = (key: string, on: Features): readonly AccessRule[] => [
  ...driverChart.sidecars[key]!.minimal.filter((rule) => isRendered(rule, on)).map(plain),
  ...leaseGrants,
  ...(key === 'provisioner' && on.has('capacity') ? driverChart.capacity.minimal.map(inNamespace) : []),
];

const electing = { namespace: podNamespace, name: lease, rules: neededRules(leaseRules, { leaderElection: true }) };
const needing = (cluster: readonly CheckedRule[]): NeededRights => ({ cluster, namespaced: [electing] });

const programs: Readonly<Record<string, Program>> = {
  provisioner: {
    features: [
      'snapshots',
      'topology',
      'attach',
      'volumeAttributesClass',
      'crossNamespaceDataSources',
      'distributed',
      'capacity',
    ],
    granted: (on) => ofDriverChart('provisioner', on),
    needed: (on) => {
      const capacity = on.has('capacity');
      const facts = {
        attributesClasses: on.has('volumeAttributesClass'),
        snapshots: on.has('snapshots'),
        sweep: on.has('snapshots'),
        grants: on.has('crossNamespaceDataSources'),
        nodes: (on.has('topology') || capacity) && !on.has('distributed'),
        nodeDeployment: on.has('distributed'),
        attach: on.has('attach'),
        capacity,
        podOwner: capacity,
        deploymentOwner: capacity,
      };
      const rules = neededRules(namespaceRules, facts);
      return {
        cluster: neededRules(provisionerRules, facts),
        namespaced: [electing, { namespace: podNamespace, rules }],
      };
    },
  },
  attacher: {
    features: [],
    granted: (on) => ofDriverChart('attacher', on),
    needed: () => needing(neededRules(attacherRules, { attach: true })),
  },
  resizer: {
    features: ['handleVolumeInUseError', 'volumeAttributesClass'],
    granted: (on) => ofDriverChart('resizer', on),
    needed: (on) =>
      needing(
        neededRules(resizerRules, {
          pods: on.has('handleVolumeInUseError'),
          modify: on.has('volumeAttributesClass'),
        }),
      ),
  },
  snapshotter: {
    features: ['groupSnapshots'],
    granted: (on) => ofDriverChart('snapshotter', on),
    needed: (on) => needing(neededRules(snapshotterRules, { groups: on.has('groupSnapshots') })),
  },
  healthMonitor: {
    features: [],
    granted: (on) => ofDriverChart('healthMonitor', on),
    needed: () => needing(neededRules(healthMonitorRules, {})),
  },
  'snapshot-controller': {
    features: ['groupSnapshots', 'distributedSnapshotting', 'DataSourceValidator'],
    granted: snapshotControllerGrants,
    needed: (on) =>
      needing(
        neededRules(snapshotControllerRules, {
          groups: on.has('groupSnapshots'),
          distributed: on.has('distributedSnapshotting'),
          validator: on.has('DataSourceValidator'),
        }),
      ),
  },
};

/** What the check logs for an account with these rights. */
async function reported(rules: readonly AccessRule[], needed: NeededRights): Promise<readonly string[]> {
  const clock = new FakeClock();
  const log = recordingLogger({ verbosity: 0 });
  const server = createFakeApiServer({ clock, random: seededRandom(1), authenticate: () => ({ user: 'u', rules }) });
  const client = createApiClient(
    { transport: server.transport, clock, logger: log },
    { userAgent: 't', qps: -1, burst: 0 },
  );
  const ports = { clock, log, metrics: recordingMetrics(), signal: new AbortController().signal };
  using check = createRightsCheck(ports, 'c');
  const wanted = wantedRights(needed);
  let isAnswered = false;
  const create: typeof client.create = async (...call) => {
    const answer = await client.create(...call);
    isAnswered = server.requests.length === new Set(wanted.map(({ namespace }) => namespace)).size;
    return answer;
  };
  check.begin({ create }, async () => wanted);
  await until(() => isAnswered);
  await new Promise(setImmediate);
  return log.messages();
}

function* subsetsOf(features: readonly string[]): Generator<Features> {
  for (let bits = 0; bits < 2 ** features.length; bits += 1)
    yield new Set(features.filter((_, index) => (bits & (1 << index)) !== 0));
}

it.each(Object.keys(programs))(
  '[explain#131] given the minimal role of the chart for %s, when any of its features are on, then nothing is missing',
  async (name) => {
    const { features, granted, needed } = programs[name]!;
    for (const on of subsetsOf(features)) {
      expect([...on, ...(await reported(granted(on), needed(on)))]).toEqual([...on]);
    }
  },
);

interface Case {
  readonly name: string;
  readonly on: Features;
  readonly rule: CheckedRule;
  readonly scope: string;
}

/** Each rule once, with features with which it is needed. Mode `distributed` needs others than the other modes. */
const cases = Object.entries(programs).flatMap(([name, { features, needed }]) => {
  const sets = [features.filter((feature) => feature !== 'distributed'), features];
  const found = sets.flatMap((set) => {
    const on = new Set(set);
    const { cluster, namespaced = [] } = needed(on);
    const here = namespaced.flatMap(({ namespace, rules }) =>
      rules.map((rule): Case => ({ name, on, rule, scope: `namespace ${namespace}` })),
    );
    return [...cluster.map((rule): Case => ({ name, on, rule, scope: 'cluster-wide' })), ...here];
  });
  return [...new Map(found.map((each) => [each.rule, each])).values()];
});

it('given the rules of all programs, then each that is known at the start is in the cases below', () => {
  const tables = [
    provisionerRules,
    namespaceRules,
    attacherRules,
    resizerRules,
    snapshotterRules,
    healthMonitorRules,
    snapshotControllerRules,
  ];
  const known = [...tables.flat(), ...leaseRules].filter(({ when }) => when?.facts !== 'unknown');
  const inCases = new Set(cases.map(({ rule }) => rule));
  expect(known.filter((rule) => !inCases.has(rule))).toEqual([]);
  expect(known.every(({ resources, apiGroups }) => resources.length === 1 && apiGroups.length === 1)).toBe(true);
});

it.each(cases)(
  '[explain#131] given the minimal role for $name without $rule.verbs of $rule.resources ($scope), then there is one warning, with what follows',
  async ({ name, on, rule: { resources, apiGroups, verbs, without }, scope }) => {
    const { granted, needed } = programs[name]!;
    const [resource = '', group = ''] = [resources[0], apiGroups[0]];
    const isHere = ({ namespace }: AccessRule): boolean => (namespace === undefined) === (scope === 'cluster-wide');
    const rules = granted(on).map((rule) =>
      isHere(rule) && rule.resources.includes(resource) && rule.apiGroups.includes(group)
        ? { ...rule, verbs: rule.verbs.filter((verb) => !verbs.includes(verb)) }
        : rule,
    );
    const full = group === '' ? resource : resource.replace(/(?=\/)|$/, `.${group}`);
    expect(await reported(rules, needed(on))).toEqual([
      `Missing right: ${verbs.join(', ')} ${full} (${scope}): ${without}`,
    ]);
  },
);
