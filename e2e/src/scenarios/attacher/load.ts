// SPDX-License-Identifier: Apache-2.0
/** many attachments at once: how long they take, and what each of them costs the API server. */
import assert from 'node:assert/strict';
import { rightOf, tally } from '../../audit/analyse.ts';
import { publishCalls, unpublishCalls, type PublishCall } from '../../driver/calls.ts';
import { ownRequests } from '../own-requests.ts';
import type { Scenario } from '../scenario.ts';
import { attachAll, createAttachments, detachAll, openFleet, releaseAll, untilAllAttached } from './fleet.ts';

const attachments = 200;
const workers = 10;
const latencyMs = 200;
/** By one worker alone. */
const serialMs = attachments * latencyMs;
const idealMs = serialMs / workers;

const measured = 60;
/** The most that a volume may cost in its life: see the title. */
const budget: Readonly<Record<string, number>> = {
  'patch persistentvolumes': 2,
  'patch volumeattachments.storage.k8s.io': 2,
  'patch volumeattachments/status.storage.k8s.io': 1,
};

/** How many calls were under way at once, at the most. */
function mostAtOnce(calls: readonly PublishCall[]): number {
  const isOpenAt = (atMs: number) => (call: PublishCall) =>
    call.beganAtMs <= atMs && atMs < (call.endedAtMs ?? Infinity);
  return Math.max(...calls.map(({ beganAtMs }) => calls.filter(isOpenAt(beganAtMs)).length));
}

export const load: readonly Scenario[] = [
  {
    id: 'A-13',
    title: `${attachments} attachments on 5 nodes, ${latencyMs} ms each: the workers are busy, nothing is asked twice, nothing conflicts`,
    upstream: 'publishes a second time when its cache is behind its own writes',
    needs: ['driver-faults', 'driver-journal', 'driver-settings', 'audit'],
    serial: true,
    run: async (ctx) => {
      const fleet = await openFleet(ctx, { nodes: 5, volumes: attachments });
      const { driver } = fleet;
      await driver.control.addFault({
        method: 'ControllerPublishVolume',
        at: 'during',
        action: { kind: 'delay', ms: latencyMs },
      });
      // Before csi-attacher starts, so that work waits for its workers and not they for work.
      await createAttachments(ctx, fleet, fleet.volumes);
      await ctx.startAttacher({ args: [`--worker-threads=${workers}`, '--kube-api-qps=500', '--kube-api-burst=1000'] });
      await untilAllAttached(ctx, attachments);

      const calls = await publishCalls(driver);
      assert.equal(calls.length, attachments);
      assert.equal(new Set(calls.map(({ request }) => request.volume_id)).size, attachments);
      assert.deepEqual(
        ownRequests(ctx).filter(({ code }) => code === 409),
        [],
      );
      const tookMs = Math.max(...calls.map(({ endedAtMs = 0 }) => endedAtMs)) - (calls[0]?.beganAtMs ?? 0);
      ctx.note(`${tookMs} ms from the first call to the last answer; ${idealMs} ms if the workers never wait`);
      // A count, as time says more about what else this machine does: 1 if the workers waited for each other, half if every
      // other was left out.
      assert.equal(mostAtOnce(calls), workers, 'all workers are in a call at the same time');
      const limitMs = serialMs * ctx.world.timeFactor;
      assert.ok(tookMs < limitMs, `${attachments} attachments took ${tookMs} ms, as long as by one worker`);
      await detachAll(ctx);
      assert.equal((await unpublishCalls(driver)).length, attachments);
      await releaseAll(ctx, fleet);
    },
  },
  {
    id: 'A-17',
    title:
      'an attachment costs at most three requests, a detachment one, the release of a volume one, and none of them fails',
    upstream: 'asks for more, and some of it can only fail',
    needs: ['driver-journal', 'driver-settings', 'audit'],
    run: async (ctx) => {
      const fleet = await openFleet(ctx, { nodes: 2, volumes: measured });
      await ctx.startAttacher({ args: ['--kube-api-qps=200', '--kube-api-burst=400'] });
      await attachAll(ctx, fleet);
      await detachAll(ctx);
      await releaseAll(ctx, fleet);

      const requests = ownRequests(ctx).filter(({ verb, resource }) => {
        return !['list', 'watch'].includes(verb) && !['secrets', 'leases', ''].includes(resource);
      });
      const spent = tally(requests, rightOf);
      const over = [...spent].filter(([right, count]) => count > (budget[right] ?? 0) * measured);
      assert.deepEqual(over, [], `for ${measured} volumes: ${JSON.stringify(Object.fromEntries(spent))}`);
      assert.deepEqual(
        requests.filter(({ code }) => code >= 400),
        [],
      );
    },
  },
];
