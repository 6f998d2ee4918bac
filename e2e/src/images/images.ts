// SPDX-License-Identifier: Apache-2.0
/**
 * The images of control plane `node`: ours as they are released, only under another name, and a few for tests. Nothing is pulled from
 * anywhere.
 */
import { writeFileSync } from 'node:fs';
import {
  archiveOf,
  buildImages,
  factsOf,
  gzip,
  imageSet,
  layoutOf,
  platforms,
  readPins,
  remembered,
  searchPath,
  type DebianDeps,
  type Image,
  type PlatformName,
} from '@csi-sidecars/images';
import { findProgram, programNames, type ProgramName } from '../processes/program.ts';
import type { Environment } from '../tools/locate.ts';
import { busyboxLayer, testDriverEntrypoint, testDriverLayers, upstreamLayer } from './layers.ts';

export const registry = 'e2e.csi-sidecars.invalid';
export const imageTag = 'e2e';

export const pauseImage: string = `${registry}/pause:${imageTag}`;
export const podImage: string = `${registry}/busybox:${imageTag}`;
export const testDriverRepository: string = `${registry}/test-driver`;

export function imageOf(name: ProgramName): string {
  return `${registry}/${name}:${imageTag}`;
}

const platform: PlatformName = process.arch === 'arm64' ? 'linux/arm64' : 'linux/amd64';

/** `env`: whose programs, as everywhere. */
export async function writeImages(
  path: string,
  env: Environment,
  more: readonly Image[] = [],
): Promise<readonly string[]> {
  const images = [...(await imagesForTests()), ...(await imagesOfPrograms(env)), ...more];
  writeFileSync(path, archiveOf(layoutOf(images)));
  return images.map(({ reference }) => reference);
}

async function imagesOfPrograms(env: Environment): Promise<readonly Image[]> {
  const programs = programNames.map((name) => findProgram(name, env));
  if (programs.some(({ origin }) => origin === 'upstream')) {
    return programs.map((program) =>
      imageForTests(imageOf(program.name), { layers: [upstreamLayer(program)], entrypoint: [`/${program.name}`] }),
    );
  }
  const notBuilt = programs.find(({ origin }) => origin === 'source');
  if (notBuilt !== undefined) throw new Error(`${notBuilt.name} is not built: run "npm run build" first`);
  return await ownImages(env, { platform, prefix: registry, tag: imageTag });
}

interface Naming {
  readonly platform: PlatformName;
  /** In front of the names. */
  readonly prefix: string;
  readonly tag: string;
}

async function ownImages(env: Environment, { platform: on, prefix, tag }: Naming): Promise<readonly Image[]> {
  const report = (line: string): void => void process.stderr.write(`${line}\n`);
  const debian: DebianDeps = { env, pins: readPins(), report, pinned: 'preferred' };
  const { images } = await buildImages({
    facts: factsOf(env),
    platforms: [on],
    debian,
    compression: remembered(gzip, env),
  });
  return images.map((image, index) => ({ ...image, reference: `${prefix}/${imageSet[index]!.name}:${tag}` }));
}

/** Ours alone, for a container engine of that architecture. `npm run build` must have run. */
export async function writeOwnImages(
  path: string,
  { architecture, prefix, tag }: Omit<Naming, 'platform'> & { readonly architecture: string },
): Promise<void> {
  const on = Object.keys(platforms).find((name): name is PlatformName => name === `linux/${architecture}`);
  if (on === undefined) throw new Error(`there are no images for linux/${architecture}`);
  writeFileSync(path, archiveOf(layoutOf(await ownImages(process.env, { platform: on, prefix, tag }))));
}

async function imagesForTests(): Promise<readonly Image[]> {
  const busybox = busyboxLayer();
  return [
    imageForTests(pauseImage, { layers: [busybox], entrypoint: ['/bin/sleep', '2147483647'] }),
    imageForTests(podImage, { layers: [busybox], entrypoint: [] }),
    imageForTests(`${testDriverRepository}:${imageTag}`, {
      layers: await testDriverLayers(),
      entrypoint: testDriverEntrypoint,
    }),
  ];
}

export function imageForTests(
  reference: string,
  { layers, entrypoint }: Pick<Image['platforms'][number], 'layers' | 'entrypoint'>,
): Image {
  const only = { platform: platforms[platform], layers, entrypoint, env: [searchPath], labels: {} };
  return { reference, created: '1970-01-01T00:00:00Z', annotations: {}, platforms: [only] };
}
