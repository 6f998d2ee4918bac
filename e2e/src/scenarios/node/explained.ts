// SPDX-License-Identifier: Apache-2.0
/** N-12: what `csi-sidecars explain` says where a real kubelet cannot use a driver, or cannot mount a volume. */
import assert from 'node:assert/strict';
import { nodes, persistentVolumeClaims, persistentVolumes, type Pod, pods } from '@csi-sidecars/runtime';
import { allCapabilities, type FaultRule } from '@csi-sidecars/test-driver';
import {
  createObjects,
  findPod,
  isWorkload,
  podNameOf,
  renderChart,
  untilPodReady,
  withContainers,
  type Workload,
} from '../../deployment/chart-objects.ts';
import { driverContainer, nodeOf, prepareDeployment, registrarName, untilRegistered } from '../../deployment/deploy.ts';
import { mergeValues } from '../../deployment/values.ts';
import { openChannel } from '../../nodes/mounting-node.ts';
import { resourceOf } from '../../rbac/apply.ts';
import { type HandMadeVolume, makeVolume, deleteFromDriver } from '../attacher/steps.ts';
import { doorOf, type ScenarioContext } from '../context.ts';
import { minuteMs, startExplaining, type Explains, type Wanted } from '../explanations/explaining.ts';
import { aPod, aVolume } from '../objects.ts';
import { endPod } from '../pod-life.ts';
import { createClaim, deleteClaim, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { untilGone } from '../snapshots/steps.ts';

const taint = { key: 'e2e.csi.test/held', effect: 'NoSchedule' };

export const explainedNode: readonly Scenario[] = [
  {
    id: 'N-12',
    title:
      'csi-sidecars explain: a node without the pod of the driver, with one that cannot be created, with one that kubelet does not know; a mount that fails, and owners of files: row, turn, exit code and sentence',
    needs: ['kubelet', 'rbac', 'driver-faults'],
    // Meanwhile no other pod is scheduled.
    exclusive: ['kubelet'],
    run: async (ctx) => {
      const explains = await startExplaining(ctx);
      await register(ctx, explains);
      await mount(ctx, explains);
    },
  },
];

/** Cases 18 to 20: the same pod of a user waits while one thing after the other is mended. */
async function register(ctx: ScenarioContext, explains: Explains): Promise<void> {
  const { name: nodeName } = nodeOf(ctx);
  // Volumes are not attached, and the driver does not wait for it.
  const controller = allCapabilities.controller.filter((type) => type !== 'PUBLISH_UNPUBLISH_VOLUME');
  const settings = { capabilities: { ...allCapabilities, controller } };
  const { values } = await prepareDeployment(ctx, [], { settings });
  const own = mergeValues(values, {
    features: { attach: false },
    csiDriver: { attachRequired: false },
    node: { tolerations: [] },
  });
  const objects = await renderChart(ctx, 'csi-driver', own);
  const set = objects.filter(isWorkload).find(({ kind }) => kind === 'DaemonSet')!;
  const aside = registeredElsewhere(set);
  ctx.cleanUp.defer(() => patchTaints(ctx, []));
  await patchTaints(ctx, [taint]);
  await createObjects(
    ctx,
    objects.map((object) => (object === set ? withUnsharedMount(aside) : object)),
  );
  const early = ctx.nameOf('early');
  await ctx.create(persistentVolumes, aVolume(early, { driver: ctx.driverName, volumeHandle: 'never-made' }));
  await createClaim(ctx, '', { name: 'early', spec: { volumeName: early } });
  await untilBound(ctx, 'early');
  await ctx.create(pods, aPod('early', 'early', { nodeName }));
  const unregistered = 'driver DRIVER is not registered on NODE';
  await explains('pvc/early', {
    row: 'X43',
    code: 4,
    actor: 'administrator',
    sentence: `${unregistered}: DaemonSet NS/csi-node has no pod on it; the node has taint ${taint.key}:NoSchedule`,
  });

  await patchTaints(ctx, []);
  const isNotShared =
    /^driver DRIVER is not registered on NODE: pod POD is not ready, .*path "\/run\/[^"]*" is mounted on "\/run" but it is not a shared mount/;
  await ctx.eventually('kubelet cannot create the container', async () => (await refusalOf(ctx)) !== undefined, 60_000);
  await explains('pvc/early', { row: 'X43', code: 4, actor: 'administrator', sentence: isNotShared });

  await replacePods(ctx, aside);
  const { next } = await explains('pvc/early', {
    row: 'X44',
    code: 4,
    actor: 'administrator',
    sentence:
      'pod POD of driver DRIVER is ready on NODE, and kubelet does not know the driver: the folder of the registration socket, the socket, SELinux, or a second DaemonSet',
  });
  const pod = await podNameOf(ctx, 'node');
  assert.deepEqual(next?.command, ['kubectl', 'logs', '-n', ctx.namespace, pod, '-c', registrarName]);

  await endPod(ctx, 'early');
  await deleteClaim(ctx, 'early');
  await ctx.remove(persistentVolumes, early);
  await replacePods(ctx, set);
  await untilRegistered(ctx, 60_000);
}

async function patchTaints(ctx: ScenarioContext, taints: readonly object[]): Promise<void> {
  const ref = { name: nodeOf(ctx).name };
  await ctx.api.patch({ resource: nodes, ref }, { type: 'merge', body: { spec: { taints } } });
}

/** The registrar makes its socket where kubelet does not look. */
function registeredElsewhere(set: Workload): Workload {
  return withContainers(set, (container) =>
    container.name === registrarName
      ? { ...container, args: [...(container.args ?? []), '--plugin-registration-path=/csi'] }
      : container,
  );
}

/** As on a node whose kubelet folder was not made a shared mount. /run of the node is none. */
function withUnsharedMount(set: Workload): Workload {
  const name = 'unshared';
  const mount = { name, mountPath: '/unshared', mountPropagation: 'Bidirectional' };
  const { spec } = set.spec.template;
  const volumes = [...(spec.volumes ?? []), { name, hostPath: { path: '/run/unshared', type: 'DirectoryOrCreate' } }];
  const template = { ...set.spec.template, spec: { ...spec, volumes } };
  return withContainers({ ...set, spec: { ...set.spec, template } }, (container) =>
    container.name === driverContainer
      ? { ...container, volumeMounts: [...(container.volumeMounts ?? []), mount] }
      : container,
  );
}

/** What kubelet says about the container of the driver. */
async function refusalOf(ctx: ScenarioContext): Promise<string | undefined> {
  const pod = await findPod(ctx, 'node');
  return pod?.status?.containerStatuses?.find(({ state }) => state?.waiting?.reason === 'CreateContainerError')?.name;
}

async function replacePods(ctx: ScenarioContext, { kind, apiVersion, metadata, spec }: Workload): Promise<void> {
  const { containers, volumes } = spec.template.spec;
  const ref = { namespace: ctx.namespace, name: metadata.name };
  const before = await podNameOf(ctx, 'node');
  await ctx.api.patch(
    { resource: resourceOf({ kind, apiVersion, metadata: { ...metadata, namespace: ctx.namespace } }), ref },
    { type: 'merge', body: { spec: { template: { spec: { containers, volumes } } } } },
  );
  await ctx.eventually('the pod of the driver was replaced', async () => (await untilPodReady(ctx, 'node')) !== before);
}

type Fault = Pick<FaultRule, 'method' | 'action'>;
type SecurityContext = NonNullable<NonNullable<Pod['spec']>['securityContext']>;

/** Cases 21, 23 and 24. */
async function mount(ctx: ScenarioContext, explains: Explains): Promise<void> {
  const { name: nodeName } = nodeOf(ctx);
  const { control, socket } = doorOf(ctx);
  const channel = await openChannel(ctx, socket);
  const made: HandMadeVolume[] = [];
  const use = async (claim: string, fault: Fault, securityContext: SecurityContext = {}): Promise<void> => {
    const volume = await makeVolume(ctx, { channel, what: claim });
    made.push(volume);
    await control.addFault({ ...fault, volume: volume.handle });
    await createClaim(ctx, '', { name: claim, spec: { volumeName: volume.name } });
    await untilBound(ctx, claim);
    await ctx.create(pods, aPod(claim, claim, { nodeName, securityContext }));
  };
  const badSuperblock = { kind: 'fail', code: 'Internal', message: 'wrong fs type, bad superblock' } as const;
  await use('broken', { method: 'NodeStageVolume', action: badSuperblock });
  const hangs = { method: 'NodePublishVolume', action: { kind: 'hang' } } as const;
  await use('owned', hangs, { fsGroup: 1000 });
  await use('strict', hangs, { fsGroup: 1000, fsGroupChangePolicy: 'OnRootMismatch' });

  const cannot = 'kubelet cannot mount the volume on NODE; no object records more than its event';
  const failed = await explains('pvc/broken', { row: 'X55', code: 3, actor: 'kubelet', sentence: cannot });
  assert.match(failed.error?.text ?? '', /wrong fs type, bad superblock/);
  await measuredByKubelet(ctx, explains, { row: 'X55', code: 3, actor: 'kubelet', sentence: cannot });
  const long = { row: 'X55', code: 4, actor: 'driver', sentence: cannot };
  const { next } = await explains('pvc/broken', long, { laterMs: 20 * minuteMs });
  const pod = await podNameOf(ctx, 'node');
  const log = ['kubectl', 'logs', '-n', ctx.namespace, pod, '-c', driverContainer];
  assert.deepEqual(next?.command, log);

  const mounts = { row: 'X57', code: 3, actor: 'kubelet', sentence: 'kubelet mounts the volume on NODE' };
  await explains('pvc/owned', mounts);
  const changes = 'kubelet changes the group of every file to 1000; that takes long with many files';
  const owned = { row: 'X56', code: 3, actor: 'kubelet', sentence: changes };
  await explains('pvc/owned', owned, { laterMs: 4 * minuteMs });
  const unknown = 'kubelet has not started pod strict, and no object records why: look on node NODE';
  const strict = { row: 'X57', code: 5, actor: 'kubelet', sentence: unknown };
  const last = await explains('pvc/strict', strict, { laterMs: 4 * minuteMs });
  assert.deepEqual(last.next?.command, log);

  await control.clearFaults();
  for (const claim of ['broken', 'owned', 'strict']) {
    await endPod(ctx, claim);
    await deleteClaim(ctx, claim);
    await untilGone(ctx, persistentVolumeClaims, claim);
  }
  for (const volume of made) {
    await ctx.remove(persistentVolumes, volume.name);
    // Pods are gone before their volumes are unstaged.
    await ctx.eventually(
      `the node has let volume ${volume.name} go`,
      () =>
        deleteFromDriver(ctx, volume, channel).then(
          () => true,
          () => false,
        ),
      60_000,
    );
  }
}

/** The kubelet has counted what failed, if the API server reaches it. */
async function measuredByKubelet(ctx: ScenarioContext, explains: Explains, wanted: Wanted): Promise<void> {
  const { nodeMetrics, missing } = await explains('pvc/broken', wanted, { args: ['--node-metrics'] });
  const operations = nodeMetrics?.operations;
  if (!ctx.testRun.controlPlane.has.has('kubelet-requests')) {
    const found = missing.map(({ resource, because }) => `${resource} ${because}`);
    assert.deepEqual([operations, ...found], ['unknown', 'nodes/proxy failed']);
    return;
  }
  assert.ok(operations !== undefined && operations !== 'unknown', 'the kubelet has answered');
  const measured = operations.map(({ operation, result }) => `${operation} ${result}`);
  for (const failed of ['NodeStageVolume Internal', 'volume_mount fail-unknown']) {
    assert.ok(measured.includes(failed), `${failed} is measured: ${measured.join(', ')}`);
  }
}
