// SPDX-License-Identifier: Apache-2.0
/** S-21: many snapshots at once, and what each of them costs the API server. */
import assert from 'node:assert/strict';
import { volumeSnapshots } from '@csi-sidecars/volume';
import { rightOf, tally } from '../../audit/analyse.ts';
import type { ScenarioContext } from '../context.ts';
import { ownRequests } from '../own-requests.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotCalls,
  createSnapshotClass,
  deleteSnapshot,
  deleteSnapshotCalls,
  readyToSnapshot,
  untilNoSnapshots,
} from './steps.ts';

const unthrottled = ['--kube-api-qps=500', '--kube-api-burst=1000'];
type Program = 'csi-snapshotter' | 'snapshot-controller';

/** Requests for each snapshot, events included; upstream: 4.0 and 13.4, and 3.0 and 7.9 for its deletion. */
const limits: Readonly<Record<'taken' | 'deleted', Readonly<Record<Program, number>>>> = {
  taken: { 'csi-snapshotter': 3, 'snapshot-controller': 9 },
  deleted: { 'csi-snapshotter': 2, 'snapshot-controller': 4 },
};

export const snapshotLoad: readonly Scenario[] = [
  {
    id: 'S-21',
    title:
      'a hundred snapshots (a tenth without --full) of one claim: at most 3 and 9 requests each, 2 and 4 for the deletion; one call each',
    needs: ['streaming-lists', 'audit', 'driver-journal', 'driver-settings'],
    exclusive: ['snapshot-controller'],
    upstream: 'needs more requests',
    run: async (ctx) => {
      await readyToSnapshot(ctx, { snapshotterArgs: unthrottled, controllerArgs: unthrottled });
      const volumeSnapshotClassName = await createSnapshotClass(ctx);
      const names = Array.from({ length: ctx.many(100) }, (_, at) => `snap-${at}`);
      const atStart = counts(ctx);
      await Promise.all(names.map((name) => createSnapshot(ctx, { name, volumeSnapshotClassName })));
      await ctx.eventually(
        'all snapshots are ready',
        async () => {
          const { items } = await ctx.api.list(volumeSnapshots, { namespace: ctx.namespace });
          return items.length === names.length && items.every(({ status }) => status?.readyToUse === true);
        },
        120_000,
      );
      const taken = await settled(ctx);
      await Promise.all(names.map((name) => deleteSnapshot(ctx, name)));
      await untilNoSnapshots(ctx);
      const deleted = await settled(ctx);
      // Not before the end, so that a program that needs more requests leaves no snapshots to the scenarios that follow.
      assertCosts(ctx, { what: 'taken', from: atStart, to: taken, count: names.length });
      assertCosts(ctx, { what: 'deleted', from: taken, to: deleted, count: names.length });
      assert.equal((await createSnapshotCalls(ctx)).length, names.length);
      assert.equal((await deleteSnapshotCalls(ctx)).length, names.length);
      const refused = ownRequests(ctx).filter(({ code, user }) => code >= 400 && isOfSnapshots(user));
      assert.deepEqual(
        refused.map((request) => `${rightOf(request)} -> ${request.code}`),
        [],
      );
    },
  },
];

type Counts = Readonly<Record<Program, ReadonlyMap<string, number>>>;

const isOfSnapshots = (user: string): boolean =>
  user.endsWith(':csi-snapshotter') || user.endsWith(':snapshot-controller');

/** Requests by what they do; lists, watches and leases do not grow with snapshots. */
function counts(ctx: ScenarioContext): Counts {
  const of = (program: Program): ReadonlyMap<string, number> =>
    tally(
      ownRequests(ctx).filter(
        ({ user, verb, resource }) =>
          user.endsWith(`:${program}`) && !['list', 'watch'].includes(verb) && !['leases', ''].includes(resource),
      ),
      rightOf,
    );
  return { 'csi-snapshotter': of('csi-snapshotter'), 'snapshot-controller': of('snapshot-controller') };
}

const total = (tallied: ReadonlyMap<string, number>): number => [...tallied.values()].reduce((sum, n) => sum + n, 0);

/** Events are sent in the background: the numbers count when they no longer change. */
async function settled(ctx: ScenarioContext): Promise<Counts> {
  let known = counts(ctx);
  await ctx.eventually('no further request is made', async () => {
    await ctx.testRun.clock.sleep(1_000, ctx.signal);
    const before = known;
    known = counts(ctx);
    return Object.keys(limits.taken).every((name) => total(known[name as Program]) === total(before[name as Program]));
  });
  return known;
}

interface Cost {
  readonly what: keyof typeof limits;
  readonly from: Counts;
  readonly to: Counts;
  readonly count: number;
}

function assertCosts(ctx: ScenarioContext, { what, from, to, count }: Cost): void {
  for (const program of Object.keys(limits[what]) as Program[]) {
    const spent = [...to[program]].map(([right, n]) => [right, (n - (from[program].get(right) ?? 0)) / count] as const);
    const each = spent.reduce((sum, [, n]) => sum + n, 0);
    const parts = spent.filter(([, n]) => n > 0).map(([right, n]) => `${n.toFixed(2)} ${right}`);
    const text = `${program}, ${what}: ${each.toFixed(2)} requests each (${parts.join(', ')})`;
    ctx.note(text);
    assert.ok(each <= limits[what][program], `${text}, at most ${limits[what][program]}`);
  }
}
