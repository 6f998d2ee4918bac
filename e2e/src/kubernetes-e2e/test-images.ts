// SPDX-License-Identifier: Apache-2.0
/** The images that the pods of Kubernetes' storage tests have, under the names in its registry. Nothing is pulled. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { layerOf, type Image } from '@csi-sidecars/images';
import { imageForTests } from '../images/images.ts';
import { busyboxLayer, quickly, shellLayer } from '../images/layers.ts';
import { ensureTools } from '../tools/ensure-tools.ts';

/**
 * The tests look at the node by a pod that enters the mounts of process 1. Kubelet's mounts are not there: the node has a mount table of its
 * own, and process 1 of a sandbox cannot be entered at all.
 */
const nsenter = `#!/bin/sh
for process in /rootfs/proc/[0-9]*; do
  if [ "$(cat $process/comm 2>/dev/null)" = kubelet ]; then break; fi
done
if [ "$1" = --mount=/rootfs/proc/1/ns/mnt ]; then
  shift
  set -- "--mount=$process/ns/mnt" "$@"
fi
exec busybox nsenter "$@"
`;

/** `tests`: the program, which says what it uses. */
export async function testImages(tests: string): Promise<readonly Image[]> {
  const { agnhost } = await ensureTools(['agnhost']);
  const { stdout } = await promisify(execFile)(tests, ['--list-images'], { encoding: 'utf8' });
  const shell = busyboxLayer();
  const files = [
    { kind: 'file', path: 'agnhost', content: readFileSync(agnhost), mode: 0o755 },
    { kind: 'file', path: 'bin/nsenter', content: Buffer.from(nsenter), mode: 0o755 },
  ] as const;
  const program = layerOf('agnhost', files, quickly);
  return stdout.split('\n').flatMap((reference) => {
    // What is run of nginx's image is its shell.
    if (/\/(busybox|nginx):/.test(reference)) return [imageForTests(reference, { layers: [shell], entrypoint: [] })];
    // What is run of this one is its shell, and a dd that writes past the page cache.
    if (/\/glibc-dns-testing:/.test(reference))
      return [imageForTests(reference, { layers: [shell, shellLayer(['dd'])], entrypoint: [] })];
    if (/\/agnhost:/.test(reference))
      return [imageForTests(reference, { layers: [shell, program], entrypoint: ['/agnhost'] })];
    return [];
  });
}
