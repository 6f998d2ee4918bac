// SPDX-License-Identifier: Apache-2.0
/** L-01 to L-03: thousands of objects. They take minutes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { persistentVolumeClaims, persistentVolumes, volumeAttachments } from '@csi-sidecars/runtime';
import { createCalls, deletedIds, publishCalls } from '../../driver/calls.ts';
import { memoryOf } from '../../processes/memory.ts';
import type { SupervisedProcess } from '../../processes/supervised-process.ts';
import { attachAll, detachAll, openFleet, releaseAll } from '../attacher/fleet.ts';
import { attachmentsOf } from '../attacher/steps.ts';
import { createNamedClaims } from '../availability/claims.ts';
import type { ScenarioContext } from '../context.ts';
import { aVolume } from '../objects.ts';
import { ownRequests } from '../own-requests.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';

const patienceMs = 600_000;
const fast = ['--kube-api-qps=200', '--kube-api-burst=400'];
/** The volume object, two events, the release of its finalizer, the deletion, and one to spare. */
const requestsPerClaim = 6;
/** In one request or so at a time, so that the client of the suite is not what is measured. */
const atOnce = 50;

export const scale: readonly Scenario[] = [
  {
    id: 'L-01',
    title:
      '1,000 claims (100 without --full) made, bound and deleted, three times: the last time needs no more memory than the one before',
    needs: ['time', 'driver-journal', 'audit'],
    exclusive: ['api-server'],
    run: async (ctx) => {
      const claims = ctx.many(1_000);
      const driver = await ctx.startDriver();
      const provisioner = await ctx.startProvisioner({ args: fast });
      const className = await createClass(ctx);
      const anonymousKiB: number[] = [];
      for (const round of ['one', 'two', 'three']) {
        const names = Array.from({ length: claims }, (_, index) => `${round}-${index}`);
        await createNamedClaims(ctx, className, names);
        await untilClaims(ctx, 'bound', (phases) => phases.length === claims && phases.every((it) => it === 'Bound'));
        await inParts(claims, (index) => ctx.remove(persistentVolumeClaims, names[index]!));
        await untilClaims(ctx, 'gone', (phases) => phases.length === 0);
        await ctx.eventually(
          'the storage is empty',
          async () => (await driver.control.volumes()).length === 0,
          patienceMs,
        );
        anonymousKiB.push(memoryOf(provisioner.pid ?? 0)?.anonymousKiB ?? 0);
      }
      ctx.note(`anonymous memory after each round: ${anonymousKiB.join(', ')} KiB`);
      const [, second = 0, third = 0] = anonymousKiB;
      assert.ok(third <= second * 1.1, `${second} KiB after the second round, ${third} KiB after the third`);
      assert.equal((await createCalls(driver)).length, 3 * claims);
      assert.equal((await deletedIds(driver)).length, 3 * claims);
      const steady = ownRequests(ctx).filter(({ verb }) => verb !== 'list' && verb !== 'watch');
      assert.ok(steady.length <= 3 * claims * requestsPerClaim, `${steady.length} requests`);
      ctx.note(`${(steady.length / (3 * claims)).toFixed(2)} requests for each claim`);
    },
  },
  {
    id: 'L-02',
    title:
      "10,000 volumes of another driver (1,000 without --full) beside a driver's own: an idle sidecar uses less than 1 % of a core",
    needs: ['time', 'driver-journal'],
    exclusive: ['api-server'],
    run: async (ctx) => {
      const { clock } = ctx.testRun;
      const volumes = ctx.many(10_000);
      const foreign = (index: number): string => ctx.nameOf(`foreign-${index}`);
      await inParts(volumes, async (index) => {
        const csi = { driver: 'foreign.example.com', volumeHandle: foreign(index) };
        await ctx.api.create(persistentVolumes, aVolume(foreign(index), csi));
      });
      ctx.cleanUp.defer(() => inParts(volumes, (index) => ctx.remove(persistentVolumes, foreign(index))));
      await ctx.startDriver();
      const sidecars = [await ctx.startProvisioner(), await ctx.startAttacher(), await ctx.startResizer()];
      await createClaim(ctx, await createClass(ctx));
      await untilBound(ctx, 'claim', 60_000);
      await clock.sleep(10_000, ctx.signal);
      const before = sidecars.map(cpuMsOf);
      const idleMs = 60_000;
      await clock.sleep(idleMs, ctx.signal);
      for (const [index, sidecar] of sidecars.entries()) {
        const percent = (100 * (cpuMsOf(sidecar) - (before[index] ?? 0))) / idleMs;
        const { anonymousKiB } = memoryOf(sidecar.pid ?? 0) ?? {};
        ctx.note(`${sidecar.name}: ${percent.toFixed(2)} % of a core, ${anonymousKiB} KiB`);
        assert.ok(percent < 1, `${sidecar.name} uses ${percent.toFixed(2)} % of a core`);
      }
    },
  },
  {
    id: 'L-03',
    title:
      '5,000 attachments (500 without --full), and csi-attacher starts again: it is ready within 60 s, and publishes none of them again',
    needs: ['time', 'driver-journal', 'driver-settings'],
    exclusive: ['cores'],
    restarts: true,
    run: async (ctx) => {
      const { clock } = ctx.testRun;
      const fleet = await openFleet(ctx, { nodes: 5, volumes: ctx.many(5_000) });
      const attacher = await ctx.startAttacher({ args: [...fast, '--worker-threads=50', '--reconcile-sync=10m'] });
      await attachAll(ctx, fleet);
      const known = (await publishCalls(fleet.driver)).length;
      await attacher.destroy();
      const [removed] = await attachmentsOf(ctx);
      await ctx.api.delete(volumeAttachments, { name: removed?.metadata?.name ?? '' });

      const startedMs = clock.monotonicMs();
      await attacher.start();
      await ctx.eventually(
        'an attachment that was deleted meanwhile is gone',
        async () => (await attachmentsOf(ctx)).every(({ metadata }) => metadata?.uid !== removed?.metadata?.uid),
        60_000,
      );
      ctx.note(`ready after ${Math.round(clock.monotonicMs() - startedMs)} ms`);
      await ctx.consistently({
        forMs: 10_000,
        check: async () => assert.equal((await publishCalls(fleet.driver)).length, known),
      });
      await detachAll(ctx);
      await releaseAll(ctx, fleet);
    },
  },
];

async function untilClaims(
  ctx: ScenarioContext,
  what: string,
  check: (phases: readonly string[]) => boolean,
): Promise<void> {
  await ctx.eventually(
    `all claims are ${what}`,
    async () => {
      const { items } = await ctx.api.list(persistentVolumeClaims, { namespace: ctx.namespace });
      return check(items.map(({ status }) => status?.phase ?? ''));
    },
    patienceMs,
  );
}

async function inParts(count: number, work: (index: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < count; from += atOnce) {
    await Promise.all(Array.from({ length: Math.min(atOnce, count - from) }, (_, index) => work(from + index)));
  }
}

/** User and system time, in hundredths of a second as the kernel counts them. */
function cpuMsOf({ pid }: SupervisedProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
}
