// SPDX-License-Identifier: Apache-2.0
/** How a sidecar is recognised: by its Lease, and by its container. */
import { type Pod, sanitizedName } from '@csi-sidecars/runtime';
import type { Workload } from '../cluster/kinds.ts';
import type { Pages } from '../cluster/limits.ts';
import { type Program, programs, type Service } from '../verdict.ts';

/** The name of the Lease by which replicas elect their leader, as all versions of upstream's programs and ours name it. */
export function leaseNameOf(program: Program, driver: string): string {
  switch (program) {
    case 'csi-provisioner':
      return sanitizedName(driver);
    case 'csi-attacher':
      return sanitizedName(`external-attacher-leader-${driver}`);
    case 'csi-resizer':
      return sanitizedName(`external-resizer-${driver}`);
    case 'csi-snapshotter':
      return sanitizedName(`external-snapshotter-leader-${driver}`);
    case 'csi-external-health-monitor-controller':
      return sanitizedName(`external-health-monitor-leader-${driver}`);
    case 'snapshot-controller':
      return 'snapshot-controller-leader';
    case 'volume-data-source-validator':
      return 'data-source-validator-leader';
  }
}

type Container = NonNullable<Pod['spec']>['containers'][number];

/** Programs that run as one process: `csi-sidecars --controllers=provisioner,...`. */
const combined = 'csi-sidecars';

/** As `--controllers` and the flags of one program in a combined process name it. */
export function shortNameOf(program: Program | Service): string {
  return program === 'csi-external-health-monitor-controller' ? 'health-monitor' : program.replace(/^csi-/, '');
}

/** By the last part of the image or of the command, without tag. */
export function runsProgram({ image = '', command = [], args = [] }: Container, program: Program | Service): boolean {
  const words = [image.replace(/[@:][^/]*$/, ''), ...command].map((word) => word.split('/').at(-1) ?? '');
  if (words.some((word) => word === program || word === `${program}-amd64` || word === `${program}-arm64`)) return true;
  const list = args.find((arg) => arg.startsWith('--controllers='))?.slice('--controllers='.length) ?? '';
  return words.includes(combined) && list.split(',').includes(shortNameOf(program));
}

const registrar = /node-driver-registrar/;

/** The container that registers a driver with kubelet. */
export function registrarOf(spec: Pod['spec']): NonNullable<Pod['spec']>['containers'][number] | undefined {
  return spec?.containers.find(({ image = '', command = [], name }) =>
    registrar.test([image, name, ...command].join(' ')),
  );
}

export const allPrograms: readonly (Program | Service)[] = [...programs, 'csi-snapshot-metadata'];

/** Whether a container is a sidecar, or registers a driver. */
export function hasSidecar(spec: Pod['spec']): boolean {
  const isSidecar = (container: Container): boolean => allPrograms.some((program) => runsProgram(container, program));
  return registrarOf(spec) !== undefined || spec?.containers.some(isSidecar) === true;
}

/** Workloads with a sidecar of whatever driver: one list serves all questions about them. */
export const sidecarWorkloads: Pages<Workload> = {
  keptAs: 'sidecars',
  keep: (workload) => (hasSidecar(workload.spec?.template?.spec) ? workload : undefined),
};

export function containerOf(pod: Pod, program: Program): Container | undefined {
  const { containers = [] } = pod.spec ?? {};
  return (
    containers.find((container) => runsProgram(container, program)) ??
    // An image that was renamed in a mirror.
    containers.find(({ name }) => name === program || name === shortNameOf(program))
  );
}

/** `v6.1.0` of `registry.example.com:5000/csi-attacher:v6.1.0@sha256:...`. Undefined: the image has no tag. */
export function tagOf({ image = '' }: Container): string | undefined {
  return /:([\w.-]+)$/.exec(image.replace(/@.*$/, '').split('/').at(-1) ?? '')?.[1];
}

export interface ContainerFacts {
  /** Variables expanded. */
  readonly args: readonly string[];
  readonly container: string;
  /** The tag of its image; undefined: it has none. */
  readonly version: string | undefined;
}

/** Facts about the container that runs the program. Undefined: the pod is not known, or has no such container. */
export function containerFactsOf(pod: Pod | undefined, program: Program): ContainerFacts | undefined {
  const container = pod && containerOf(pod, program);
  return container && { args: argumentsOf(container), container: container.name, version: tagOf(container) };
}

/** Whether a text of the container names the driver: its arguments, its variables, the paths that it mounts. */
export function namesDriver(spec: Pod['spec'], driver: string): boolean {
  const { containers = [], volumes = [] } = spec ?? {};
  // `a.example.com` is not named by `b.a.example.com`, nor by `a.example.com.au`.
  const name = driver.replaceAll(/[^a-zA-Z0-9-]/g, String.raw`\$&`);
  const whole = new RegExp(String.raw`(?<![\w.-])${name}(?![\w-]|\.(?!sock))`);
  const isNamed = (text: string | undefined): boolean => text !== undefined && whole.test(text);
  return (
    volumes.some(({ hostPath }) => isNamed(hostPath?.path)) ||
    containers.some(
      ({ args = [], command = [], env = [] }) =>
        [...args, ...command].some(isNamed) || env.some(({ value }) => isNamed(value)),
    )
  );
}

/** The arguments of a container, `$(NAME)` expanded from variables whose values the pod has itself, as kubelet does. */
export function argumentsOf({ command = [], args = [], env = [] }: Container): readonly string[] {
  const values = new Map(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const])));
  const words = [...command.slice(1), ...args];
  return words.map((word) =>
    word.replaceAll(/\$\(([A-Za-z_]\w*)\)/g, (literal, name: string) => values.get(name) ?? literal),
  );
}
