// SPDX-License-Identifier: Apache-2.0
/**
 * The pods of the charts in namespaces with a level of Pod Security. Levels are enforced on pods: the test creates, without storing them, a
 * pod from each template, and the workload itself, which would cause a warning.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type ApiObject, apply, helm, kubectl, parseObjects, tryKubectl } from './commands.ts';
import { chartFolder, type ChartName } from './chart-copy.ts';
import { createNamespace, emptyCluster } from './releases.ts';

afterEach(emptyCluster);

type Level = 'restricted' | 'baseline' | 'privileged';

interface Case {
  readonly chart: ChartName;
  readonly level: Level;
  readonly values: object;
  /** The workloads whose pods are created. */
  readonly kind: 'Deployment' | 'DaemonSet';
}

const driver = {
  name: 'd.example.com',
  image: { repository: 'registry.example.com/driver', tag: 'v1.0.0' },
  controller: { args: ['--endpoint=$(CSI_ENDPOINT)'] },
  node: { args: ['--endpoint=$(CSI_ENDPOINT)'] },
};
/** Upstream has no program for the test. */
const ourSidecars = { sidecars: { image: { registry: 'registry.example.com' } } };
const withWebhook = { image: { registry: 'registry.example.com' }, webhook: { enabled: true } };

const cases: readonly Case[] = [
  { chart: 'snapshot-controller', level: 'restricted', values: withWebhook, kind: 'Deployment' },
  {
    chart: 'csi-driver',
    level: 'restricted',
    values: { driver: { ...driver, controller: { ...driver.controller, runAsRoot: false } } },
    kind: 'Deployment',
  },
  { chart: 'csi-driver', level: 'baseline', values: { driver }, kind: 'Deployment' },
  { chart: 'csi-driver', level: 'privileged', values: { driver }, kind: 'DaemonSet' },
];

const podOf = ({ spec, metadata }: ApiObject, namespace: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { ...spec.template.metadata, name: metadata.name, namespace },
  spec: spec.template.spec,
});

/** The workloads of a chart, rendered for a namespace of this level, in which their accounts exist. */
async function workloads({ chart, values, kind }: Case, namespace: string): Promise<readonly ApiObject[]> {
  const command = ['template', 'charts', chartFolder(chart), `--namespace=${namespace}`, '--values=-'];
  const objects = parseObjects(await helm(command, { input: JSON.stringify(values) }));
  await apply(...objects.filter((object) => object.kind === 'ServiceAccount'));
  return objects.filter((object) => object.kind === kind);
}

const dryRun = (object: object): ReturnType<typeof tryKubectl> =>
  tryKubectl(['create', '--dry-run=server', '--filename=-'], { input: JSON.stringify(object) });

describe.each(cases.filter(({ chart }) => existsSync(join(chartFolder(chart), 'Chart.yaml'))))(
  'chart $chart in a namespace with enforce=$level',
  (each) => {
    it(`X-06: given its pods of each ${each.kind}, when they are created there, then they are admitted without a warning`, async () => {
      const namespace = await createNamespace(each.level);
      const found = await workloads(each, namespace);
      expect(found.length).toBeGreaterThan(0);
      for (const workload of found) {
        expect(await dryRun(workload)).toMatchObject({ code: 0, stderr: '' });
        expect(await dryRun(podOf(workload, namespace))).toMatchObject({ code: 0, stderr: '' });
      }
    });
  },
);

it('given the pod of `helm test`, when it is created in a namespace with enforce=restricted, then it is admitted without a warning', async () => {
  const namespace = await createNamespace('restricted');
  const command = ['template', 'charts', chartFolder('csi-driver'), `--namespace=${namespace}`, '--values=-'];
  const objects = parseObjects(await helm(command, { input: JSON.stringify({ driver, ...ourSidecars }) }));
  await apply(...objects.filter(({ kind }) => kind === 'ServiceAccount'));
  const tests = objects.filter(({ kind }) => kind === 'Pod');
  expect(tests).toHaveLength(1);
  expect(await dryRun(tests[0]!)).toMatchObject({ code: 0, stderr: '' });
  await kubectl(['delete', 'namespace', namespace, '--wait=false']);
});

it('given a pod that the level does not allow, when it is created there, then it is refused, so that the level is in force', async () => {
  const namespace = await createNamespace('restricted');
  const [controller] = await workloads(cases[0]!, namespace);
  const pod = podOf(controller!, namespace) as { spec: object };
  const refused = await dryRun({ ...pod, spec: { ...pod.spec, hostNetwork: true } });
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('violates PodSecurity "restricted:latest"');
  await kubectl(['delete', 'namespace', namespace, '--wait=false']);
});

it('[packaging#6] given a container whose command is null, as a patch of a deployment leaves it, when it is created, then it has no command, and the entrypoint of the image counts', async () => {
  const namespace = await createNamespace('privileged');
  const storedWith = async (command: readonly string[] | null): Promise<object> => {
    const containers = [{ name: 'csi-attacher', image: 'registry.example.com/csi-attacher:v1', command }];
    const metadata = { name: 'attacher', namespace };
    const template = { metadata: { labels: { app: 'a' } }, spec: { containers } };
    const spec = { selector: { matchLabels: { app: 'a' } }, template };
    const input = JSON.stringify({ apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec });
    const stored = await kubectl(['create', '--dry-run=server', '--output=json', '--filename=-'], { input });
    return (JSON.parse(stored) as ApiObject)['spec'].template.spec.containers[0];
  };
  expect(await storedWith(null)).not.toHaveProperty('command');
  expect(await storedWith(['/other'])).toHaveProperty('command', ['/other']);
});
