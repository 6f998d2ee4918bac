// SPDX-License-Identifier: Apache-2.0
/** many claims at once, and what each of them costs the API server. */
import assert from 'node:assert/strict';
import { persistentVolumeClaims, type PersistentVolumeClaim, persistentVolumes } from '@csi-sidecars/runtime';
import { rightOf, tally } from '../../audit/analyse.ts';
import type { AnnouncedDriverOptions, ScenarioContext } from '../context.ts';
import { ownRequests } from '../own-requests.ts';
import { createClaim, createClass, eventsOf } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  ask,
  expandCalls,
  makeClass,
  modifyCalls,
  plainDriver,
  resizeStatus,
  untilEachClaim,
  untilSize,
  wantClass,
  withoutNode,
} from './steps.ts';

const needs = ['driver-journal', 'driver-settings'] as const;
const unthrottled = ['--kube-api-qps=500', '--kube-api-burst=1000'];
/** Up to here no event is dropped. */
const eventsAreWhole = 100;

export const load: readonly Scenario[] = [
  {
    id: 'R-13',
    title:
      'a hundred claims (a tenth without --full) grow at once without a node: one call and three writes each, no conflict, no event of a failure',
    upstream: 'its own writes conflict, so that there are more of them, and sometimes events and calls',
    needs,
    run: async (ctx) => {
      const names = await boundClaims(ctx, 100, withoutNode);
      await Promise.all(names.map((name) => ask(ctx, '2Gi', name)));

      for (const name of names) await untilSize(ctx, '2Gi', name);
      assertOneCallEach(await expandCalls(ctx), names.length);
      assert.deepEqual(await eventsOf(ctx, 'VolumeResizeFailed'), []);
      if (!ctx.testRun.has.has('audit')) return;
      await untilSpent(ctx, 'expansion', {
        'patch persistentvolumeclaims/status': 2 * names.length,
        'patch persistentvolumes': names.length,
        'create events': 2 * names.length,
      });
      assertNoneRefused(ctx);
    },
  },
  {
    id: 'R-16',
    title:
      'a thousand claims (a tenth without --full) grow and get another class: three writes and two events each time, one write more after the node, no conflict',
    upstream: 'its own writes conflict, so that there are more of them',
    needs: ['attributes-classes', 'expansion-recovery', ...needs, 'audit'],
    exclusive: ['cores'],
    run: async (ctx) => {
      const names = await boundClaims(ctx, 1_000, plainDriver);
      await Promise.all(names.map((name) => ask(ctx, '2Gi', name)));
      await untilEachClaim(ctx, 'waits for its node', ({ status }) => resizeStatus(status) === 'NodeResizePending');
      await untilSpent(ctx, 'expansion', {
        'patch persistentvolumeclaims/status': 2 * names.length,
        'patch persistentvolumes': names.length,
        'create events': 2 * names.length,
      });

      await Promise.all(names.map((name) => finishOnNode(ctx, name)));
      await untilSpent(ctx, 'end of an expansion', {
        'patch persistentvolumeclaims/status': 2 * names.length,
        'patch persistentvolumes': 2 * names.length,
        'create events': 2 * names.length,
      });
      const { items } = await ctx.api.list(persistentVolumes);
      const recorded = items.filter(({ metadata, spec }) => {
        const size = metadata?.annotations?.['volume.alpha.kubernetes.io/pre-resize-capacity'];
        return spec?.csi?.driver === ctx.driverName && size !== undefined;
      });
      assert.deepEqual(recorded, []);

      const gold = await makeClass(ctx, 'gold', { tier: 'gold' });
      await Promise.all(names.map((name) => wantClass(ctx, gold, name)));
      await untilEachClaim(ctx, `has ${gold}`, ({ status }) => {
        return status?.currentVolumeAttributesClassName === gold && status.modifyVolumeStatus === undefined;
      });
      await untilSpent(ctx, 'modification', {
        'patch persistentvolumeclaims/status': 4 * names.length,
        'patch persistentvolumes': 3 * names.length,
        'create events': 4 * names.length,
      });
      assertOneCallEach(await expandCalls(ctx), names.length);
      assertOneCallEach(await modifyCalls(ctx), names.length);
      assertNoneRefused(ctx);
    },
  },
];

async function boundClaims(
  ctx: ScenarioContext,
  full: number,
  driver: AnnouncedDriverOptions,
): Promise<readonly string[]> {
  await ctx.startDriver(driver);
  await ctx.startProvisioner({ args: unthrottled });
  // Many workers at once are what makes writes meet caches that are behind.
  await ctx.startResizer({ args: ['--workers=100', ...unthrottled] });
  const storageClass = await createClass(ctx, { allowVolumeExpansion: true });
  const names = Array.from({ length: ctx.many(full) }, (_, index) => `claim-${index}`);
  await Promise.all(names.map((name) => createClaim(ctx, storageClass, { name })));
  await untilEachClaim(ctx, 'is bound', ({ status }) => status?.phase === 'Bound');
  // A write of others in the middle of ours would be a conflict, and more requests.
  if (ctx.testRun.has.has('claim-use')) {
    const isSaid = ({ status }: PersistentVolumeClaim): boolean =>
      status?.conditions?.some(({ type }) => type === 'Unused') === true;
    await untilEachClaim(ctx, 'says whether pods use it', isSaid);
  }
  return names;
}

/** What kubelet writes when the file system has grown. Conditions of others stay, or their writers would write again, in the middle of ours. */
async function finishOnNode({ api, namespace }: ScenarioContext, name: string): Promise<void> {
  const conditions = [{ type: 'FileSystemResizePending', $patch: 'delete' }];
  const status = { capacity: { storage: '2Gi' }, allocatedResourceStatuses: null, conditions };
  const target = { resource: persistentVolumeClaims, ref: { namespace, name } };
  await api.patch(target, { type: 'strategic', body: { status } }, { subresource: 'status' });
}

function assertOneCallEach(
  calls: readonly { readonly request: { readonly volume_id: string } }[],
  count: number,
): void {
  assert.equal(calls.length, count);
  assert.equal(new Set(calls.map(({ request }) => request.volume_id)).size, count);
}

function assertNoneRefused(ctx: ScenarioContext): void {
  assert.deepEqual(
    writes(ctx).filter(({ code }) => code >= 400),
    [],
  );
}

function writes(ctx: ScenarioContext) {
  return ownRequests(ctx).filter(({ user, verb, resource }) => {
    return user.endsWith(':csi-resizer') && !['list', 'watch'].includes(verb) && !['leases', ''].includes(resource);
  });
}

/** Events are sent in the background; everything else is done when the claims show it. */
async function untilSpent(ctx: ScenarioContext, what: string, budget: Readonly<Record<string, number>>): Promise<void> {
  const { 'create events': events = 0, ...rest } = budget;
  const spent = (): Readonly<Record<string, number>> => Object.fromEntries(tally(writes(ctx), rightOf));
  const mayDrop = events > 4 * eventsAreWhole;
  await ctx
    .eventually(`the requests of each ${what}`, () => {
      const { 'create events': recorded = 0, ...others } = spent();
      const isWhole = mayDrop ? recorded <= events : recorded === events;
      return isWhole && Object.entries(rest).every(([right, count]) => others[right] === count);
    })
    .catch((cause: unknown) => {
      throw new Error(`requests of each ${what}: ${JSON.stringify(spent())} instead of ${JSON.stringify(budget)}`, {
        cause,
      });
    });
  assert.deepEqual(Object.keys(spent()).toSorted(), Object.keys(budget).toSorted());
}
