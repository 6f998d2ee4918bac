// SPDX-License-Identifier: Apache-2.0
/** The place of one recording: a simulated control plane of its own, a driver, and the programs whose metrics are read. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock } from '@csi-sidecars/runtime';
import { startSimControlPlane } from '../control-planes/sim/start-sim.ts';
import { freePorts } from '../control-planes/local/free-ports.ts';
import { findProgram, repositoryRoot } from '../processes/program.ts';
import { supervise, type SupervisedProcess } from '../processes/supervised-process.ts';
import { openContext, type ScenarioContext } from '../scenarios/context.ts';
import type { SidecarOptions, StartableName } from '../scenarios/sidecars.ts';
import { type TestRun, runOfOurs } from '../scenarios/test-run.ts';
import { request } from '../suite-client/request.ts';

/** A container whose metrics are read. */
export interface Watched {
  /** As the chart calls it. */
  readonly container: string;
  readonly pod: number;
  readonly origin: string;
  readonly process: SupervisedProcess;
}

export interface Started extends SidecarOptions {
  /** Which pod of the controller it is in. */
  readonly pod?: number;
}

export interface Stage {
  readonly ctx: ScenarioContext;
  readonly watched: readonly Watched[];
  /** A program with the arguments of `SidecarOptions` and an endpoint for its metrics. */
  readonly start: (name: StartableName, options?: Started) => Promise<SupervisedProcess>;
  /** livenessprobe in the pod of a node. */
  readonly startLivenessprobe: () => Promise<void>;
}

export interface StageOptions {
  readonly id: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The logs of the programs, by situation. */
const logs: string = join(repositoryRoot, 'reports', 'alerts');

/** The stack disposes of everything but logs. */
export async function openStage({ id, clock, signal }: StageOptions, stack: AsyncDisposableStack): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'csi-alerts-'));
  rmSync(join(logs, id), { recursive: true, force: true });
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const testRun = await simulatedRun(folder, clock, stack);
  const ctx = await openContext(testRun, { id, driverName: `${id}.csi.test` }, signal);
  stack.use(ctx.cleanUp);
  const watched: Watched[] = [];
  return {
    ctx,
    watched,
    start: async (name, { pod = 0, args = [], ...options } = {}) => {
      const endpoint = await freeEndpoint();
      const process = await ctx.startSidecar(name, { ...options, args: [`--http-endpoint=${endpoint}`, ...args] });
      watched.push({ container: name, pod, origin: `http://${endpoint}`, process });
      return process;
    },
    startLivenessprobe: async () => {
      const endpoint = await freeEndpoint();
      const { command, args } = findProgram('livenessprobe', testRun.env);
      const process = await supervise(
        {
          name: 'livenessprobe',
          command,
          args: [...args, `--csi-address=unix://${ctx.driver.socket}`, `--http-endpoint=${endpoint}`],
          env: { PATH: testRun.env['PATH'] },
          logFile: join(ctx.folder, 'livenessprobe.log'),
        },
        clock,
      );
      ctx.cleanUp.use(process);
      watched.push({ container: 'liveness-probe', pod: 0, origin: `http://${endpoint}`, process });
    },
  };
}

/** Ports of stages that are open at the same time: what is free is free for all of them. */
const handedOut = new Set<number>();

async function freeEndpoint(): Promise<string> {
  for (;;) {
    const { metrics } = await freePorts(['metrics']);
    if (handedOut.has(metrics)) continue;
    handedOut.add(metrics);
    return `127.0.0.1:${metrics}`;
  }
}

/** Resolves when every program shows its metrics. */
export async function untilScrapable({ ctx, watched }: Stage): Promise<void> {
  for (const { container, origin, process } of watched) {
    await ctx.eventually(
      `${container} shows its metrics (${process.logFile})`,
      async () => {
        const answer = await request({ url: `${origin}/metrics`, timeoutMs: 1_000 }).catch(() => undefined);
        return answer?.status === 200;
      },
      60_000,
    );
  }
}

/** Resolves when so many of the container's replicas lead. */
export async function untilLed({ ctx, watched }: Stage, container: string, count = 1): Promise<void> {
  await ctx.eventually(
    `${count} of ${container} lead`,
    async () => {
      const origins = watched.filter((each) => each.container === container).map(({ origin }) => origin);
      const texts = await Promise.all(
        origins.map(async (origin) => (await request({ url: `${origin}/metrics` }).catch(() => undefined))?.text ?? ''),
      );
      return texts.filter((text) => /^leader_election_master_status\{.*\} 1$/m.test(text)).length === count;
    },
    60_000,
  );
}

/** A run of the programs as they are built, or from source. */
async function simulatedRun(folder: string, clock: Clock, stack: AsyncDisposableStack): Promise<TestRun> {
  const scratch = join(folder, 's');
  mkdirSync(scratch);
  const controlPlane = stack.use(await startSimControlPlane({ clock, folder: join(folder, 'control-plane') }));
  const { UPSTREAM_BIN: _, CSI_DRIVER_BIN: __, ...env } = process.env;
  return runOfOurs('alerts', { controlPlane, clock, env, load: 'tenth', reports: logs, scratch });
}
