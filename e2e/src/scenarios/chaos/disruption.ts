// SPDX-License-Identifier: Apache-2.0
/**
 * Kills processes while work is done: each planned kill happens during a part of the work, while the driver is slow. A kill that should hit
 * a call waits until so many calls of its part have begun and one of them is in progress: a time after the start would come too late on a
 * machine that is fast enough. Kills of the API server, and of a program that makes no calls, disturb requests at any moment. The calls
 * that were hit are counted afterwards.
 */
import assert from 'node:assert/strict';
import type { RecordedCall } from '@csi-sidecars/test-driver';
import type { ControllerName } from '../../processes/program.ts';
import type { SupervisedProcess } from '../../processes/supervised-process.ts';
import type { ScenarioContext } from '../context.ts';
import { callsHit, type Kill, type PlannedKill, type Victim } from './kills.ts';

export interface DisruptionOptions {
  readonly sidecars: Readonly<Partial<Record<ControllerName, SupervisedProcess>>>;
  /** The methods that change something: their calls are slowed down, and kills should hit them. */
  readonly methods: readonly string[];
  /** How many times longer than planned they take. Default 1. */
  readonly slowness?: number;
}

const patienceMs = 15_000;
const pollMs = 20;

/** One of several equal parts of the work. */
export interface Part {
  readonly index: number;
  readonly of: number;
}

export interface Disruption {
  /** Oldest first. */
  readonly kills: readonly Kill[];
  /**
   * Divides the work into as many parts as there are kills, with one kill in each. `work` starts all of a part; `items` is the number of
   * things in all parts together that need a call each. Default: one in each part.
   */
  disturb(planned: readonly PlannedKill[], work: (part: Part) => Promise<void>, items?: number): Promise<void>;
  /** Waits until the driver is back, in case it was the last victim, and removes all delays. The core programs find the API server again. */
  calm(): Promise<void>;
  /** Asserts that at least so many kills of each of these have hit a call; resolves with a sentence about it. */
  assertHits(least: Readonly<Partial<Record<Victim, number>>>): Promise<string>;
}

export function share<T>(list: readonly T[], { index, of }: Part): readonly T[] {
  return list.slice(Math.floor((index * list.length) / of), Math.floor(((index + 1) * list.length) / of));
}

export function createDisruption(
  ctx: ScenarioContext,
  { sidecars, methods, slowness = 1 }: DisruptionOptions,
): Disruption {
  const { driver } = ctx;
  const kills: Kill[] = [];
  /** The last one of the API server after which the core programs have started again. */
  let knownKill: Kill | undefined;
  return {
    kills,
    disturb: async (planned, work, items = planned.length) => {
      const itemsOfPart = Math.floor(items / planned.length);
      for (const [index, kill] of planned.entries()) {
        await slowDown(ctx, methods, {
          beforeMs: kill.delays.beforeMs * slowness,
          afterMs: kill.delays.afterMs * slowness,
        });
        const [done] = await Promise.all([
          strike(ctx, kill, { sidecars, methods, itemsOfPart }),
          work({ index, of: planned.length }),
        ]);
        kills.push(done);
      }
    },
    calm: async () => {
      await ctx.eventually('the driver is back', async () => {
        await driver.control.clearFaults();
        return true;
      });
      const kill = kills.findLast(({ victim }) => victim === 'kube-apiserver');
      if (kill === undefined || kill === knownKill) return;
      knownKill = kill;
      await restartCorePrograms(ctx);
    },
    assertHits: async (least) => {
      const calls = await driver.control.calls();
      const changing = callsOf(calls, methods);
      const hits = callsHit(kills, changing);
      const hitting = (victim: Kill['victim']): number =>
        kills.filter((kill, index) => kill.victim === victim && hits[index]!.length > 0).length;
      const counted = Object.entries(least) as [Victim, number][];
      for (const [victim, wanted] of counted) {
        assert.ok(hitting(victim) >= wanted, `${hitting(victim)} kills of ${victim} hit a call, ${wanted} should`);
      }
      assert.equal(driver.process.exits.length, kills.filter(({ victim }) => victim === 'driver').length);
      const those = counted.map(([victim]) => `${hitting(victim)} of ${victim}`).join(' and ');
      return `${kills.length} kills; ${those} hit calls, of ${changing.length} in all`;
    },
  };
}

/**
 * An API server that has just started refuses all requests until it has read the roles, and a core program that was refused its watches asks
 * again after up to half a minute: until then volumes are not attached, and pods that wait for a claim are not scheduled. One that starts
 * asks at once.
 */
export async function restartCorePrograms({ testRun }: ScenarioContext): Promise<void> {
  const restart = async (name: 'kube-controller-manager' | 'kube-scheduler'): Promise<void> => {
    const component = testRun.controlPlane.components.get(name);
    await component?.kill();
    await component?.start();
  };
  await Promise.all([restart('kube-controller-manager'), restart('kube-scheduler')]);
}

function callsOf(calls: readonly RecordedCall[], methods: readonly string[]): readonly RecordedCall[] {
  return calls.filter(({ method }) => methods.some((name) => method.endsWith(`/${name}`)));
}

/** Adds delays to all calls from now on, also if the driver has just restarted. */
async function slowDown(
  ctx: ScenarioContext,
  methods: readonly string[],
  delays: PlannedKill['delays'],
): Promise<void> {
  const { control } = ctx.driver;
  await ctx.eventually('the driver takes fault rules', async () => {
    await control.clearFaults();
    for (const method of methods) {
      await control.addFault({ method, at: 'during', action: { kind: 'delay', ms: delays.beforeMs } });
      await control.addFault({ method, at: 'after', action: { kind: 'delay', ms: delays.afterMs } });
    }
    return true;
  });
}

async function strike(
  ctx: ScenarioContext,
  planned: PlannedKill,
  { sidecars, methods, itemsOfPart }: DisruptionOptions & { readonly itemsOfPart: number },
): Promise<Kill> {
  const { clock, controlPlane } = ctx.testRun;
  const { victim, afterMs, progress } = planned;
  if (victim === 'kube-apiserver' || victim === 'snapshot-controller') await clock.sleep(afterMs, ctx.signal);
  else await untilCallIsOpen(ctx, methods, { sinceMs: clock.nowMs(), begun: 1 + Math.floor(progress * itemsOfPart) });
  const atMs = clock.nowMs();
  if (victim === 'driver') {
    await ctx.driver.process.kill();
    return { victim, atMs, goneMs: clock.nowMs() };
  }
  if (victim === 'kube-apiserver') {
    const component = controlPlane.components.get(victim);
    await component?.kill();
    const goneMs = clock.nowMs();
    await clock.sleep(afterMs, ctx.signal);
    await component?.start();
    return { victim, atMs, goneMs };
  }
  const sidecar = sidecars[victim];
  assert.ok(sidecar !== undefined, `${victim} is not one of the processes`);
  // The process does nothing after the signal, however long it takes until its end is reported.
  const dying = sidecar.kill();
  const goneMs = clock.nowMs();
  await dying;
  return { victim, atMs, goneMs };
}

/**
 * Waits a limited time until so many calls have begun and one of them is in progress. Calls that began before `sinceMs` may belong to a
 * driver that is dead.
 */
async function untilCallIsOpen(
  ctx: ScenarioContext,
  methods: readonly string[],
  { sinceMs, begun }: { readonly sinceMs: number; readonly begun: number },
): Promise<void> {
  const { clock } = ctx.testRun;
  const deadlineMs = clock.monotonicMs() + patienceMs;
  while (clock.monotonicMs() < deadlineMs) {
    const calls = await ctx.driver.control.calls().catch(() => []);
    const ofPart = callsOf(calls, methods).filter(({ beganAtMs }) => beganAtMs > sinceMs);
    if (ofPart.length >= begun && ofPart.some(({ outcome }) => outcome === undefined)) return;
    await clock.sleep(pollMs, ctx.signal);
  }
}
