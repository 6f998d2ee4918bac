// SPDX-License-Identifier: Apache-2.0
/** I-19: the programs as processes with the arguments and the account that the charts give their containers, for our programs and for upstream's. */
import assert from 'node:assert/strict';
import { csiStorageCapacities, pods, type Pod } from '@csi-sidecars/runtime';
import { stubDriver } from '@csi-sidecars/sim';
import { allCapabilities, type Capabilities } from '@csi-sidecars/test-driver';
import {
  createObjects,
  isWorkload,
  renderChart,
  type ChartName,
  type Workload,
} from '../../deployment/chart-objects.ts';
import type { Values } from '../../deployment/values.ts';
import { addEmulatedNode } from '../../nodes/emulated-node.ts';
import type { ControllerName } from '../../processes/program.ts';
import { ensureTools } from '../../tools/ensure-tools.ts';
import { startAttachable } from '../attacher/steps.ts';
import { assertNothingIsLeft, live, type Stage } from '../combined/life.ts';
import type { ScenarioContext } from '../context.ts';
import { ownRefusals } from '../own-requests.ts';
import { createClaim, createClass, deleteClaim, untilBound, untilVolumeGone } from '../provisioner/steps.ts';
import { makeClass, untilStatus, wantClass } from '../resizer/steps.ts';
import { zoneKey } from '../provisioner/zones.ts';
import type { Scenario } from '../scenario.ts';
import { subjects } from '../sidecars.ts';
import { createSnapshotClass, deleteGroup, installDefinitions, takeGroup } from '../snapshots/steps.ts';

export const chartRights: readonly Scenario[] = [
  {
    id: 'I-19',
    title:
      'each program with the arguments and rights that the charts render for it: capacity, claim, attach, grow, modify, snapshot, group, delete, and no request is refused',
    needs: ['rbac', 'audit', 'controller-manager', 'attributes-classes', 'driver-settings', 'driver-journal'],
    // Its node runs no pods, and a kubelet's pods must not be placed there.
    exclusive: ['snapshot-controller', 'kubelet'],
    run: async (ctx) => {
      await ensureTools(['helm'], { env: ctx.testRun.env });
      const stage = await setStage(ctx);
      await startRendered(ctx, 'snapshot-controller', { controller: { groupSnapshots: true } });
      await startRendered(ctx, 'csi-driver', driverValues(ctx));

      await untilCapacity(ctx, stage.storageClass);
      await live(ctx, stage, 0);
      await createClaim(ctx, stage.storageClass);
      const bound = await untilBound(ctx);
      await wantClass(ctx, await makeClass(ctx, 'fast', { iops: '100' }));
      await untilStatus(
        ctx,
        'is modified',
        ({ currentVolumeAttributesClassName }) => currentVolumeAttributesClassName === ctx.nameOf('fast'),
      );
      await takeGroup(ctx, [bound]);
      await deleteGroup(ctx);
      await deleteClaim(ctx);
      await untilVolumeGone(ctx, bound.volume.metadata?.name ?? '');
      await assertNothingIsLeft(ctx);
      assert.deepEqual(ownRefusals(ctx), []);
    },
  },
];

/** Volumes grow without a node. */
const capabilities: Capabilities = {
  ...allCapabilities,
  node: allCapabilities.node.filter((type) => type !== 'EXPAND_VOLUME'),
};

async function setStage(ctx: ScenarioContext): Promise<Stage> {
  await installDefinitions(ctx);
  const name = ctx.nameOf('one');
  const topology = { [zoneKey]: name };
  const node = await addEmulatedNode(ctx, { name, driver: stubDriver(ctx.driverName, { nodeId: name, topology }) });
  await startAttachable(ctx, { settings: { capabilities, nodes: [{ id: name, segments: topology, maxVolumes: 0 }] } });
  return {
    nodes: [node],
    storageClass: await createClass(ctx, { allowVolumeExpansion: true }),
    snapshotClass: await createSnapshotClass(ctx),
  };
}

/** All features, and nothing about rights. */
function driverValues({ driverName }: ScenarioContext): Values {
  return {
    driver: { name: driverName, image: { repository: 'registry.example.com/driver', tag: 'v1' } },
    features: { snapshots: true, groupSnapshots: true, volumeAttributesClass: true, capacity: true },
    sidecars: {
      resizer: { handleVolumeInUseError: true },
      provisioner: { capacity: { forImmediateBinding: true } },
    },
  };
}

const rights = ['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'];

/** Rights and Deployment are applied, whose pods nothing runs: containers are processes of this machine. */
async function startRendered(ctx: ScenarioContext, chart: ChartName, values: Values): Promise<void> {
  const objects = await renderChart(ctx, chart, { ...values, ...whose(ctx, chart, values) });
  const deployment = objects.find(({ kind }) => kind === 'Deployment');
  assert.ok(deployment !== undefined && isWorkload(deployment));
  const one = { ...deployment, spec: { ...deployment.spec, replicas: 1, template: nowhere(deployment) } };
  await createObjects(ctx, [...objects.filter(({ kind }) => rights.includes(kind)), one]);
  const { containers, serviceAccountName = '' } = deployment.spec.template.spec;
  const pod = await podOf(ctx, deployment.metadata.name);
  const env = { NAMESPACE: ctx.namespace, POD_NAME: pod.metadata?.name ?? '' };
  for (const { name, args = [] } of containers.filter((each) => Object.hasOwn(subjects, each.name))) {
    await ctx.startSidecar(name as ControllerName, {
      account: { namespace: ctx.namespace, name: serviceAccountName },
      env,
      args: args.filter((arg) => !socket.test(arg)).map((arg) => here(arg, ctx.namespace)),
    });
  }
}

/** No node runs its pods. One that another scenario has made would be gone before it had ended them. */
function nowhere({ spec: { template } }: Workload): Workload['spec']['template'] {
  return { ...template, spec: { ...template.spec, nodeSelector: { 'e2e.csi.test/runs': 'nothing' } } };
}

/** It is another one here. */
const socket = /^--csi-address=/;

/** The ports of a pod may be taken on this machine. */
function here(arg: string, namespace: string): string {
  return arg.startsWith('--http-endpoint=')
    ? '--http-endpoint=127.0.0.1:0'
    : arg.replace('$(POD_NAMESPACE)', namespace);
}

/** Without these values both charts deploy upstream's programs. */
function whose({ testRun }: ScenarioContext, chart: ChartName, { sidecars = {} }: Values): Values {
  if (testRun.programs === 'upstream') return {};
  const ours = { implementation: 'csi-sidecars', image: { pullPolicy: 'Never' } };
  return chart === 'csi-driver' ? { sidecars: { ...(sidecars as Values), ...ours } } : ours;
}

/** Its name is in the environment of the program. */
async function podOf(ctx: ScenarioContext, deployment: string): Promise<Pod> {
  return await ctx.eventually(`the Deployment ${deployment} has a pod`, async () => {
    const { items } = await ctx.api.list(pods, { namespace: ctx.namespace });
    return items.find(({ metadata }) => metadata?.name?.startsWith(`${deployment}-`));
  });
}

async function untilCapacity(ctx: ScenarioContext, storageClass: string): Promise<void> {
  await ctx.eventually('the capacity of the class is published, and its owner is the Deployment', async () => {
    const { items } = await ctx.api.list(csiStorageCapacities, { namespace: ctx.namespace });
    const own = items.find(({ storageClassName }) => storageClassName === storageClass);
    return own?.metadata?.ownerReferences?.[0]?.kind === 'Deployment';
  });
}
