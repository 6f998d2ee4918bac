// SPDX-License-Identifier: Apache-2.0
/** `npm start`: the whole life of a volume, for a person to watch. Ends with 0 when every step succeeded, and leaves nothing behind. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@csi-sidecars/runtime';
import type { ControlPlaneName } from '../control-planes/start-control-plane.ts';
import { nodeDigest } from '../deployment/node-digest.ts';
import { describe } from '../describe.ts';
import { startDriver } from '../driver/driver.ts';
import { onInterrupt } from '../interruption.ts';
import { Refusal } from '../refusal.ts';
import { openContext } from '../scenarios/context.ts';
import { withoutNode as expandsWithoutNode } from '../scenarios/resizer/steps.ts';
import { agreedKubeconfig } from './consent.ts';
import { createDisplay, type Display } from './display.ts';
import { type DemoOptions, nextSteps, parseDemoOptions, usage } from './options.ts';
import { show } from './show.ts';
import { openDemoRun, ownCluster, type DemoClusterOptions } from './demo-cluster.ts';
import { offer, untilInterrupted } from './keep.ts';
import { showLife } from './life.ts';
import { emulatedUsers, realUsers } from './users.ts';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  let options: DemoOptions | 'help';
  try {
    options = parseDemoOptions(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  if (options === 'help') {
    process.stdout.write(usage);
    return 0;
  }
  try {
    return await demonstrate(options);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

async function demonstrate(options: DemoOptions): Promise<number> {
  const { controlPlane } = options;
  const clock = systemClock();
  const display = createDisplay(clock, process.stdout);
  const signal = onInterrupt();
  const namespace = `csi-demo-${process.pid}`;
  let kubeconfig: string | undefined;
  if (controlPlane === 'kubeconfig') {
    kubeconfig = await agreedKubeconfig(options, process.env, (text) => display.line(text));
    if (kubeconfig === undefined) {
      display.line('Nothing was done.');
      return 1;
    }
  }
  const folder = mkdtempSync(join(tmpdir(), 'csi-demo-'));
  const startedMs = clock.monotonicMs();
  try {
    await using cleanUp = new AsyncDisposableStack();
    const clusterOptions: DemoClusterOptions = { clock, folder, namespace, systemChanges: options.systemChanges };
    if (controlPlane === 'kubeconfig') {
      await playInOwnCluster({ display, signal, kubeconfig: kubeconfig ?? '' }, clusterOptions, cleanUp);
    } else {
      await playLife({ display, signal, controlPlane, afterwards: options.afterwards }, clusterOptions, cleanUp);
    }
    display.line(`Done in ${((clock.monotonicMs() - startedMs) / 1000).toFixed(1)} s.`);
    for (const line of nextSteps(options)) display.line(line);
    rmSync(folder, { recursive: true, force: true });
    return 0;
  } catch (error) {
    // Which step it was, and why, was shown by the step; not so when the clean-up after it failed as well.
    if (error instanceof SuppressedError) display.line(describe(error.error));
    if (error instanceof Refusal) rmSync(folder, { recursive: true, force: true });
    else display.line(`Logs are in ${folder}.`);
    return 1;
  }
}

interface Performance {
  readonly display: Display;
  readonly signal: AbortSignal;
}

interface LifeOptions extends Pick<DemoOptions, 'afterwards'> {
  readonly controlPlane: ControlPlaneName;
}

/** A control plane of our own, and pods that use the volume. */
async function playLife(
  { display, signal, controlPlane, afterwards }: Performance & LifeOptions,
  options: DemoClusterOptions,
  cleanUp: AsyncDisposableStack,
): Promise<void> {
  const testRun = await display.step(
    'control plane',
    () => openDemoRun(controlPlane, options, cleanUp),
    ({ controlPlane: { server, node } }) =>
      `${controlPlane}, ${server}${node === undefined ? '' : `, kubelet on ${node.name} is ready`}`,
  );
  const ctx = await openContext(testRun, { id: options.namespace }, signal);
  cleanUp.use(ctx.cleanUp);
  try {
    const users = await display.step(
      'driver and sidecars',
      () => (controlPlane === 'node' ? realUsers(ctx) : emulatedUsers(ctx)),
      ({ driver }) =>
        `${driver.name}; csi-provisioner, csi-attacher, csi-resizer, csi-snapshotter, snapshot-controller`,
    );
    const { className } = await showLife(ctx, users, display);
    if (afterwards === 'keep') {
      const { nodeName } = users;
      for (const line of offer(ctx, testRun.controlPlane, { className, nodeName })) display.line(line);
      await untilInterrupted(signal);
    }
  } catch (error) {
    const { node } = testRun.controlPlane;
    if (node !== undefined && !signal.aborted) display.line(await nodeDigest(ctx, node));
    throw error;
  }
  await display.step(
    'clean-up',
    () => cleanUp.disposeAsync(),
    () => 'no process, file or object of the demonstration is left',
  );
}

/** Driver and sidecars as processes beside the user's own cluster. */
async function playInOwnCluster(
  { display, signal, kubeconfig }: Performance & { readonly kubeconfig: string },
  clusterOptions: DemoClusterOptions,
  cleanUp: AsyncDisposableStack,
): Promise<void> {
  const { clock, folder, namespace } = clusterOptions;
  const patience = { clock, factor: 1, signal };
  const cluster = await display.step(
    'control plane',
    () => ownCluster(kubeconfig, clusterOptions, cleanUp),
    ({ describe: what }) => `kubeconfig, ${what}`,
  );
  const driver = await display.step(
    'CSI driver',
    async () => {
      const { CSI_DRIVER_BIN: _foreign, ...env } = process.env;
      const started = await startDriver(
        { name: `${namespace}.example.com`, folder, logs: folder },
        expandsWithoutNode,
        { clock, env, patience },
      );
      cleanUp.use(started.process);
      return started;
    },
    ({ name, socket }) => `${name} on ${socket}`,
  );
  for (const name of ['csi-provisioner', 'csi-resizer'] as const) {
    await display.step(
      name,
      () => cluster.start(name, driver),
      ({ pid }) => `process ${pid}`,
    );
  }
  await show({ cluster, driver, dataFolder: folder, namespace, display, patience });
}
