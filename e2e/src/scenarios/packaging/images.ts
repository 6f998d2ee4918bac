// SPDX-License-Identifier: Apache-2.0
/** I-: the released images under a real kubelet: one image for all programs, orderly ends, small memory limits, any user. */
import assert from 'node:assert/strict';
import { get } from 'node:http';
import type { Pod } from '@csi-sidecars/runtime';
import { freePorts } from '../../control-planes/local/free-ports.ts';
import { findPod, podNameOf, untilPodReady } from '../../deployment/chart-objects.ts';
import {
  deployAll,
  deployDriverOnly,
  driverContainer,
  programPod,
  registrarName,
  type Deployment,
  type ProgramPod,
} from '../../deployment/deploy.ts';
import { imageTag } from '../../images/images.ts';
import { claimed } from '../../workload/user-pods.ts';
import type { ScenarioContext } from '../context.ts';
import { containerOf, endPod, startPod, untilReady } from '../pod-life.ts';
import { startUser, untilSaid, writes } from '../node/user-steps.ts';
import { createClaim, createClass, deleteClaim, untilBound, untilVolumeGone } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';

export const images: readonly Scenario[] = [
  {
    id: 'I-04',
    title:
      'one image for all containers, each with the path of its program as command: a claim is provisioned, attached and written to',
    needs: ['kubelet'],
    run: async (ctx) => {
      const from = (program: string): object => ({
        image: { repository: 'csi-sidecars', tag: imageTag },
        command: [`/${program}`],
      });
      const sidecars = {
        provisioner: from('csi-provisioner'),
        attacher: from('csi-attacher'),
        livenessProbe: from('livenessprobe'),
        nodeDriverRegistrar: from('csi-node-driver-registrar'),
      };
      await deployAll(ctx, { values: { sidecars } });
      await aPodWrites(ctx);
    },
  },
  {
    id: 'I-16',
    title: 'a command that is present and null: the image is started as if it were absent',
    needs: ['kubelet'],
    run: async (ctx) => {
      // As patched manifests have it, and no chart. The type of the API does not know it.
      const command = null as unknown as string[];
      await deployAll(ctx, {
        change: (container) => (container.name === driverContainer ? container : { ...container, command }),
      });
      await aPodWrites(ctx);
    },
  },
  {
    id: 'I-06',
    title:
      'the pods of the controllers and of the node are deleted: they end by themselves within 3 s, long before kubelet would kill them',
    needs: ['kubelet'],
    exclusive: ['kubelet'],
    run: async (ctx) => {
      await deployAll(ctx);
      // Process 1 does not get a signal that it has no handler for, so nothing ends by itself before its program runs.
      await aPodWrites(ctx);
      const { volume } = await untilBound(ctx);
      await deleteClaim(ctx);
      await untilVolumeGone(ctx, volume.metadata?.name ?? '');
      for (const component of ['controller', 'node'] as const) {
        const name = await podNameOf(ctx, component);
        const startedMs = ctx.testRun.clock.monotonicMs();
        await endPod(ctx, name);
        const tookMs = ctx.testRun.clock.monotonicMs() - startedMs;
        assert.ok(tookMs < 3000 * ctx.testRun.timeFactor, `${name} was gone after ${Math.round(tookMs)} ms`);
        ctx.note(`the pod of the ${component} gone after ${(tookMs / 1000).toFixed(1)} s`);
      }
      // The driver is asked afterwards what it still holds.
      await untilPodReady(ctx, 'node');
    },
  },
  {
    id: 'I-12',
    title:
      'livenessprobe and registrar with 64 MiB, warm and from a cold page cache: healthy within 5 s; with 32 MiB warm: never killed',
    needs: ['kubelet'],
    exclusive: ['kubelet'],
    run: async (ctx) => {
      const deployment = await deployDriverOnly(ctx);
      for (const program of ['liveness-probe', registrarName] as const) {
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
      await deployAll(ctx, {
        socketMode: 0o777,
        values: {
          driver: { controller: { runAsRoot: false } },
          controller: { podSecurityContext: { runAsUser: 1_000_650_000 } },
        },
      });
      const { spec } = (await findPod(ctx, 'controller'))!;
      assert.equal(spec?.securityContext?.runAsNonRoot, true);
      await aPodWrites(ctx);
    },
  },
];

async function aPodWrites(ctx: ScenarioContext): Promise<void> {
  await createClaim(ctx, await createClass(ctx));
  await startUser(ctx, { name: 'writer', volume: claimed('claim'), script: writes('/data/file') });
  await untilSaid(ctx, 'writer', 'sum');
  await endPod(ctx, 'writer');
}

interface SmallStart {
  readonly program: ProgramPod['container'];
  readonly memory: string;
  readonly cache: 'cold' | 'warm';
}

/** Milliseconds since kubelet reports the container as started, whose clock has seconds: up to one too many. */
async function healthyAfter(
  ctx: ScenarioContext,
  deployment: Deployment,
  { program, memory, cache }: SmallStart,
): Promise<number> {
  const { clock } = ctx.testRun;
  const { livenessProbe, nodeDriverRegistrar } = await freePorts(['livenessProbe', 'nodeDriverRegistrar']);
  const port = program === 'liveness-probe' ? livenessProbe : nodeDriverRegistrar;
  const small = { resources: { limits: { memory } } };
  const pod = await programPod(ctx, deployment, {
    name: 'small',
    container: program,
    values: {
      sidecars: { livenessProbe: small, nodeDriverRegistrar: small },
      ports: { node: { livenessProbe, nodeDriverRegistrar } },
    },
  });
  if (cache === 'cold') deployment.node.forgetImages();
  await startPod(ctx, pod);
  await ctx.eventually(`${program} in ${memory} is healthy`, () => isHealthy(port), 300_000);
  const healthyMs = clock.nowMs();
  const started: Pod = await untilReady(ctx, 'small');
  const { state, restartCount } = containerOf(started, program);
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
