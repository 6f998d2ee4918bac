// SPDX-License-Identifier: Apache-2.0
/** A release of the chart snapshot-controller on a real API server, from its installation to the next one. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { apply, exists, get, helm, kubectl, list, parseObjects, shell, tryHelm, tryKubectl } from './commands.ts';
import { asOfLaterRelease, asOfRelease85, chartFolder, copyChart } from './chart-copy.ts';
import { kubeconfigOf } from './kubeconfig-of.ts';
import { installOthersKinds } from './others-kinds.ts';
import { createNamespace, definitionFile, definitionNames, emptyCluster, untilEstablished } from './releases.ts';
import { storedObjects } from './stored-objects.ts';

const chart = chartFolder('snapshot-controller');
const contents = 'volumegroupsnapshotcontents.groupsnapshot.storage.k8s.io';

afterEach(emptyCluster);

async function until<T>(what: string, check: () => Promise<T | undefined | false>): Promise<T> {
  for (let poll = 0; poll < 150; poll += 1) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    await pause(200);
  }
  throw new Error(`not within 30 s: ${what}`);
}

const argsOf = async (namespace: string): Promise<readonly string[]> =>
  (await get('deployment', 'snapshot-controller', namespace))['spec'].template.spec.containers[0].args as string[];

describe('a release', () => {
  it('given an empty cluster, when the chart is installed, changed, rolled back, uninstalled and installed again, then each step does what it says and no snapshot is lost', async () => {
    const namespace = await createNamespace('restricted');
    const at = ['snapshot-controller', `--namespace=${namespace}`];

    const installed = await tryHelm(['install', ...at.slice(0, 1), chart, ...at.slice(1)]);
    expect(installed).toMatchObject({ code: 0 });
    expect(installed.stderr).not.toMatch(/warning/i);
    expect(installed.stdout).toContain('The definitions of the snapshot API stay when this release is uninstalled');
    await untilEstablished();
    for (const name of definitionNames) {
      const { spec, metadata } = await get('customresourcedefinition', name);
      const file = definitionFile(name);
      expect(spec).toMatchObject({ ...file.spec, conversion: { strategy: 'None' } });
      expect(metadata.annotations).toMatchObject({
        ...file.metadata?.annotations,
        'helm.sh/resource-policy': 'keep',
        'meta.helm.sh/release-name': 'snapshot-controller',
      });
    }
    // The namespace refuses pods that are not restricted.
    await until('the pods exist', async () => (await list('pods', `--namespace=${namespace}`)).length === 2);
    expect(await argsOf(namespace)).toContain('--feature-gates=CSIVolumeGroupSnapshot=true');
    await apply(...storedObjects('v1'));

    await helm([
      'upgrade',
      at[0]!,
      chart,
      ...at.slice(1),
      '--set=controller.logLevel=5,controller.enableDistributedSnapshotting=true',
    ]);
    expect(await argsOf(namespace)).toContain('--v=5');
    const rules = (await get('clusterrole', 'snapshot-controller-runner'))['rules'] as readonly {
      resources: string[];
    }[];
    expect(rules.flatMap(({ resources }) => resources)).toContain('nodes');

    await helm(['rollback', ...at, '1']);
    expect(await argsOf(namespace)).toContain('--v=2');
    const before = await get('clusterrole', 'snapshot-controller-runner');
    expect(JSON.stringify(before['rules'])).not.toContain('nodes');

    expect(await helm(['uninstall', ...at])).toMatch(/kept due to the resource policy/);
    expect(
      await list(
        'deployments,services,serviceaccounts,roles',
        `--namespace=${namespace}`,
        '--selector=app.kubernetes.io/part-of=csi-sidecars',
      ),
    ).toEqual([]);
    expect(
      await list(
        'clusterroles,clusterrolebindings,validatingadmissionpolicies',
        '--selector=app.kubernetes.io/part-of=csi-sidecars',
      ),
    ).toEqual([]);
    expect(await storedNames()).toEqual(namesOf(storedObjects('v1')));

    await helm(['install', at[0]!, chart, ...at.slice(1)]);
    await untilEstablished();
    expect(await storedNames()).toEqual(namesOf(storedObjects('v1')));
    expect(await exists('deployment', 'snapshot-controller', namespace)).toBe(true);
  });

  it('given everything that the chart can render, when the API server checks it without storing it, then each object is accepted', async () => {
    const namespace = await createNamespace('restricted');
    await installOthersKinds();
    await helm(['install', 'snapshot-crds', chart, `--namespace=${namespace}`, '--set=controller.enabled=false']);
    expect(await list('deployments', `--namespace=${namespace}`)).toEqual([]);
    await untilEstablished();
    const values = ['--set=allowSecondController=true,crds.install=false', '--values=-'];
    const rendered = await helm(
      [
        'template',
        'everything',
        chart,
        `--namespace=${namespace}`,
        '--api-versions=groupsnapshot.storage.k8s.io/v1',
        ...values,
      ],
      { input: JSON.stringify(everything) },
    );
    const checked = await tryKubectl(['apply', '--server-side', '--dry-run=server', '--filename=-'], {
      input: rendered,
    });
    expect(checked).toMatchObject({ code: 0, stderr: '' });
    expect(checked.stdout.trim().split('\n')).toHaveLength(parseObjects(rendered).length);
  });

  it('given crds.keep false, when the release is uninstalled, then the definitions go with it', async () => {
    const namespace = await createNamespace();
    const output = await helm(['install', 'short-lived', chart, `--namespace=${namespace}`, '--set=crds.keep=false']);
    expect(output).toContain('REMOVES EVERY SNAPSHOT OBJECT OF THE CLUSTER');
    await helm(['uninstall', 'short-lived', `--namespace=${namespace}`]);
    const left = await list('customresourcedefinitions', '--selector=app.kubernetes.io/part-of=csi-sidecars');
    expect(left.filter(({ metadata }) => !('deletionTimestamp' in metadata))).toEqual([]);
  });

  it('given classes in the values, when the definitions come with the same release, then NOTES say that they are missing, and the next upgrade installs them', async () => {
    const namespace = await createNamespace();
    const classes = {
      volumeSnapshotClasses: [
        {
          name: 'snapshots',
          driver: 'd.example.com',
          deletionPolicy: 'Delete',
          default: true,
          parameters: { iops: 3000, mode: '0755' },
        },
      ],
    };
    const input = JSON.stringify(classes);
    const first = await helm(['install', 'with-classes', chart, `--namespace=${namespace}`, '--values=-'], { input });
    expect(first).toContain('NOT installed: the API server did not have their kind yet');
    await untilEstablished();
    const second = await helm(['upgrade', 'with-classes', chart, `--namespace=${namespace}`, '--values=-'], { input });
    expect(second).not.toContain('NOT installed');
    expect(await get('volumesnapshotclass', 'snapshots')).toMatchObject({
      driver: 'd.example.com',
      deletionPolicy: 'Delete',
      parameters: { iops: '3000', mode: '0755' },
      metadata: { annotations: { 'snapshot.storage.kubernetes.io/is-default-class': 'true' } },
    });
  });
});

describe('definitions of another level', () => {
  it('I-10: given a release with definitions of level 8.5 and stored objects, when it is upgraded, then every object is readable in v1 and no version is dropped', async () => {
    const namespace = await createNamespace();
    const previous = copyChart('snapshot-controller', { version: '0.0.1', definition: asOfRelease85 });
    await helm(['install', 'snapshots', previous, `--namespace=${namespace}`, '--set=crds.guard=false']);
    await untilEstablished();
    const objects = storedObjects('v1beta2');
    await apply(...objects);
    const before = (await get('customresourcedefinition', contents))['spec'];
    expect([before.conversion.strategy, before.versions.map(({ name }: { name: string }) => name)]).toEqual([
      'Webhook',
      ['v1beta1', 'v1beta2'],
    ]);

    await helm(['upgrade', 'snapshots', chart, `--namespace=${namespace}`, '--reset-values']);

    for (const name of definitionNames) {
      const { spec, status } = await get('customresourcedefinition', name);
      const served = (spec.versions as { name: string; served: boolean }[]).filter((version) => version.served);
      expect(served.map((version) => version.name)).toContain('v1');
      expect(spec.conversion).toEqual({ strategy: 'None' });
      expect(spec.versions.map((version: { name: string }) => version.name)).toEqual(
        expect.arrayContaining(status.storedVersions),
      );
    }
    for (const { kind, metadata, spec } of objects) {
      const group = kind.startsWith('VolumeGroup') ? 'groupsnapshot' : 'snapshot';
      const resource = `${kind.toLowerCase()}${kind.endsWith('s') ? 'es' : 's'}.v1.${group}.storage.k8s.io`;
      const found = await until(`${kind} as v1`, async () => {
        const { code, stdout } = await tryKubectl([
          'get',
          resource,
          metadata.name,
          '--namespace=default',
          '--output=json',
        ]);
        return code === 0 && JSON.parse(stdout);
      });
      expect(found).toMatchObject({ apiVersion: `${group}.storage.k8s.io/v1`, ...(spec && { spec }) });
    }
  });

  it('[packaging#43] given a rollback to a release with older definitions, then it is refused with the versions by name, and the definitions are those of the newer release', async () => {
    const namespace = await createNamespace();
    const previous = copyChart('snapshot-controller', { version: '0.0.1', definition: asOfRelease85 });
    await helm(['install', 'snapshots', previous, `--namespace=${namespace}`, '--set=crds.guard=false']);
    await helm(['upgrade', 'snapshots', chart, `--namespace=${namespace}`, '--reset-values']);
    const before = await list('customresourcedefinitions', '--selector=app.kubernetes.io/part-of=csi-sidecars');
    // The policy is in force a moment after it was created.
    await until('the policy is in force', async () => {
      const patch = JSON.stringify({ spec: asOfRelease85Spec(before) });
      const args = [
        'patch',
        'customresourcedefinition',
        contents,
        '--type=merge',
        '--dry-run=server',
        `--patch=${patch}`,
      ];
      return (await tryKubectl(args)).code !== 0;
    });

    const rollback = await tryHelm(['rollback', 'snapshots', '1', `--namespace=${namespace}`]);

    expect(rollback.code).not.toBe(0);
    expect(rollback.stderr).toMatch(/volumegroupsnapshot\w+\.groupsnapshot\.storage\.k8s\.io must go on serving v1:/);
    const after = await list('customresourcedefinitions', '--selector=app.kubernetes.io/part-of=csi-sidecars');
    expect(after.map(({ spec }) => spec)).toEqual(before.map(({ spec }) => spec));
    // And the way forward is open.
    await helm(['upgrade', 'snapshots', chart, `--namespace=${namespace}`, '--reset-values']);
  });

  it('given definitions in the cluster that serve or store a version that the chart does not know, when it is installed or upgraded, then rendering fails and names it', async () => {
    const namespace = await createNamespace();
    const later = copyChart('snapshot-controller', { version: '9.0.0', definition: asOfLaterRelease });
    await helm(['install', 'snapshots', later, `--namespace=${namespace}`]);
    const upgrade = await tryHelm(['upgrade', 'snapshots', chart, `--namespace=${namespace}`]);
    expect(upgrade.code).not.toBe(0);
    expect(upgrade.stderr).toMatch(
      /in the cluster serves v2, which this chart does not know: it is of a newer release, and is not downgraded/,
    );
    await helm(['upgrade', 'snapshots', chart, `--namespace=${namespace}`, '--set=crds.install=false']);
    expect(await list('customresourcedefinitions', '--selector=app.kubernetes.io/component=crds')).toHaveLength(6);
  });
});

describe('definitions of somebody else', () => {
  it('I-11: [packaging#42] given definitions that another tool installed, when the chart is installed, then it fails with the commands that hand them over, and with these it succeeds', async () => {
    const namespace = await createNamespace();
    await apply(...definitionNames.map(definitionFile));
    await untilEstablished();
    await apply(...storedObjects('v1'));
    const install = ['install', 'snapshots', chart, `--namespace=${namespace}`];

    const refused = await tryHelm(install);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain(`does not belong to release snapshots in namespace ${namespace}`);
    expect(await list('all', `--namespace=${namespace}`)).toEqual([]);
    // Without the chart's own look at the cluster it is helm that refuses.
    const withoutPreflight = await tryHelm([...install, '--set=preflight=false']);
    expect(withoutPreflight.stderr).toContain('invalid ownership metadata');
    await tryHelm(['uninstall', 'snapshots', `--namespace=${namespace}`]);

    const commands = refused.stderr.split('\n').filter((line) => line.startsWith('kubectl '));
    expect(commands).toHaveLength(2);
    for (const command of commands) await shell(command);
    await helm(install);
    expect(await storedNames()).toEqual(namesOf(storedObjects('v1')));
    await helm(['upgrade', 'snapshots', chart, `--namespace=${namespace}`, '--reset-values']);
  });

  it('given older definitions that another tool applied, when the chart adopts them by flags of helm, then they are replaced and objects stay', async () => {
    const namespace = await createNamespace();
    await apply(...definitionNames.map((name) => asOfRelease85(definitionFile(name))));
    await untilEstablished();
    await apply(...storedObjects('v1beta2'));
    const adopting = ['--set=crds.adopt=true', '--take-ownership', '--force-conflicts'];
    const install = ['install', 'snapshots', chart, `--namespace=${namespace}`, ...adopting];
    const refused = await tryHelm(install);
    expect(refused.stderr).toContain(`${contents} in the cluster is older, and its objects are converted by a webhook`);
    const command = refused.stderr.split('\n').find((line) => line.startsWith('kubectl patch'));
    await shell(command ?? 'false');
    await helm(install);
    for (const name of definitionNames) {
      const { spec } = await get('customresourcedefinition', name);
      expect(spec).toMatchObject({ versions: definitionFile(name).spec.versions, conversion: { strategy: 'None' } });
    }
    expect(await storedNames()).toEqual(namesOf(storedObjects('v1')));

    // A stanza that a user adds to definitions of this level is the user's.
    const { spec } = asOfRelease85(definitionFile(contents)) as { spec: { conversion: object } };
    const patch = JSON.stringify({ spec: { conversion: spec.conversion } });
    await kubectl(['patch', 'customresourcedefinition', contents, '--type=merge', `--patch=${patch}`]);
    await helm(['upgrade', 'snapshots', chart, `--namespace=${namespace}`, '--set=crds.adopt=true']);
    expect((await get('customresourcedefinition', contents))['spec'].conversion).toMatchObject({ strategy: 'Webhook' });
    await kubectl([
      'patch',
      'customresourcedefinition',
      contents,
      '--type=json',
      '--patch=[{"op":"remove","path":"/spec/conversion"}]',
    ]);
  });

  it('[packaging#41] given a snapshot-controller of the distribution, then the preflight fails and names it, unless a second one is allowed', async () => {
    const namespace = await createNamespace();
    const foreign = await createNamespace();
    const container = {
      name: 'c',
      image: 'registry.example.com:5000/sig-storage/snapshot-controller:v8.2.0@sha256:0123',
    };
    const labels = { app: 'x' };
    const workload = (kind: string, image: string): object => ({
      apiVersion: 'apps/v1',
      kind,
      metadata: { name: 'csi-snapshot-controller', namespace: foreign },
      spec: {
        selector: { matchLabels: labels },
        serviceName: kind === 'StatefulSet' ? 's' : undefined,
        template: { metadata: { labels }, spec: { containers: [{ ...container, image }] } },
      },
    });
    const install = ['install', 'snapshots', chart, `--namespace=${namespace}`, '--dry-run=server'];
    for (const kind of ['Deployment', 'DaemonSet', 'StatefulSet']) {
      await apply(workload(kind, container.image));
      const refused = await tryHelm(install);
      expect(refused.code).not.toBe(0);
      expect(refused.stderr).toContain(`${kind} ${foreign}/csi-snapshot-controller runs ${container.image}`);
      await helm([...install, '--set=allowSecondController=true']);
      await kubectl(['delete', kind, 'csi-snapshot-controller', `--namespace=${foreign}`]);
    }
    await apply(workload('Deployment', 'registry.example.com/snapshot-controller/other:v1'));
    await helm(install);
  });

  it('[packaging#44] given a user with rights in one namespace, when the chart with definitions is installed, then the first refusal is reported and nothing is left', async () => {
    const namespace = await createNamespace();
    await kubectl(['create', 'serviceaccount', 'ci', `--namespace=${namespace}`]);
    await kubectl([
      'create',
      'rolebinding',
      'ci',
      '--clusterrole=admin',
      `--serviceaccount=${namespace}:ci`,
      `--namespace=${namespace}`,
    ]);
    const kubeconfig = await kubeconfigOf(namespace, 'ci');

    for (const values of [[], ['--set=preflight=false']]) {
      const refused = await tryHelm(['install', 'snapshots', chart, `--namespace=${namespace}`, ...values], {
        kubeconfig,
      });
      expect(refused.code).not.toBe(0);
      expect(refused.stderr).toMatch(/forbidden/);
      expect(definitionNames.filter((name) => refused.stderr.includes(`"${name}"`)).length).toBeLessThanOrEqual(1);
      const left = await list(
        'deployments,services,secrets,roles,rolebindings,poddisruptionbudgets',
        `--namespace=${namespace}`,
        '--selector=app.kubernetes.io/managed-by=Helm',
      );
      expect(left).toEqual([]);
      expect(await list('customresourcedefinitions', '--selector=app.kubernetes.io/part-of=csi-sidecars')).toEqual([]);
      await tryHelm(['uninstall', 'snapshots', `--namespace=${namespace}`], { kubeconfig });
    }
  });
});

const everything = {
  controller: { enableDistributedSnapshotting: true, leaderElection: { releaseOnExit: true }, groupSnapshots: true },
  metrics: { enabled: true, serviceMonitor: { enabled: true }, rules: { enabled: true } },
  networkPolicy: { enabled: true },
  imagePullSecrets: ['one', { name: 'two' }],
  renderClasses: true,
  volumeSnapshotClasses: [{ name: 'snapshots', driver: 'd.example.com', deletionPolicy: 'Delete', default: true }],
  volumeGroupSnapshotClasses: [
    { name: 'groups', driver: 'd.example.com', deletionPolicy: 'Retain', parameters: { tier: 1e6 } },
  ],
  extraObjects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-extra' }, data: {} }],
};

/** Names of what `storedObjects` has, as the API server has it. */
async function storedNames(): Promise<readonly string[]> {
  const kinds = definitionNames.join(',');
  const found = await list(kinds, '--namespace=default');
  return found.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
}

function namesOf(objects: ReturnType<typeof storedObjects>): readonly string[] {
  return objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
}

function asOfRelease85Spec(definitions: readonly { metadata: { name: string } }[]): unknown {
  const { name } = definitions.find(({ metadata }) => metadata.name === contents)?.metadata ?? { name: '' };
  return { versions: (asOfRelease85(definitionFile(name)) as { spec: { versions: unknown } }).spec.versions };
}
