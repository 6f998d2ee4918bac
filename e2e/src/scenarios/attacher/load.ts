// SPDX-License-Identifier: Apache-2.0
/** many attachments at once, how long they take, and what each of them costs the API server. */
import assert from 'node:assert/strict';
import { rightOf, tally } from '../../audit/analyse.ts';
import { publishCalls, unpublishCalls, type PublishCall } from '../../driver/calls.ts';
import { ownRequests } from '../own-requests.ts';
import type { Scenario } from '../scenario.ts';
import { attachAll, createAttachments, detachAll, openFleet, releaseAll, untilAllAttached } from './fleet.ts';

const attachments = 200;
const workers = 10;
const latencyMs = 200;
/** The time that a single worker would take. */
const serialMs = attachments * latencyMs;
const idealMs = serialMs / workers;

const measured = 60;
/** The most requests that one volume may cost over its life, as in the title of A-17. */
const budget: Readonly<Record<string, number>> = {
  'patch persistentvolumes': 2,
  'patch volumeattachments.storage.k8s.io': 2,
  'patch volumeattachments/status.storage.k8s.io': 1,
};

/** The largest number of calls that were in flight at the same time. */
function mostAtOnce(calls: readonly PublishCall[]): number {
  const isOpenAt = (atMs: number) => (call: PublishCall) =>
    call.beganAtMs <= atMs && atMs < (call.endedAtMs ?? Infinity);
  return Math.max(...calls.map(({ beganAtMs }) => calls.filter(isOpenAt(beganAtMs)).length));
}

export const load: readonly Scenario[] = [
  {
    id: 'A-13',
    title: `${attachments} attachments on 5 nodes, ${latencyMs} ms each: the workers are busy, no volume is published twice, no write conflicts`,
    upstream: 'publishes a second time when its cache is behind its own writes',
    needs: ['driver-faults', 'driver-journal', 'driver-settings', 'audit'],
    exclusive: ['cores'],
    run: async (ctx) => {
      const fleet = await openFleet(ctx, { nodes: 5, volumes: attachments });
      const { driver } = fleet;
      await driver.control.addFault({
        method: 'ControllerPublishVolume',
        at: 'during',
        action: { kind: 'delay', ms: latencyMs },
      });
      // Created before csi-attacher starts, so that its workers never wait for work.
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
      // A count shows whether the workers wait for each other; the time depends on what else this machine does. The count would be 1
      // if each waited for the one before, and half of the workers if every second one waited.
      assert.equal(mostAtOnce(calls), workers, 'all workers are in a call at the same time');
      const limitMs = serialMs * ctx.testRun.timeFactor;
      assert.ok(
        tookMs < limitMs,
        `${attachments} attachments took ${tookMs} ms, as long as a single worker would take`,
      );
      await detachAll(ctx);
      assert.equal((await unpublishCalls(driver)).length, attachments);
      await releaseAll(ctx, fleet);
    },
  },
  {
    id: 'A-17',
    title:
      'an attachment costs at most three requests, a detachment one, the release of a volume one, and no request fails',
    upstream: 'sends more requests, and some of them can only fail',
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
