// SPDX-License-Identifier: Apache-2.0
/**
 * Deployments that exist, rendered by the chart from `examples/`: container by container the same arguments and environment, but for
 * differences that have a reason. docs/reference/deployments.md has the kinds of them, written by `npm run charts -- -u`;
 * reports/deployments.md has each.
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chartsFolder, hasHelm, render } from '../../../testing/helm.ts';
import { container, flagsOf, one, podOf, type Container, type Manifest } from '../../../testing/manifest.ts';
import { valuesFiles } from '../../../testing/matrix.ts';
import { chart } from '../minimal.ts';

interface Theirs {
  readonly workload: string;
  readonly container: string;
  readonly command?: readonly string[];
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string | { readonly field: string }>>;
}
interface Deployment {
  readonly source: string;
  readonly containers: readonly Theirs[];
}
interface Difference {
  readonly container: string;
  readonly what: string;
  readonly theirs: string;
  readonly ours: string;
  readonly reason: string;
}

/** Why a flag differs. A difference without a reason fails. */
const flagReasons: Readonly<Record<string, string>> = {
  'csi-address': 'The socket is at `/csi/csi.sock` in every container.',
  'health-port': 'Deprecated; the chart writes `--http-endpoint`.',
  'http-endpoint': 'The chart probes every sidecar; the port is a value.',
  'kubelet-registration-path': "kubelet's folder for a plugin has the driver's name.",
  'leader-election': 'Always on, because two pods overlap while a Deployment is updated.',
  'leader-election-namespace': 'Written out, so that it is where the role is.',
  'logging-format': 'Written out; it is the default.',
  'probe-timeout': "Written out; it is the program's default.",
  timeout: 'The default of the program, written out where the values set it.',
  v: 'The chart sets the level of all sidecars.',
  'handle-volume-inuse-error': "Written out; the chart's default is off.",
  'feature-gates': 'Gates follow from `features`.',
  'node-deployment': 'Same meaning.',
  'kube-api-qps': "The chart's default.",
  'kube-api-burst': "The chart's default.",
};
const variableReasons: Readonly<Record<string, string>> = {
  ADDRESS: 'Only used in arguments, where the chart writes the value.',
  DRIVER_REG_SOCK_PATH: 'Only used in arguments, where the chart writes the value.',
  ENABLE_VAC_FALLBACK: 'No program reads it.',
  KUBE_NODE_NAME: 'No program reads it.',
  POD_NAMESPACE: 'Set in every container of the chart.',
};
const containerReason = 'The chart has one name for each sidecar.';
const renamed: Readonly<Record<string, string>> = { 'csi-registrar': 'node-driver-registrar' };

const placement: Readonly<Record<string, string>> = { topolvm: 'topolvm-system' };

function compare(theirs: Theirs, ours: Container): readonly Difference[] {
  const their = flagsOf({ args: theirs.args, env: plainEnv(theirs) });
  const our = flagsOf(ours);
  const row = (
    what: string,
    [a, b]: readonly [string | undefined, string | undefined],
    reason: string | undefined,
  ): Difference => {
    if (reason === undefined) throw new Error(`${theirs.container}: no reason why ${what} is ${a} there and ${b} here`);
    return {
      container: `${theirs.workload.split(' ')[0]}: ${theirs.container}`,
      what,
      theirs: a ?? '',
      ours: b ?? '',
      reason,
    };
  };
  const flags = [...new Set([...Object.keys(their), ...Object.keys(our)])]
    .filter((name) => their[name] !== our[name])
    .map((name) => row(`\`--${name}\``, [their[name], our[name]], flagReasons[name]));
  const names = new Set((ours.env ?? []).map(({ name }) => name));
  const variables = Object.keys(theirs.env ?? {})
    .filter((name) => !names.has(name))
    .map((name) => row(`variable \`${name}\``, ['set', undefined], variableReasons[name]));
  const renaming = theirs.container === ours.name ? [] : [row('name', [theirs.container, ours.name], containerReason)];
  return [...renaming, ...flags, ...variables];
}

const plainEnv = ({ env = {} }: Theirs): NonNullable<Container['env']> =>
  Object.entries(env).flatMap(([name, value]) => (typeof value === 'string' ? [{ name, value }] : []));

function oursOf(objects: readonly Manifest[], { workload, container: name }: Theirs): Container {
  const kind = workload.startsWith('DaemonSet') || workload.endsWith('(node)') ? 'DaemonSet' : 'Deployment';
  return container(podOf(one(objects, kind)), renamed[name] ?? name);
}

const examples = globSync('*.json', { cwd: join(chartsFolder, chart, 'tests', 'deployments') })
  .sort()
  .map((file) => ({
    name: basename(file, '.json'),
    deployment: JSON.parse(readFileSync(join(chartsFolder, chart, 'tests', 'deployments', file), 'utf8')) as Deployment,
  }));

async function differencesOf({ name, deployment }: (typeof examples)[number]): Promise<readonly Difference[]> {
  const file = valuesFiles(chart).find((each) => each.name === name)!;
  const objects = await render({
    chart,
    files: [file.path],
    namespace: placement[name] ?? 'kube-system',
    kubeVersion: file.kubeVersion,
    apiVersions: file.apiVersions,
  });
  return deployment.containers.flatMap((theirs) => compare(theirs, oursOf(objects, theirs)));
}

describe.skipIf(!hasHelm)('deployments that exist', () => {
  it.each(examples)(
    'given the deployment $name, then the chart renders its containers, and each difference has a reason',
    async (example) => {
      const differences = await differencesOf(example);
      for (const { container: where, reason } of differences) expect(reason, where).not.toBe('');
      // Commands are the same wherever theirs have one.
      const file = valuesFiles(chart).find((each) => each.name === example.name)!;
      const objects = await render({
        chart,
        files: [file.path],
        kubeVersion: file.kubeVersion,
        apiVersions: file.apiVersions,
      });
      for (const theirs of example.deployment.containers)
        expect(oursOf(objects, theirs).command).toEqual(theirs.command);
    },
  );

  it('given all of them, then the page has each kind of difference', async () => {
    const compared: string[] = [];
    const kinds = new Map<string, string[]>();
    const each: string[] = [];
    for (const example of examples) {
      const { source, containers } = example.deployment;
      const differences = await differencesOf(example);
      compared.push(
        `| ${source} | \`charts/csi-driver/examples/${example.name}.yaml\` | ${containers.length} | ${differences.length} |`,
      );
      for (const { what, reason } of differences) {
        const kind = `${what} | ${reason}`;
        kinds.set(kind, [...(kinds.get(kind) ?? []), example.name]);
      }
      each.push(`## ${source}`, '', '| Container | What | There | Here | Why |', '|---|---|---|---|---|');
      each.push(...differences.map(rowOf), '');
    }
    const rows = [...kinds].map(([kind, names]) => `| ${kind} | ${[...new Set(names)].join(', ')} |`);
    const page = [
      '# Deployments that exist, by the chart',
      '',
      'Five deployments of other projects, rendered by the chart `csi-driver` from values files. Containers have the same names, and the same',
      'arguments and environment but for the differences below. `npm run charts` compares, fails for a difference without a reason, and writes',
      'each of them, container by container, to `reports/deployments.md`; `npm run charts -- -u` writes this page.',
      '',
      '| Deployment | Values | Containers | Differences |',
      '|---|---|---|---|',
      ...compared,
      '',
      '| What differs | Why | Where |',
      '|---|---|---|',
      ...rows.toSorted(),
      '',
    ].join('\n');
    const reports = join(chartsFolder, '..', 'reports');
    mkdirSync(reports, { recursive: true });
    writeFileSync(join(reports, 'deployments.md'), each.join('\n'));
    await expect(page).toMatchFileSnapshot(join(chartsFolder, '..', 'docs', 'reference', 'deployments.md'));
  });
});

function rowOf({ container: where, what, theirs, ours, reason }: Difference): string {
  const cell = (text: string): string => (text === '' ? '' : `\`${text}\``);
  return `| ${where} | ${what} | ${cell(theirs)} | ${cell(ours)} | ${reason} |`;
}
