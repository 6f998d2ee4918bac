// SPDX-License-Identifier: Apache-2.0
/** The images that the pods of Kubernetes' storage tests have, under the names in its registry. Nothing is pulled. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { layerOf, type Image } from '@csi-sidecars/images';
import { imageForTests } from '../images/images.ts';
import { busyboxLayer } from '../images/layers.ts';
import { ensureTools } from '../tools/ensure-tools.ts';

/** `tests`: the program, which says what it uses. */
export async function testImages(tests: string): Promise<readonly Image[]> {
  const { agnhost } = await ensureTools(['agnhost']);
  const { stdout } = await promisify(execFile)(tests, ['--list-images'], { encoding: 'utf8' });
  const shell = busyboxLayer();
  const file = { kind: 'file', path: 'agnhost', content: readFileSync(agnhost), mode: 0o755 } as const;
  const program = layerOf('agnhost', [file], (tar) => gzipSync(tar, { level: 1 }));
  return stdout.split('\n').flatMap((reference) => {
    if (/\/busybox:/.test(reference)) return [imageForTests(reference, { layers: [shell], entrypoint: [] })];
    if (/\/agnhost:/.test(reference))
      return [imageForTests(reference, { layers: [shell, program], entrypoint: ['/agnhost'] })];
    return [];
  });
}
