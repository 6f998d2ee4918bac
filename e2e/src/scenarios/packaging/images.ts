// SPDX-License-Identifier: Apache-2.0
/** I-: the released images under a real kubelet: one image for all programs, orderly ends, small memory limits, any user. */
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { get } from 'node:http';
import type { Pod } from '@csi-sidecars/runtime';
import { freePorts } from '../../control-planes/local/free-ports.ts';
import { deployAll, deployDriverOnly, deployNodeSide, nodePodName, type Deployment } from '../../deployment/deploy.ts';
import { controllerPod, nodePod, programPod, type Container, type NodeProgram } from '../../deployment/manifests.ts';
import { imageOf } from '../../images/images.ts';
import type { ControllerName } from '../../processes/program.ts';
import { claimed } from '../../workload/user-pods.ts';
import type { ScenarioContext } from '../context.ts';
import { containerOf, endPod, startPod, untilReady } from '../pod-life.ts';
import { startUser, untilSaid, writes } from '../node/user-steps.ts';
import { createClaim, createClass, deleteClaim, untilBound, untilVolumeGone } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';

const controllers: readonly ControllerName[] = ['csi-provisioner', 'csi-attacher'];

export const images: readonly Scenario[] = [
  {
    id: 'I-04',
    title:
      'one image for all containers, each with the path of its program as command: a claim is provisioned, attached and written to',
    needs: ['kubelet'],
    run: async (ctx) => {
      const deployment = await deployNodeSide(ctx, {}, withCombinedImage);
      await startControllers(ctx, deployment, withCombinedImage);
      await aPodWrites(ctx);
    },
  },
  {
    id: 'I-16',
    title: 'a command that is present and null: the image is started as if it were absent',
    needs: ['kubelet'],
    run: async (ctx) => {
      // As patched manifests have it; the type of the API does not know it.
      const withNull = (container: Container): Container => ({ ...container, command: null as unknown as string[] });
      const deployment = await deployNodeSide(ctx, {}, withNull);
      await startControllers(ctx, deployment, withNull);
      await aPodWrites(ctx);
    },
  },
  {
    id: 'I-06',
    title: 'a pod of each program is deleted: it ends by itself within 3 s, long before kubelet would kill it',
    needs: ['kubelet'],
    serial: true,
    run: async (ctx) => {
      const { placement } = await deployAll(ctx);
      // Process 1 does not get a signal that it has no handler for, so nothing ends by itself before its program runs.
      await aPodWrites(ctx);
      const { volume } = await untilBound(ctx);
      await deleteClaim(ctx);
      await untilVolumeGone(ctx, volume.metadata?.name ?? '');
      for (const name of [...controllers, nodePodName]) {
        const startedMs = ctx.testRun.clock.monotonicMs();
        await endPod(ctx, name);
        const tookMs = ctx.testRun.clock.monotonicMs() - startedMs;
        assert.ok(tookMs < 3000 * ctx.testRun.timeFactor, `${name} was gone after ${Math.round(tookMs)} ms`);
        ctx.note(`${name} gone after ${(tookMs / 1000).toFixed(1)} s`);
      }
      // The driver is asked afterwards what it still holds.
      await startPod(ctx, nodePod(nodePodName, placement));
      await untilReady(ctx, nodePodName);
    },
  },
  {
    id: 'I-12',
    title:
      'livenessprobe and registrar with 64 MiB, warm and from a cold page cache: healthy within 5 s; with 32 MiB warm: never killed',
    needs: ['kubelet'],
    serial: true,
    run: async (ctx) => {
      const deployment = await deployDriverOnly(ctx);
      for (const program of ['livenessprobe', 'csi-node-driver-registrar'] as const) {
        for (const cache of ['cold', 'warm'] as const) {
          const tookMs = await healthyAfter(ctx, deployment, { program, cache, memory: '64Mi' });
          assert.ok(tookMs < 5000 * ctx.testRun.timeFactor, `${program}, 64Mi, ${cache}: healthy after ${tookMs} ms`);
        }
        await healthyAfter(ctx, deployment, { program, cache: 'warm', memory: '32Mi' });
        if (ctx.testRun.load === 'full')
          await healthyAfter(ctx, deployment, { program, cache: 'cold', memory: '32Mi' });
      }
    },
  },
  {
    id: 'I-15',
    title:
      'livenessprobe and controllers as a user without a name, beside a driver whose socket all may use: a claim is provisioned, attached and written to',
    needs: ['kubelet'],
    run: async (ctx) => {
      const asAnyUser = (container: Container): Container => ({
        ...container,
        securityContext: { ...container.securityContext, runAsNonRoot: true, runAsUser: 1_000_650_000 },
      });
      const deployment = await deployNodeSide(ctx);
      chmodSync(deployment.driver.socket, 0o777);
      const ports = await freePorts(['registrar', 'livenessprobe']);
      const pod = programPod('liveness-probe', { ...deployment.placement, ports }, 'livenessprobe');
      await startPod(ctx, { ...pod, spec: { ...pod.spec, containers: pod.spec!.containers.map(asAnyUser) } });
      await ctx.eventually('livenessprobe answers', () => isHealthy(ports.livenessprobe));
      await startControllers(ctx, deployment, asAnyUser);
      await aPodWrites(ctx);
    },
  },
];

/** In one image every program is at its path. */
function withCombinedImage(container: Container): Container {
  const { image } = container;
  const name = image?.replace(/^.*\/(.*):.*$/, '$1');
  const isOurs =
    image !== undefined && [...controllers, 'csi-node-driver-registrar', 'livenessprobe'].includes(name ?? '');
  return isOurs ? { ...container, image: imageOf('csi-sidecars'), command: [`/${name}`] } : container;
}

async function startControllers(
  ctx: ScenarioContext,
  { placement }: Deployment,
  change: (container: Container) => Container,
): Promise<void> {
  const { nodeName, folder } = placement;
  const server = new URL(ctx.testRun.controlPlane.server);
  for (const name of controllers) {
    const { name: serviceAccountName } = await ctx.accountFor(name);
    const pod = controllerPod(name, { nodeName, folder, serviceAccountName, server });
    await startPod(ctx, { ...pod, spec: { ...pod.spec, containers: pod.spec!.containers.map(change) } });
  }
  for (const name of controllers) await untilReady(ctx, name);
}

async function aPodWrites(ctx: ScenarioContext): Promise<void> {
  await createClaim(ctx, await createClass(ctx));
  await startUser(ctx, { name: 'writer', volume: claimed('claim'), script: writes('/data/file') });
  await untilSaid(ctx, 'writer', 'sum');
  await endPod(ctx, 'writer');
}

interface SmallStart {
  readonly program: NodeProgram;
  readonly memory: string;
  readonly cache: 'cold' | 'warm';
}

/** Milliseconds since kubelet reports the container as started, whose clock has seconds: up to one too many. */
async function healthyAfter(
  ctx: ScenarioContext,
  { node, placement }: Deployment,
  { program, memory, cache }: SmallStart,
): Promise<number> {
  const { clock } = ctx.testRun;
  const ports = await freePorts(['registrar', 'livenessprobe']);
  const port = program === 'livenessprobe' ? ports.livenessprobe : ports.registrar;
  const pod = programPod('small', { ...placement, ports }, program);
  const containers = pod.spec!.containers.map((container) => ({ ...container, resources: { limits: { memory } } }));
  if (cache === 'cold') node.forgetImages();
  await startPod(ctx, { ...pod, spec: { ...pod.spec, containers } });
  await ctx.eventually(`${program} in ${memory} is healthy`, () => isHealthy(port), 300_000);
  const healthyMs = clock.nowMs();
  const started: Pod = await untilReady(ctx, 'small');
  const { state, restartCount } = containerOf(started, containers[0]!.name);
  assert.equal(restartCount, 0, `${program} in ${memory} was never killed`);
  const tookMs = healthyMs - Date.parse(String(state?.running?.startedAt));
  ctx.note(`${program}, ${memory}, ${cache}: ${(tookMs / 1000).toFixed(1)} s`);
  await endPod(ctx, 'small');
  return tookMs;
}

function isHealthy(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path: '/healthz', agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode === 200));
    });
    request.on('error', () => resolve(false));
  });
}
