// SPDX-License-Identifier: Apache-2.0
/** N-: parts of the node are killed or hang while a pod writes: it continues to write, and pods started right afterwards mount. */
import assert from 'node:assert/strict';
import { podNameOf } from '../../deployment/chart-objects.ts';
import {
  deployAll,
  driverContainer,
  isRegistered,
  registrarName,
  untilRegistered,
  type Deployment,
} from '../../deployment/deploy.ts';
import { containerOf, endPod, getPod, untilPod } from '../pod-life.ts';
import { request } from '../../suite-client/request.ts';
import { claimed } from '../../workload/user-pods.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaim, createClass } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { makesProgress, reads, startUser, stillWrites, untilSaid, writes, writesAllTheTime } from './user-steps.ts';

/** How long the users of a cluster may have to wait for registration after a disturbance. */
const registeredWithinMs = 10_000;

export const disturbances: readonly Scenario[] = [
  {
    id: 'N-02',
    title:
      'registrar killed while a pod writes: the writer goes on, registration is back within 10 s, a new pod mounts',
    needs: ['kubelet'],
    run: async (ctx) => {
      const deployment = await deployWithWriter(ctx);

      await killContainer(ctx, deployment, registrarName);
      await untilRestarted(ctx, registrarName);
      await untilRegistered(ctx, registeredWithinMs);

      await mountsAgain(ctx);
      await stillWrites(ctx, 'writer');
    },
  },
  {
    id: 'N-05',
    title:
      'driver killed while a pod writes: the writer goes on, the sidecars beside it find it again, a new pod mounts',
    needs: ['kubelet'],
    run: async (ctx) => {
      const deployment = await deployWithWriter(ctx);

      await killContainer(ctx, deployment, driverContainer);
      await untilRestarted(ctx, driverContainer);
      await ctx.eventually('the driver answers', async () => (await deployment.driver.control.volumes()).length > 0);

      assert.equal(await isRegistered(ctx), true);
      await mountsAgain(ctx);
      await stillWrites(ctx, 'writer');
      const pod = await getPod(ctx, await podNameOf(ctx, 'node'));
      assert.equal(containerOf(pod, registrarName).restartCount, 0, 'the registrar stayed');
    },
  },
  {
    id: 'N-06',
    title:
      'kubelet killed and started while a pod writes: the writer goes on, the driver is registered within 10 s, pods mount and end',
    needs: ['kubelet', 'node-control'],
    exclusive: ['kubelet'],
    run: async (ctx) => {
      const { node } = await deployWithWriter(ctx);
      const kubelet = ctx.testRun.controlPlane.components.get('kubelet')!;

      await kubelet.kill();
      await makesProgress(ctx, 'writer');
      await kubelet.start();
      await untilRegistered(ctx, registeredWithinMs);

      await mountsAgain(ctx);
      await stillWrites(ctx, 'writer');
      await endPod(ctx, 'writer');
      // The pod goes when nothing is mounted for it; where the driver had staged the volume is unmounted after that.
      await ctx.eventually(
        'the volume of a pod that was started before is unstaged',
        () => !node.volumeMounts().some((path) => path.includes(ctx.driverName)),
      );
    },
  },
  {
    id: 'N-08',
    title:
      'Probe hangs: /healthz fails, kubelet restarts the driver, the sidecars of the controller come back and work',
    needs: ['kubelet', 'driver-faults'],
    run: async (ctx) => {
      const { driver, ports } = await deployWithWriter(ctx);
      const health = { url: `http://127.0.0.1:${ports.nodeHealth}/healthz` };
      assert.equal((await request(health)).status, 200);

      await driver.control.addFault({ method: 'Probe', action: { kind: 'hang' } });
      await ctx.eventually('/healthz fails', async () => (await request(health)).status !== 200);
      // Five failures, two seconds apart, and the grace period of a driver.
      await untilRestarted(ctx, driverContainer, 60_000);
      await ctx.eventually('/healthz answers', async () => (await request(health)).status === 200);

      await mountsAgain(ctx);
      await stillWrites(ctx, 'writer');
    },
  },
];

async function deployWithWriter(ctx: ScenarioContext): Promise<Deployment> {
  const deployment = await deployAll(ctx);
  await createClaim(ctx, await createClass(ctx));
  await startUser(ctx, { name: 'writer', volume: claimed('claim'), script: writesAllTheTime });
  await untilSaid(ctx, 'writer', 'line');
  return deployment;
}

/** A new claim is provisioned, attached, mounted, unmounted and mounted again. */
async function mountsAgain(ctx: ScenarioContext): Promise<void> {
  await createClaim(ctx, ctx.nameOf('class'), { name: 'later' });
  await startUser(ctx, { name: 'later', volume: claimed('later'), script: writes('/data/file') });
  const written = await untilSaid(ctx, 'later', 'sum');
  await endPod(ctx, 'later');
  await startUser(ctx, { name: 'reader', volume: claimed('later'), script: reads('/data/file') });
  assert.equal(await untilSaid(ctx, 'reader', 'sum'), written);
  await endPod(ctx, 'reader');
}

async function killContainer(ctx: ScenarioContext, { node }: Deployment, name: string): Promise<void> {
  const pod = await getPod(ctx, await podNameOf(ctx, 'node'));
  const [pid] = node.processesOf(containerOf(pod, name).containerID ?? '');
  assert.ok(pid !== undefined, `${name} runs`);
  process.kill(pid, 'SIGKILL');
}

async function untilRestarted(ctx: ScenarioContext, name: string, timeoutMs?: number): Promise<void> {
  const restarted = { name: await podNameOf(ctx, 'node'), what: `has started ${name} again` };
  const check = (pod: Parameters<typeof containerOf>[0]): boolean => {
    const { restartCount, state } = containerOf(pod, name);
    return restartCount > 0 && state?.running !== undefined;
  };
  await untilPod(ctx, { ...restarted, check, ...(timeoutMs !== undefined && { timeoutMs }) });
}
