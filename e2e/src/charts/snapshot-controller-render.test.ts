// SPDX-License-Identifier: Apache-2.0
/** What the chart snapshot-controller renders, by helm, and what it refuses. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { tag } from '../../../charts/testing/tag.ts';
import { ownVersion } from '../../../images/src/facts.ts';
import { rbacObjects, rulesOf } from '../rbac/profiles.ts';
import { type ApiObject, helm, parseObjects, tryHelm, type Untyped } from './commands.ts';
import { chartFolder, copyChart } from './chart-copy.ts';
import { definitionFile, definitionNames } from './releases.ts';
import { unknownFlags } from './unknown-flags.ts';

const chart = chartFolder('snapshot-controller');
const ours = { image: { registry: 'registry.example.com' } } as const;
const valuesOf = (name: string): string => `--values=${join(chart, 'ci', `${name}.yaml`)}`;

interface Rendering {
  readonly values?: object;
  readonly args?: readonly string[];
  readonly chart?: string;
  readonly release?: string;
}

async function render({ values = {}, args = [], release = 'snapshot-controller', ...of }: Rendering = {}): Promise<
  readonly ApiObject[]
> {
  const command = ['template', release, of.chart ?? chart, '--namespace=storage', '--values=-', ...args];
  return parseObjects(await helm(command, { input: JSON.stringify(values) }));
}

async function failure(values: object, ...args: readonly string[]): Promise<string> {
  const command = ['template', 'snapshot-controller', chart, '--values=-', ...args];
  const { code, stderr } = await tryHelm(command, { input: JSON.stringify(values) });
  expect(code).not.toBe(0);
  return stderr;
}

const ofKind = (objects: readonly ApiObject[], kind: string): readonly ApiObject[] =>
  objects.filter((object) => object.kind === kind);
const containersOf = (objects: readonly ApiObject[]): readonly Untyped[] =>
  ofKind(objects, 'Deployment').flatMap(({ spec }) => spec.template.spec.containers);

it('given the files of the chart, then its version is that of the programs, and no image is called latest', () => {
  expect(load(readFileSync(join(chart, 'Chart.yaml'), 'utf8'))).toMatchObject({
    apiVersion: 'v2',
    name: 'snapshot-controller',
    type: 'application',
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    appVersion: ownVersion(),
  });
  expect(readFileSync(join(chart, 'values.yaml'), 'utf8')).not.toMatch(/latest/);
});

describe('the controller', () => {
  it('given the defaults, then its arguments are flags that the program and upstream know, and both labels are on its pods', async () => {
    const objects = await render();
    const [controller] = ofKind(objects, 'Deployment');
    expect(controller).toMatchObject({
      metadata: { name: 'snapshot-controller', namespace: 'storage' },
      spec: { replicas: 2, minReadySeconds: 35, strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } },
    });
    const { template, selector } = controller!['spec'];
    expect(template.metadata.labels).toMatchObject({
      app: 'snapshot-controller',
      'app.kubernetes.io/name': 'snapshot-controller',
    });
    expect(selector.matchLabels).not.toHaveProperty('app');
    const [{ args }] = template.spec.containers;
    expect(args).toEqual([
      '--v=2',
      '--logging-format=text',
      '--leader-election=true',
      '--leader-election-namespace=storage',
      '--http-endpoint=:8080',
      '--kube-api-qps=20',
      '--kube-api-burst=100',
      '--prevent-volume-mode-conversion=true',
      '--feature-gates=CSIVolumeGroupSnapshot=true',
    ]);
    expect(unknownFlags('snapshot-controller', args)).toEqual([]);
    const [full] = ofKind(await render({ args: [valuesOf('full')] }), 'Deployment');
    expect(unknownFlags('snapshot-controller', full!['spec'].template.spec.containers[0].args)).toEqual([]);
  });

  it('[packaging#24] given one replica and a budget that is enabled, then no PodDisruptionBudget is rendered', async () => {
    expect(ofKind(await render({ values: { controller: { replicas: 1 } } }), 'PodDisruptionBudget')).toEqual([]);
    const [budget] = ofKind(await render(), 'PodDisruptionBudget');
    expect(budget!['spec']).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  });

  it('[packaging#25] given a release name above 53 characters, then helm refuses; given a long full name, then names are cut before their suffix and differ', async () => {
    const { code, stderr } = await tryHelm(['template', 'r'.repeat(54), chart]);
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining('53')]);
    const everything = [valuesOf('full')];
    const names = async (fullnameOverride: string): Promise<string[]> => {
      const objects = await render({ values: { fullnameOverride, serviceAccount: { name: '' } }, args: everything });
      return objects
        .filter(({ kind }) => !/Definition|Class|ConfigMap/.test(kind))
        .map(({ metadata }) => metadata.name);
    };
    const [first, second] = [await names(`${'x'.repeat(60)}a`), await names(`${'x'.repeat(60)}b`)];
    for (const name of [...first, ...second]) {
      expect(name.length).toBeLessThanOrEqual(63);
      expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
    }
    expect(first.filter((name) => second.includes(name) && name !== 'snapshots')).toEqual([]);
    expect(first.some((name) => name.endsWith('-leaderelection'))).toBe(true);
  });

  it('[packaging#26] given an appVersion with a build, then the label has an underscore in place of the plus', async () => {
    const copy = copyChart('snapshot-controller', { version: '1.0.0+chart.1' });
    const manifest = join(copy, 'Chart.yaml');
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/^appVersion: .*$/m, 'appVersion: 1.2.3+build.4'));
    const [controller] = ofKind(await render({ chart: copy, values: ours }), 'Deployment');
    expect(controller!.metadata.labels).toMatchObject({
      'app.kubernetes.io/version': '1.2.3_build.4',
      'helm.sh/chart': 'snapshot-controller-1.0.0_chart.1',
    });
    expect(controller!['spec'].template.spec.containers[0].image).toBe(
      'registry.example.com/snapshot-controller:v1.2.3_build.4',
    );
  });

  it('[packaging#46] given pull secrets as names and as objects, then both are rendered as objects', async () => {
    const [controller] = ofKind(await render({ values: { imagePullSecrets: ['one', { name: 'two' }] } }), 'Deployment');
    expect(controller!['spec'].template.spec.imagePullSecrets).toEqual([{ name: 'one' }, { name: 'two' }]);
    expect(await failure({ imagePullSecrets: [{ nam: 'two' }] })).toContain('imagePullSecrets');
  });

  it('[packaging#54] given a value for each variable that the chart sets, then each container has it once, with the value of the user', async () => {
    const env = ['POD_NAMESPACE', 'NODE_OPTIONS'].map((name) => ({ name, value: 'mine' }));
    const own = { nodeOptions: '--max-old-space-size=64', env };
    const rendered = containersOf(
      await render({ values: { ...ours, controller: own, webhook: { enabled: true, ...own } } }),
    );
    expect(rendered.map((container) => container.env)).toEqual([env, env]);
  });

  it.each([
    ['no value', {}, 'registry.k8s.io/sig-storage/snapshot-controller:v8.7.0'],
    ['a registry', ours, `registry.example.com/snapshot-controller:${tag}`],
    [
      "a mirror of upstream's images",
      { ...ours, implementation: 'upstream' },
      'registry.example.com/snapshot-controller:v8.7.0',
    ],
    [
      'our image on the nodes',
      { implementation: 'csi-sidecars', image: { pullPolicy: 'Never' } },
      `snapshot-controller:${tag}`,
    ],
  ])('[packaging#56] given %s, then the image is one that can be there', async (_, values, image) => {
    expect(containersOf(await render({ values })).map((each) => each.image)).toEqual([image]);
  });

  it('[packaging#47] given the chart as a part of another one with global values, then the schema accepts them, and a registry for all images is used', async () => {
    const values = { enabled: true, global: { imageRegistry: 'registry.example.com/x', other: { nested: 1 } } };
    const [controller] = ofKind(await render({ values }), 'Deployment');
    expect(controller!['spec'].template.spec.containers[0].image).toBe(
      'registry.example.com/x/registry.k8s.io/sig-storage/snapshot-controller:v8.7.0',
    );
  });

  it('given labels, annotations and a selector that the chart sets too, then those of the user are rendered, and no key twice', async () => {
    const labelSelector = { matchLabels: { app: 'mine' } };
    const values = {
      commonLabels: { 'app.kubernetes.io/part-of': 'storage' },
      controller: {
        podLabels: { 'app.kubernetes.io/version': 'mine' },
        podAnnotations: { 'kubectl.kubernetes.io/default-container': 'mine' },
        topologySpreadConstraints: [{ topologyKey: 'zone', labelSelector }],
      },
    };
    const [controller] = ofKind(await render({ values }), 'Deployment');
    const { metadata, spec } = controller!['spec'].template;
    expect(controller!.metadata.labels).toMatchObject({ 'app.kubernetes.io/part-of': 'storage' });
    expect(metadata.labels).toMatchObject({
      'app.kubernetes.io/part-of': 'storage',
      'app.kubernetes.io/version': 'mine',
    });
    expect(metadata.annotations).toEqual({ 'kubectl.kubernetes.io/default-container': 'mine' });
    expect(spec.topologySpreadConstraints).toEqual([{ topologyKey: 'zone', labelSelector }]);
  });

  it('given null for lists and maps, with which a user removes the defaults, then they are empty', async () => {
    const values = {
      commonLabels: null,
      commonAnnotations: null,
      volumeSnapshotClasses: null,
      image: { registry: null },
      crds: { annotations: null },
      controller: {
        nodeSelector: null,
        tolerations: null,
        featureGates: null,
        podLabels: null,
        podAnnotations: null,
        livenessProbe: null,
        hostNetwork: null,
      },
    };
    const [controller] = ofKind(await render({ values }), 'Deployment');
    const { spec } = controller!['spec'].template;
    expect(spec).toMatchObject({ hostNetwork: false, nodeSelector: { 'kubernetes.io/os': 'linux' } });
    expect(spec).not.toHaveProperty('tolerations');
    expect(spec.containers[0].livenessProbe).toEqual({ httpGet: { path: '/healthz/leader-election', port: 'http' } });
    expect(await failure({ networkPolicy: { apiServerPorts: null } })).toContain('apiServerPorts');
    expect(await failure({ controller: { replicas: null } })).toContain('replicas');
  });

  it('given a million requests at once, then the argument is a whole number, as the program reads it', async () => {
    const [controller] = ofKind(
      await render({ values: { controller: { kubeApi: { burst: 1_000_000 } } } }),
      'Deployment',
    );
    expect(controller!['spec'].template.spec.containers[0].args).toContain('--kube-api-burst=1000000');
  });

  it("[packaging#63] given our image, then the rights are those that the program uses; given the profile compatible or upstream's image, then those of upstream", async () => {
    const rules = async (values: object): Promise<unknown> => {
      const objects = await render({ values: { controller: { enableDistributedSnapshotting: false }, ...values } });
      return flatRules(
        [...ofKind(objects, 'ClusterRole'), ...ofKind(objects, 'Role')].flatMap((role) => role['rules']),
      );
    };
    const profile = (name: 'minimal' | 'stock'): unknown =>
      flatRules(
        rulesOf(
          rbacObjects({ profile: name, subject: 'snapshot-controller' }, { namespace: 'storage', driverName: 'd' }),
        ) as Untyped,
      );
    expect(await rules(ours)).toEqual(profile('minimal'));
    expect(await rules({ rbac: { profile: 'minimal' } })).toEqual(profile('minimal'));
    expect(await rules({ ...ours, rbac: { profile: 'compatible' } })).toEqual(profile('stock'));
    expect(await rules({})).toEqual(profile('stock'));
    const distributed = ofKind(
      await render({ values: { controller: { enableDistributedSnapshotting: true } } }),
      'ClusterRole',
    );
    expect(flatRules(distributed[0]!['rules'])).toEqual(expect.arrayContaining(['/nodes list', '/nodes watch']));
  });
});

describe('metrics', () => {
  it('[packaging#39] given metrics on and no kinds of Prometheus, then neither monitor nor rules are rendered unless they are forced', async () => {
    const kinds = (objects: readonly ApiObject[]): string[] =>
      objects.map(({ kind }) => kind).filter((kind) => /Monitor|PrometheusRule/.test(kind));
    const metrics = { enabled: true };
    expect(kinds(await render({ values: { metrics } }))).toEqual([]);
    const forced = { metrics: { ...metrics, serviceMonitor: { enabled: true }, rules: { enabled: true } } };
    expect(kinds(await render({ values: forced })).sort()).toEqual(['PrometheusRule', 'ServiceMonitor']);
    const served = ['ServiceMonitor', 'PrometheusRule'].map(
      (kind) => `--api-versions=monitoring.coreos.com/v1/${kind}`,
    );
    expect(kinds(await render({ values: { metrics }, args: served })).sort()).toEqual([
      'PrometheusRule',
      'ServiceMonitor',
    ]);
    expect(kinds(await render({ args: served }))).toEqual([]);
  });

  it('given a ServiceMonitor, then it selects the one Service, which selects the pods by their port, and the alerts name a metric of the program', async () => {
    const objects = await render({ args: [valuesOf('full')] });
    const [monitor] = ofKind(objects, 'ServiceMonitor');
    const [service] = ofKind(objects, 'Service').filter(({ metadata }) => metadata.name.endsWith('-metrics'));
    const controller = ofKind(objects, 'Deployment').find(({ metadata }) => metadata.name === 'snapshot-controller')!;
    expect(service!.metadata.labels).toMatchObject(monitor!['spec'].selector.matchLabels);
    expect(monitor!['spec'].endpoints.map(({ port }: { port: string }) => port)).toEqual(
      service!['spec'].ports.map(({ name }: { name: string }) => name),
    );
    expect(controller['spec'].template.metadata.labels).toMatchObject(service!['spec'].selector);
    const [rule] = ofKind(objects, 'PrometheusRule');
    const expressions = rule!['spec'].groups[0].rules.map(({ expr }: { expr: string }) => expr).join('\n');
    const own = [...expressions.matchAll(/snapshot_controller_\w+/g)].map(([name]) => name);
    const code = readFileSync(join(chart, '..', '..', 'packages/snapshot-controller/src/operations.ts'), 'utf8');
    expect(new Set(own)).toEqual(new Set(['snapshot_controller_operations_in_flight']));
    expect(code).toContain('operations_in_flight');
  });
});

describe('definitions', () => {
  it('given the defaults, then the six definitions are the files, with labels and annotations of the chart and nothing else', async () => {
    const rendered = ofKind(await render(), 'CustomResourceDefinition');
    expect(rendered.map(({ metadata }) => metadata.name)).toEqual(definitionNames);
    for (const { metadata, spec, apiVersion } of rendered) {
      const file = definitionFile(metadata.name);
      expect({ apiVersion, spec }).toEqual({ apiVersion: 'apiextensions.k8s.io/v1', spec: file.spec });
      expect(metadata.annotations).toEqual({ ...file.metadata?.annotations, 'helm.sh/resource-policy': 'keep' });
    }
  });

  it('given the files, then each fits an annotation of kubectl apply, and all of the release fits a Secret', async () => {
    const folder = join(chart, 'files', 'crds');
    for (const name of definitionNames) {
      expect(statSync(join(folder, `${name}.yaml`)).size).toBeLessThan(256 * 1024);
      expect(JSON.stringify(definitionFile(name)).length).toBeLessThan(256 * 1024);
    }
    const manifest = await helm(['template', 'snapshot-controller', chart, valuesOf('full')]);
    const files = definitionNames.map((name) => readFileSync(join(folder, `${name}.yaml`), 'utf8'));
    // Helm stores the manifest and the chart, compressed and in base64.
    expect((gzipSync(JSON.stringify([manifest, files])).length * 4) / 3).toBeLessThan(256 * 1024);
  });

  it('given definitions without those of groups, then the gate is off, and all that may be done with groups is to look for that of a member', async () => {
    const objects = await render({ values: { ...ours, crds: { group: false } } });
    expect(ofKind(objects, 'CustomResourceDefinition')).toHaveLength(3);
    expect(containersOf(objects)[0].args).toContain('--feature-gates=CSIVolumeGroupSnapshot=false');
    const rules = ofKind(objects, 'ClusterRole').flatMap((role) => role['rules'] as { apiGroups: string[] }[]);
    const ofGroups = rules.filter(({ apiGroups }) => apiGroups.includes('groupsnapshot.storage.k8s.io'));
    expect(ofGroups).toEqual([
      { apiGroups: ['groupsnapshot.storage.k8s.io'], resources: ['volumegroupsnapshots'], verbs: ['get'] },
    ]);
    expect(
      ofKind(objects, 'ValidatingAdmissionPolicy')[0]!['spec'].matchConstraints.resourceRules[0].resourceNames,
    ).toHaveLength(3);
  });

  it('given no guard wanted, or no definitions, then there is no policy about them', async () => {
    for (const crds of [{ guard: false }, { install: false }]) {
      expect(ofKind(await render({ values: { crds } }), 'ValidatingAdmissionPolicy')).toEqual([]);
    }
  });
});

describe('the webhook', () => {
  const conversionOf = (objects: readonly ApiObject[]): Untyped =>
    ofKind(objects, 'CustomResourceDefinition').find(({ metadata }) =>
      metadata.name.startsWith('volumegroupsnapshotcontents'),
    )!['spec'].conversion;

  it("[packaging#40] given the webhook with upstream's image, then rendering fails, unless the image is declared to convert v1", async () => {
    const webhook = { enabled: true, image: { registry: 'registry.k8s.io/sig-storage', tag: 'v8.6.0' } };
    expect(await failure({ webhook })).toContain(
      'registry.k8s.io/sig-storage/snapshot-conversion-webhook:v8.6.0 does not convert from and to v1',
    );
    expect(await failure({ ...ours, webhook: { enabled: true, image: { convertsV1: false } } })).toContain(
      'does not convert',
    );
    const declared = { webhook: { ...webhook, image: { ...webhook.image, convertsV1: true } } };
    expect(conversionOf(await render({ values: declared })).strategy).toBe('Webhook');
    expect(conversionOf(await render())).toBeUndefined();
  });

  it('given a certificate of each mode, then the stanza leads to the Service, and its bundle is that of the mode', async () => {
    const generated = await render({ values: { ...ours, webhook: { enabled: true } } });
    const [secret] = ofKind(generated, 'Secret');
    expect(conversionOf(generated)).toEqual({
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: {
          service: { namespace: 'storage', name: 'snapshot-controller-webhook', path: '/convert', port: 443 },
          caBundle: secret!['data']['ca.crt'],
        },
      },
    });
    const [service] = ofKind(generated, 'Service');
    expect(service!['spec'].ports).toEqual([{ name: 'webhook', port: 443, targetPort: 'webhook', protocol: 'TCP' }]);
    const webhook = containersOf(generated).find(({ name }) => name === 'snapshot-conversion-webhook');
    expect(webhook.args).toContain('--port=8443');
    expect(webhook.livenessProbe.httpGet).toEqual({ path: '/readyz', port: 'webhook', scheme: 'HTTPS' });
    expect(unknownFlags('snapshot-conversion-webhook', webhook.args)).toEqual([]);

    const own = await render({ args: [valuesOf('own-secret')] });
    expect(ofKind(own, 'Secret')).toEqual([]);
    expect(Buffer.from(conversionOf(own).webhook.clientConfig.caBundle, 'base64').toString()).toMatch(
      /^-----BEGIN CERTIFICATE-----/,
    );

    const managed = await render({ args: [valuesOf('full')] });
    expect(conversionOf(managed).webhook.clientConfig).not.toHaveProperty('caBundle');
    const annotations = ofKind(managed, 'CustomResourceDefinition').map(
      ({ metadata }) => metadata.annotations?.['cert-manager.io/inject-ca-from'],
    );
    expect(annotations.filter((value) => value !== undefined)).toEqual(['storage/snapshot-controller-webhook-tls']);
    const [certificate] = ofKind(managed, 'Certificate');
    expect(certificate!['spec'].dnsNames).toEqual([
      'snapshot-controller-webhook.storage.svc',
      'snapshot-controller-webhook.storage.svc.cluster.local',
    ]);
  });
});

describe('values that are refused', () => {
  it.each<[string, object, RegExp]>([
    ['a misspelt value', { controler: {} }, /controler/],
    ['no replica', { controller: { replicas: 0 } }, /replicas/],
    ['a duration without a unit', { controller: { retry: { intervalMax: '30' } } }, /intervalMax/],
    ['a digest that is none', { image: { digest: 'sha256:12' } }, /digest/],
    ['a port that is none', { ports: { http: 70000 } }, /http/],
    [
      'a strategy with fields of another',
      { controller: { strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 0 } } } },
      /strategy/,
    ],
    [
      'a budget with two bounds',
      { controller: { pdb: { minAvailable: 1 } } },
      /controller\.pdb has both minAvailable and maxUnavailable/,
    ],
    ['a budget without a bound', { webhook: { pdb: { maxUnavailable: null } } }, /webhook\.pdb has neither/],
    [
      'a label that selects pods',
      { commonLabels: { 'app.kubernetes.io/name': 'x' } },
      /must not contain app\.kubernetes\.io\/name: it selects pods/,
    ],
    [
      'a label of the pods that selects them',
      { controller: { podLabels: { app: 'x' } } },
      /must not contain app: it selects pods/,
    ],
    [
      'a flag that other objects depend on',
      { controller: { extraArgs: ['-http-endpoint=:9'] } },
      /controller\.extraArgs must not contain --http-endpoint/,
    ],
    [
      'a flag of the webhook that other objects depend on',
      { webhook: { extraArgs: ['--port=9'] } },
      /webhook\.extraArgs must not contain --port/,
    ],
    [
      'a gate that has a value of its own',
      { controller: { featureGates: { CSIVolumeGroupSnapshot: true } } },
      /use controller\.groupSnapshots/,
    ],
    [
      'groups without their definitions',
      { crds: { group: false }, controller: { groupSnapshots: true } },
      /controller\.groupSnapshots is true and crds\.group is false/,
    ],
    [
      'a lease that is too short',
      { controller: { leaderElection: { leaseDuration: '10s' } } },
      /leaseDuration \(15s\) must be above renewDeadline/,
    ],
    [
      'a retry that is too long',
      { controller: { leaderElection: { retryPeriod: '8400ms' } } },
      /above 1\.2 times retryPeriod/,
    ],
    [
      'two default classes of one driver',
      {
        volumeSnapshotClasses: ['a', 'b'].map((name) => ({
          name,
          driver: 'd',
          deletionPolicy: 'Delete',
          default: true,
        })),
      },
      /a and b are both the default of driver d/,
    ],
    [
      'a name that begins with a digit, which no Service may have',
      { fullnameOverride: '1st', metrics: { enabled: true } },
      /"1st" cannot begin a Service's name.*fullnameOverride/,
    ],
    [
      'a parameter that csi-snapshotter refuses',
      {
        volumeGroupSnapshotClasses: [
          {
            name: 'a',
            driver: 'd',
            deletionPolicy: 'Delete',
            parameters: { 'csi.storage.k8s.io/snapshotter-secret-name': 's' },
          },
        ],
      },
      /class a has the parameter csi\.storage\.k8s\.io\/snapshotter-secret-name/,
    ],
    ['a class without a policy', { volumeSnapshotClasses: [{ name: 'a', driver: 'd' }] }, /deletionPolicy/],
    [
      'our image without a registry',
      { implementation: 'csi-sidecars' },
      /snapshot-controller is ours, and it is in no public registry: set image\.registry .* image\.pullPolicy to Never/,
    ],
    [
      "options of Node.js with upstream's image",
      { controller: { nodeOptions: '--max-old-space-size=64' } },
      /controller\.nodeOptions is for Node\.js, and the image is upstream's/,
    ],
    [
      'the webhook without a registry of our images',
      { webhook: { enabled: true } },
      /Use the image of this project, by image\.registry/,
    ],
    [
      'a webhook without definitions',
      { ...ours, webhook: { enabled: true }, crds: { group: false } },
      /webhook\.enabled needs crds\.install and crds\.group/,
    ],
    [
      'a Secret without a bundle',
      { ...ours, webhook: { enabled: true, certificate: { mode: 'existingSecret', existingSecret: 's' } } },
      /needs webhook\.certificate\.existingSecret and webhook\.certificate\.caBundle/,
    ],
    [
      'cert-manager without an issuer',
      { ...ours, webhook: { enabled: true, certificate: { mode: 'certManager' } } },
      /needs webhook\.certificate\.issuerRef\.name/,
    ],
  ])('given %s, then rendering fails and names it', async (_, values, text) => {
    expect(await failure(values)).toMatch(text);
  });

  it('given an older Kubernetes than the chart supports, then helm refuses', async () => {
    expect(await failure({}, '--kube-version=1.20.0')).toMatch(/requires kubeVersion/);
  });
});

/** One text for each verb on each resource, so that rules can be cut in different ways. */
function flatRules(
  rules: readonly { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[],
): readonly string[] {
  const all = rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.map((verb) => [`${group}/${resource} ${verb}`, ...resourceNames].join(' ')),
      ),
    ),
  );
  return [...new Set(all)].sort();
}
