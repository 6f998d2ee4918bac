// SPDX-License-Identifier: Apache-2.0
/** The images of control plane `node`, made on the spot: nothing is pulled from anywhere. */
import { findProgram, programNames, type ProgramName } from '../processes/program.ts';
import type { Environment } from '../tools/locate.ts';
import { writeDockerArchive, type Image } from './docker-archive.ts';
import {
  busyboxLayer,
  nodePath,
  programLayer,
  runtimeLayer,
  storageToolsLayer,
  testDriverLayer,
  testDriverPath,
} from './layers.ts';

const registry = 'e2e.csi-sidecars.invalid';

export const pauseImage: string = `${registry}/pause:e2e`;
export const podImage: string = `${registry}/busybox:e2e`;
export const testDriverImage: string = `${registry}/test-driver:e2e`;

export function imageOf(program: ProgramName): string {
  return `${registry}/${program}:e2e`;
}

/** Environment of our images; a manifest that sets NODE_OPTIONS replaces it as a whole. */
const heapLimit = 'NODE_OPTIONS=--max-old-space-size-percentage=75';
const searchPath = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** `env`: whose programs, as everywhere. */
export async function writeImages(path: string, env: Environment): Promise<readonly string[]> {
  const runtime = runtimeLayer();
  const busybox = busyboxLayer();
  const images: Image[] = [
    { reference: pauseImage, layers: [busybox], entrypoint: ['/bin/sleep', '2147483647'] },
    { reference: podImage, layers: [busybox], entrypoint: [], env: [searchPath] },
    {
      reference: testDriverImage,
      layers: [runtime, storageToolsLayer(), await testDriverLayer()],
      entrypoint: [nodePath, testDriverPath],
      env: [searchPath],
    },
    ...programNames.map((name) => ({
      reference: imageOf(name),
      layers: [runtime, programLayer(findProgram(name, env))],
      entrypoint: [`/${name}`],
      env: [searchPath, heapLimit],
    })),
  ];
  writeDockerArchive(path, images);
  return images.map(({ reference }) => reference);
}
