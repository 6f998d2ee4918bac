// SPDX-License-Identifier: Apache-2.0
/**
 * The demonstration on a real kubelet: from a claim to a running pod that writes, and a second pod that reads what the first has
 * written. Driver and sidecars are containers of pods, as in any cluster.
 */
import { csiNodes, persistentVolumes, volumeAttachments } from '@csi-sidecars/runtime';
import { deployAll, isRegistered, nodePodName } from '../deployment/deploy.ts';
import { nodeDigest } from '../deployment/node-digest.ts';
import { endPod } from '../scenarios/pod-life.ts';
import { createCalls, deletedIds } from '../driver/calls.ts';
import type { ScenarioContext } from '../scenarios/context.ts';
import { mebibytes, reads, startUser, untilSaid, writes } from '../scenarios/node/user-steps.ts';
import { createClaim, createClass, deleteClaim, untilBound, untilVolumeGone } from '../scenarios/provisioner/steps.ts';
import { claimed } from '../workload/user-pods.ts';
import type { Display } from './display.ts';

const file = '/data/greeting';

export async function showNode(ctx: ScenarioContext, display: Display): Promise<void> {
  try {
    await play(ctx, display);
  } catch (error) {
    const { node } = ctx.testRun.controlPlane;
    if (node !== undefined && !ctx.signal.aborted) display.line(await nodeDigest(ctx, node));
    throw error;
  }
}

async function play(ctx: ScenarioContext, display: Display): Promise<void> {
  const { api, namespace, driverName } = ctx;
  const { node, driver } = await display.step(
    'driver and sidecars',
    () => deployAll(ctx),
    () => `pods ${nodePodName}, csi-provisioner, csi-attacher in namespace ${namespace}`,
  );
  await display.step(
    'CSINode',
    async () => {
      if (!(await isRegistered(ctx))) throw new Error('the driver is not registered');
      return (await api.get(csiNodes, { name: node.name })).spec.drivers.find(({ name }) => name === driverName);
    },
    (entry) => `kubelet has registered ${driverName}, topology key ${entry?.topologyKeys?.join(', ')}`,
  );
  await display.step(
    'claim created',
    async () => createClaim(ctx, await createClass(ctx, { volumeBindingMode: 'WaitForFirstConsumer' })),
    () => `${namespace}/claim; nothing happens before a pod wants it`,
  );
  await display.step(
    'pod created',
    () => startUser(ctx, { name: 'writer', volume: claimed('claim'), script: writes(file) }),
    () => 'the scheduler chooses the node',
  );
  await display.step(
    'CreateVolume',
    () => ctx.eventually('the driver is asked for a volume', async () => (await createCalls(driver))[0]),
    ({ request }) => `the driver was asked for ${request.name}`,
  );
  const { volume } = await display.step(
    'claim Bound',
    () => untilBound(ctx),
    (bound) => `to ${bound.volume.metadata?.name}`,
  );
  await display.step(
    'attached',
    () =>
      ctx.eventually('the volume is attached', async () =>
        (await api.list(volumeAttachments)).items.find(
          ({ spec, status }) => spec.attacher === driverName && status?.attached === true,
        ),
      ),
    ({ metadata }) => `VolumeAttachment ${metadata?.name?.slice(0, 20)}...`,
  );
  const written = await display.step(
    'pod running',
    () => untilSaid(ctx, 'writer', 'sum'),
    (sum) => `it wrote ${mebibytes} MiB, sha256 ${sum.slice(0, 12)}`,
  );
  await display.step(
    'mounted',
    () => Promise.resolve(node.volumeMounts().find((path) => path.includes(volume.metadata?.name ?? 'none'))),
    (path) => `at ${path}`,
  );
  await display.step(
    'pod deleted',
    () => endPod(ctx, 'writer'),
    () => 'kubelet has unmounted',
  );
  await display.step(
    'second pod',
    async () => {
      await startUser(ctx, { name: 'reader', volume: claimed('claim'), script: reads(file) });
      const read = await untilSaid(ctx, 'reader', 'sum');
      if (read !== written) throw new Error(`it read ${read}, not ${written}`);
      await endPod(ctx, 'reader');
      return read;
    },
    (sum) => `it read the same, sha256 ${sum.slice(0, 12)}, and is deleted`,
  );
  await display.step(
    'claim deleted',
    () => deleteClaim(ctx),
    () => `${namespace}/claim`,
  );
  await display.step(
    'volume gone',
    async () => {
      await untilVolumeGone(ctx, volume.metadata?.name ?? '');
      const { items } = await api.list(persistentVolumes);
      if (items.length > 0 || (await driver.control.volumes()).length > 0) throw new Error('something is left');
      return await deletedIds(driver);
    },
    ([id]) => `detached; the driver was asked to delete ${id}; no PersistentVolume, no volume in the driver`,
  );
}
