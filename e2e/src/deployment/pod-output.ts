// SPDX-License-Identifier: Apache-2.0
/** The output of containers, from the files that kubelet keeps: `<folder of the pod>/<container>/<start>.log`, CRI's format. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RealNode } from '../control-planes/control-plane.ts';

/** All lives of the container, oldest first, without time stamps. */
export function outputOf({ podLogs }: RealNode, pod: string, container: string): string {
  const folder = readdirSync(podLogs).find((name) => name.startsWith(`${pod}_`));
  const path = join(podLogs, folder ?? '', container);
  if (folder === undefined || !existsSync(path)) return '';
  return readdirSync(path)
    .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
    .map((file) => readFileSync(join(path, file), 'utf8').replaceAll(/^\S+ std(?:out|err) [FP] /gm, ''))
    .join('');
}

/** `<namespace>_<name>` of the pods of a namespace that have written something, with their containers. */
export function writersIn({ podLogs }: RealNode, namespace: string): readonly { pod: string; container: string }[] {
  return readdirSync(podLogs)
    .filter((folder) => folder.startsWith(`${namespace}_`))
    .flatMap((folder) => {
      const pod = folder.split('_').slice(0, 2).join('_');
      return readdirSync(join(podLogs, folder)).map((container) => ({ pod, container }));
    });
}
