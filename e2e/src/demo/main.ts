// SPDX-License-Identifier: Apache-2.0
/** `npm start`: the main job, for a person to watch. Ends with 0 when every step succeeded, and leaves nothing behind. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@csi-sidecars/runtime';
import { startDriver } from '../driver/driver.ts';
import { onInterrupt } from '../interruption.ts';
import { agreedKubeconfig } from './consent.ts';
import { createDisplay } from './display.ts';
import { type DemoOptions, parseDemoOptions, usage } from './options.ts';
import { show } from './show.ts';
import { embeddedStage, ownClusterStage, type Stage, type StageOptions } from './stage.ts';

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
  return await demonstrate(options);
}

async function demonstrate(options: DemoOptions): Promise<number> {
  const clock = systemClock();
  const display = createDisplay(clock, process.stdout);
  const signal = onInterrupt();
  const namespace = `csi-demo-${process.pid}`;
  let kubeconfig: string | undefined;
  if (options.controlPlane === 'kubeconfig') {
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
    const patience = { clock, factor: 1, signal };
    const stageOptions: StageOptions = { clock, folder, namespace };
    const stage = await display.step(
      'control plane',
      (): Promise<Stage> =>
        options.controlPlane === 'kubeconfig'
          ? ownClusterStage(kubeconfig ?? '', stageOptions, cleanUp)
          : embeddedStage(options.controlPlane, stageOptions, cleanUp),
      ({ describe }) => `${options.controlPlane}, ${describe}`,
    );
    const driver = await display.step(
      'CSI driver',
      async () => {
        const { CSI_DRIVER_BIN: _foreign, ...env } = process.env;
        const started = await startDriver(
          { name: `${namespace}.example.com`, folder, logs: folder },
          {},
          { clock, env, patience },
        );
        cleanUp.use(started.process);
        return started;
      },
      ({ name, socket }) => `${name} on ${socket}`,
    );
    await display.step(
      'csi-provisioner',
      () => stage.startProvisioner(driver),
      ({ pid }) => `process ${pid}`,
    );
    await show({ stage, driver, dataFolder: folder, namespace, display, patience });
    display.line(`Done in ${((clock.monotonicMs() - startedMs) / 1000).toFixed(1)} s.`);
    rmSync(folder, { recursive: true, force: true });
    return 0;
  } catch {
    // Which step it was, and why, was shown by the step.
    display.line(`Logs are in ${folder}.`);
    return 1;
  }
}
