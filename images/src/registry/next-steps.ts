// SPDX-License-Identifier: Apache-2.0
/** What a person types after a push, with the names of what was pushed. */
import type { Target } from './target.ts';

export interface PushedName {
  readonly name: string;
  readonly tags: readonly string[];
}

/** Upstream's names of the containers, where they are not those of the images. */
const containers: Readonly<Record<string, string>> = {
  'csi-node-driver-registrar': 'node-driver-registrar',
  livenessprobe: 'liveness-probe',
};
const kinds: Readonly<Record<string, string>> = {
  'csi-node-driver-registrar': 'daemonset/NAME',
  livenessprobe: 'daemonset/NAME',
  'snapshot-controller': 'deployment/snapshot-controller',
  'volume-data-source-validator': 'statefulset/volume-data-source-validator',
};
/** Not a container beside a driver. */
const notSwapped: ReadonlySet<string> = new Set(['csi-sidecars', 'snapshot-conversion-webhook']);

export function nextSteps({ name: registry }: Pick<Target, 'name'>, images: readonly PushedName[]): string {
  const swaps = images
    .filter(({ name }) => !notSwapped.has(name))
    .map(({ name, tags }) => {
      const [container, kind] = [containers[name] ?? name, kinds[name] ?? 'deployment/NAME'];
      return `  kubectl set image -n NAMESPACE ${kind} ${container}=${registry}/${name}:${tags[0]}`;
    });
  return `
The charts use the images with these values:

  charts/csi-driver           --set sidecars.image.registry=${registry}
  charts/snapshot-controller  --set image.registry=${registry}

In a deployment that is there, one image is swapped at a time (docs/operations/swap-one-image.md; NAMESPACE, NAME and the container's name are yours):

${swaps.join('\n')}
`;
}
