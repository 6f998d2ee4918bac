// SPDX-License-Identifier: Apache-2.0
/**
 * Z-04: our Lease shared with client-go. The other candidate is kube-scheduler, which elects its leader with client-go's
 * own code; for the Lease it does not matter that it does other work.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { leases } from '@csi-sidecars/runtime';
import { startProcess, type ChildProcess } from '../../processes/child-process.ts';
import { leaseNameOf } from '../../rbac/profiles.ts';
import { ensureTools } from '../../tools/ensure-tools.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { subjects } from '../sidecars.ts';
import { holderOf, leaseMs, renewMs, retryMs, startReplica, takeOverMs } from './replicas.ts';

const program = 'csi-provisioner';
const ourName = 'replica-a';
/** Both sides release the Lease when they are stopped. */
const releaseMs = 2.2 * retryMs + 2000;

export const clientGo: readonly Scenario[] = [
  {
    id: 'Z-04',
    title: 'the Lease passes from ours to client-go and back, released and expired',
    needs: ['controller-manager', 'scheduler', 'host-names'],
    shared: ['cores'],
    restarts: true,
    run: async (ctx) => {
      await ctx.startDriver();
      const className = await createClass(ctx);
      let ours = await startReplica(ctx, { name: ourName });
      await untilHeld(ctx, { by: 'ours' });
      await claimIsBound(ctx, className, 'first');

      let theirs = await startScheduler(ctx);
      await stays(ctx, 'ours');

      await ours.stop();
      await untilHeld(ctx, { by: 'theirs', timeoutMs: releaseMs });

      ours = await startReplica(ctx, { name: ourName });
      await stays(ctx, 'theirs');
      await theirs.stop();
      await untilHeld(ctx, { by: 'ours', timeoutMs: releaseMs });
      await claimIsBound(ctx, className, 'second');

      theirs = await startScheduler(ctx);
      await stays(ctx, 'ours');
      await ours.destroy();
      await untilHeld(ctx, { by: 'theirs', timeoutMs: takeOverMs });

      ours = await startReplica(ctx, { name: ourName });
      await stays(ctx, 'theirs');
      theirs.signal('SIGKILL');
      await untilHeld(ctx, { by: 'ours', timeoutMs: takeOverMs });
      await claimIsBound(ctx, className, 'third');

      const { items } = await ctx.api.list(leases, { namespace: ctx.namespace });
      assert.deepEqual(
        items.map(({ spec }) => spec?.leaseTransitions),
        [4],
      );
    },
  },
];

type Side = 'ours' | 'theirs';

async function sideOf(ctx: ScenarioContext): Promise<Side | undefined> {
  const holder = await holderOf(ctx, program);
  if (holder === '') return undefined;
  return holder === ourName ? 'ours' : 'theirs';
}

async function untilHeld(
  ctx: ScenarioContext,
  { by, timeoutMs }: { readonly by: Side; readonly timeoutMs?: number },
): Promise<void> {
  await ctx.eventually(`the Lease is ${by}`, async () => (await sideOf(ctx)) === by, timeoutMs);
}

/** Long enough for two attempts of the other candidate. */
async function stays(ctx: ScenarioContext, side: Side): Promise<void> {
  await ctx.consistently({
    forMs: 2.5 * retryMs,
    check: async () => assert.equal(await sideOf(ctx), side),
  });
}

async function claimIsBound(ctx: ScenarioContext, className: string, name: string): Promise<void> {
  await createClaim(ctx, className, { name });
  await untilBound(ctx, name);
}

/** It schedules no pod: none names it as its scheduler. */
async function startScheduler(ctx: ScenarioContext): Promise<ChildProcess> {
  const { clock, controlPlane } = ctx.testRun;
  const tools = await ensureTools(['kube-scheduler'], { clock });
  const config = join(ctx.scratch, 'kube-scheduler.json');
  writeFileSync(
    config,
    JSON.stringify({
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      clientConnection: { kubeconfig: controlPlane.adminKubeconfig },
      leaderElection: {
        leaderElect: true,
        resourceNamespace: ctx.namespace,
        resourceName: leaseNameOf(subjects[program], ctx.driverName),
        leaseDuration: `${leaseMs}ms`,
        renewDeadline: `${renewMs}ms`,
        retryPeriod: `${retryMs}ms`,
      },
      profiles: [{ schedulerName: ctx.namespace }],
    }),
  );
  const scheduler = await startProcess(
    {
      name: 'kube-scheduler',
      command: tools['kube-scheduler'],
      args: [`--config=${config}`, '--secure-port=0'],
      logFile: `${ctx.folder}/kube-scheduler.log`,
    },
    clock,
  );
  ctx.cleanUp.defer(async () => void (await scheduler.stop()));
  return scheduler;
}
