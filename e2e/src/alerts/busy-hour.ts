// SPDX-License-Identifier: Apache-2.0
/** The hour of the picture: steady work, and some trouble that passes. */
import { type PersistentVolume, persistentVolumeClaims, storageClasses } from '@csi-sidecars/runtime';
import { createNamedClaims } from '../scenarios/availability/claims.ts';
import type { ScenarioContext } from '../scenarios/context.ts';
import { createClass } from '../scenarios/provisioner/steps.ts';
import { createSnapshotClass, installDefinitions } from '../scenarios/snapshots/steps.ts';
import {
  attachable,
  capacityClass,
  election,
  lifeOfVolume,
  otherSidecars,
  publishing,
  repeatedly,
  type Situation,
  startDriverWithCapacity,
  startReplicas,
  stretch,
  troubleAt,
  intervalSeconds,
} from './situations.ts';
import { type Stage, untilLed } from './stage.ts';

/** A minute of the hour, as it is recorded. */
const minuteMs = 60_000 / stretch;
/** A Lease that is not released is taken over after three minutes of the hour. */
const shortTerms = [
  '--leader-election-lease-duration=3s',
  '--leader-election-renew-deadline=2s',
  '--leader-election-retry-period=500ms',
];
const users = 3;
/** The containers of the pod that is lost for some minutes: those of the controller. */
const restarted: readonly string[] = ['csi-provisioner', ...otherSidecars];

export const busyHour: Situation = {
  id: 'busy-hour',
  title:
    'volumes and snapshots come and go; the driver is slow, then its backend fails; the leading pod is lost; many claims come at once',
  fires: [],
  prepare: async (stage) => {
    const { ctx, start } = stage;
    await installDefinitions(ctx);
    await startDriverWithCapacity(ctx, { settings: { capabilities: attachable }, csiDriver: { attachRequired: true } });
    const { args = [], env = {} } = publishing(ctx);
    await startReplicas(stage, [0, 1], { args: [...args, ...shortTerms, '--worker-threads=20'], env });
    await start('snapshot-controller', { args: election(ctx) });
    for (const name of otherSidecars) {
      for (const pod of [0, 1]) {
        const replica = `controller-${pod}`;
        await start(name, { pod, replica, args: ['--retry-interval-start=100ms', ...election(ctx), ...shortTerms] });
      }
    }
    for (const name of ['csi-provisioner', ...otherSidecars]) await untilLed(stage, name);
    await stage.startLivenessprobe();
    await createClass(ctx, { allowVolumeExpansion: true, parameters: { kind: 'ssd' } });
    await createClass(ctx, capacityClass, 'late');
    await createSnapshotClass(ctx);
  },
  work: async (stage, signal) => {
    const { ctx } = stage;
    const lives = Array.from({ length: users }, async (_, user) => {
      await repeatedly(signal, async (round) => {
        await lifeOfVolume(ctx, {
          name: `claim-${user}-${round}`,
          className: ctx.nameOf('class'),
          nodeOf: zoneOf,
        });
        await ctx.testRun.clock.sleep(minuteMs, signal);
      });
    });
    await Promise.all([...lives, troubles(stage, signal)]);
  },
};

/** The only node of a zone is called as the zone is. */
function zoneOf({ spec }: PersistentVolume): string {
  const [term] = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  return term?.matchExpressions?.[0]?.values?.[0] ?? '';
}

async function troubles({ ctx, watched }: Stage, signal: AbortSignal): Promise<void> {
  const { clock } = ctx.testRun;
  const { control } = ctx.driver;
  const startMs = clock.monotonicMs() - ((troubleAt * intervalSeconds) / 60) * minuteMs;
  const untilMinute = async (minute: number): Promise<void> =>
    await clock.sleep(Math.max(0, startMs + minute * minuteMs - clock.monotonicMs()), signal);
  await untilMinute(10);
  await control.addFault({ method: 'CreateVolume', action: { kind: 'delay', ms: 400 } });
  await control.addFault({ method: 'CreateSnapshot', action: { kind: 'delay', ms: 250 } });
  await untilMinute(18);
  await control.clearFaults();
  await createClass(ctx, capacityClass, 'later');
  await untilMinute(24);
  const failure = { kind: 'fail', code: 'Unavailable', message: 'the backend does not answer' } as const;
  const failing = ['CreateVolume', 'DeleteVolume', 'ControllerPublishVolume', 'CreateSnapshot'];
  for (const method of failing) await control.addFault({ method, action: failure });
  await untilMinute(30);
  await control.clearFaults();
  await untilMinute(38);
  const lost = watched.filter(({ container, pod }) => pod === 0 && restarted.includes(container));
  await Promise.all(lost.map(async ({ process }) => await process.destroy()));
  await untilMinute(42);
  await Promise.all(lost.map(async ({ process }) => await process.start()));
  await ctx.remove(storageClasses, ctx.nameOf('later'));
  await untilMinute(46);
  await burst(ctx);
}

/** Claims that all come at once, and go when they are old. */
async function burst(ctx: ScenarioContext): Promise<void> {
  await ctx.driver.control.addFault({ method: 'CreateVolume', action: { kind: 'delay', ms: 500 } });
  const names = Array.from({ length: 400 }, (_, index) => `burst-${index}`);
  await createNamedClaims(ctx, ctx.nameOf('class'), names);
  await ctx.testRun.clock.sleep(5 * minuteMs, ctx.signal);
  for (const name of names) await ctx.api.delete(persistentVolumeClaims, { namespace: ctx.namespace, name });
}
