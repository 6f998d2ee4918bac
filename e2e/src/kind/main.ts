// SPDX-License-Identifier: Apache-2.0
/** `npm run kind`: cluster, images, charts, a volume's life, clean-up. Needs docker, and kind and helm or Go to build them. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { systemClock } from '@csi-sidecars/runtime';
import { createDisplay } from '../demo/display.ts';
import { writeTestDriver } from '../images/layers.ts';
import { writeOwnImages } from '../images/images.ts';
import { whereIs } from '../images/machine-programs.ts';
import { onInterrupt } from '../interruption.ts';
import { repositoryRoot } from '../processes/program.ts';
import { Refusal } from '../refusal.ts';
import { ensureTools } from '../tools/ensure-tools.ts';
import { demonstrate, type KindDeps, type Run } from './demonstration.ts';
import { driverDockerfile } from './driver-dockerfile.ts';
import { imageRegistry } from './objects.ts';

const usage = `Shows the whole life of a volume on a kind cluster of its own, and deletes the cluster.

usage: npm run kind -- [options]
  --keep    the cluster stays, and the last lines say how to look at it and how to delete it
  --help

KIND_NODE_IMAGE chooses kind's image for the node, which decides the version of Kubernetes.
`;

process.exitCode = await main();

async function main(): Promise<number> {
  let values: { readonly keep: boolean; readonly help: boolean };
  try {
    ({ values } = parseArgs({
      options: { keep: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
    }));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const display = createDisplay(systemClock(), process.stdout);
  const work = mkdtempSync(join(tmpdir(), 'csi-kind-'));
  try {
    await demonstrate(await depsFor({ display, work, end: values.keep ? 'keep' : 'remove' }));
    return 0;
  } catch (error) {
    // A step has said why it failed.
    if (error instanceof Refusal) display.line(error.message);
    return 1;
  } finally {
    const stays = ['logs', ...(values.keep ? ['kubeconfig'] : [])].some((name) => existsSync(join(work, name)));
    if (!stays) rmSync(work, { recursive: true, force: true });
  }
}

async function depsFor(given: Pick<KindDeps, 'display' | 'work' | 'end'>): Promise<KindDeps> {
  const docker = whereIs('docker');
  if (docker === undefined)
    throw new Refusal('docker is not in PATH: this needs docker, and runs everything in a container of it');
  const program = async (name: 'kind' | 'helm', home: string): Promise<string> => {
    const found = whereIs(name);
    if (found !== undefined) return found;
    if (whereIs('go') === undefined)
      throw new Refusal(`${name} is not in PATH, and there is no Go to build it: install ${name} (${home}), or Go`);
    return (await ensureTools([name]))[name];
  };
  const nodeImage = process.env['KIND_NODE_IMAGE'];
  const programs = { docker, kind: await program('kind', 'kind.sigs.k8s.io'), helm: await program('helm', 'helm.sh') };
  const tag = 'demo';
  return {
    ...given,
    programs,
    tag,
    charts: join(repositoryRoot, 'charts'),
    ...(nodeImage !== undefined && nodeImage !== '' && { nodeImage }),
    run: runner(onInterrupt()),
    pause: sleep,
    writeImages: (path, architecture) => writeOwnImages(path, { architecture, prefix: imageRegistry, tag }),
    writeDriver: async (folder) => {
      mkdirSync(folder);
      await writeTestDriver(folder);
      writeFileSync(join(folder, 'Dockerfile'), driverDockerfile());
    },
  };
}

/** Ctrl-C ends the command that runs and begins no other, except for those of the clean-up. */
function runner(signal: AbortSignal): Run {
  // Ours alone would be enough for the images; attestations of a local build are in the way of `kind load`.
  const env = { ...process.env, BUILDX_NO_DEFAULT_ATTESTATIONS: '1' };
  return async (command, args, { input, always = false } = {}) => {
    if (!always) signal.throwIfAborted();
    return await new Promise((resolve, reject) => {
      const options = { env, maxBuffer: 64 * 2 ** 20, ...(!always && { signal }) };
      const child = execFile(command, args, options, (error, stdout, stderr) => {
        if (error === null) return resolve(stdout);
        const said = (stderr.trim() || stdout.trim() || error.message).split('\n').slice(-20).join('\n');
        reject(new Error(`${[command, ...args].join(' ')}: ${said}`, { cause: error }));
      });
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(input ?? '');
    });
  };
}
