// SPDX-License-Identifier: Apache-2.0
/**
 * The test driver in the place of the driver of an example of chart csi-driver. The values of the example stay; over them are only the values that
 * put the test driver's image and arguments in, and those that a machine without a registry and without a pod network needs.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { load } from 'js-yaml';
import { chartsFolder } from '../../../charts/testing/helm.ts';
import { relayCommand } from '../images/layers.ts';
import { imageTag, podImage, testDriverRepository } from '../images/images.ts';
import type { TestRun } from '../scenarios/test-run.ts';
import { untilEnded } from '../workload/user-pods.ts';
import { apiServerOf, imagesOf, nodeSocket, type Values } from './values.ts';

type List = readonly Values[];

/** What is read here of the values of an example. */
export interface Example extends Values {
  readonly driver: {
    readonly name: string;
    readonly nodeIdEnvName?: string;
    readonly controller: { readonly volumeMounts?: List };
  };
  readonly controller: { readonly extraContainers?: List; readonly extraVolumes?: List };
  readonly node: { readonly hostNetwork?: boolean; readonly hostPaths?: Readonly<Record<string, { path: string }>> };
  readonly storageClasses: readonly { readonly name: string; readonly parameters: Values }[];
}

export function examplePath(name: string): string {
  return join(chartsFolder, 'csi-driver', 'examples', `${name}.yaml`);
}

export function readExample(name: string): Example {
  return load(readFileSync(examplePath(name), 'utf8')) as Example;
}

export interface StandIn {
  /** Parameters that the classes of the example get besides. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly kubeletRoot: string;
  /** The folder of the driver's socket on the node. */
  readonly folder: string;
  /** The test driver's arguments. */
  readonly args: readonly string[];
  /** In the network of the machine the ports of both pods differ. Without them those of the example are used. */
  readonly nodePorts?: Readonly<Record<'livenessProbe' | 'nodeDriverRegistrar', number>>;
}

/** Helm replaces a list of values as a whole, so lists begin with the entries of the example. */
export function standInValues(testRun: TestRun, example: Example, standIn: StandIn): Values {
  const { kubeletRoot, folder, args, nodePorts, parameters } = standIn;
  const { driver, controller, storageClasses } = example;
  const { volume, mount, args: relayArgs } = nodeSocket(folder);
  const { shared, sidecar } = imagesOf(testRun);
  const withApi = { ...sidecar, env: apiServerOf(testRun) };
  return {
    kubeletDir: kubeletRoot,
    driver: {
      image: { repository: testDriverRepository, tag: imageTag, pullPolicy: 'Never' },
      controller: {
        command: relayCommand,
        args: relayArgs,
        volumeMounts: [...(driver.controller.volumeMounts ?? []), mount],
      },
      node: { args },
    },
    sidecars: {
      ...shared,
      provisioner: withApi,
      attacher: withApi,
      resizer: withApi,
      snapshotter: withApi,
      livenessProbe: sidecar,
      nodeDriverRegistrar: sidecar,
    },
    controller: {
      hostNetwork: true,
      extraVolumes: [...(controller.extraVolumes ?? []), volume],
      ...(controller.extraContainers !== undefined && {
        extraContainers: controller.extraContainers.map((container) => ({
          ...container,
          image: podImage,
          command: untilEnded([]),
          args: [],
        })),
      }),
    },
    node: { hostNetwork: true },
    ...(nodePorts !== undefined && { ports: { node: nodePorts } }),
    storageClasses: storageClasses.map((each) => ({ ...each, parameters: { ...each.parameters, ...parameters } })),
  };
}

/** The paths at which values differ once others are over them, as helm merges them: `driver.image.tag`, `storageClasses[0].name`. */
export function changesBy(over: unknown, values: unknown, path = ''): readonly string[] {
  if (isDeepStrictEqual(over, values)) return [];
  if (Array.isArray(over) && Array.isArray(values) && over.length >= values.length && isOfMaps(values))
    return over.flatMap((each, index) => changesBy(each, values[index], `${path}[${index}]`));
  if (isMap(over) && isMap(values))
    return Object.keys(over).flatMap((key) => changesBy(over[key], values[key], path === '' ? key : `${path}.${key}`));
  return [path];
}

function isOfMaps(list: readonly unknown[]): boolean {
  return list.length > 0 && list.every(isMap);
}

function isMap(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
