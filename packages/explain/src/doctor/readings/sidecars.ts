// SPDX-License-Identifier: Apache-2.0
/** Workloads, and the sidecars in their containers: program, version, whose, and how it is called. */
import type { Pod } from '@csi-sidecars/runtime';
import { allPrograms, registrarOf, runsProgram, shortNameOf } from '../../actors/programs.ts';
import type { Workload } from '../../cluster/kinds.ts';
import { createdMs, nameOf } from '../../facts/objects.ts';
import type { ObjectName, Program, Service } from '../../verdict.ts';
import { type Arguments, argumentsOf, type Container } from './arguments.ts';

export const driverPrograms = [
  'csi-provisioner',
  'csi-attacher',
  'csi-resizer',
  'csi-snapshotter',
  'csi-external-health-monitor-controller',
] as const;
export const clusterPrograms = ['snapshot-controller', 'volume-data-source-validator'] as const;

export interface Version {
  readonly major: number;
  readonly minor: number;
}

export interface Release extends Version {
  /** 0 if the tag does not say it. */
  readonly patch: number;
}

export interface Sidecar {
  readonly program: Program | Service;
  readonly container: Container;
  readonly arguments: Arguments;
  /** By the tag of the image; undefined: it has none that is a version. */
  readonly version: Release | undefined;
  readonly flavour: 'ours' | 'upstream' | 'unknown';
  /** One process runs several programs: `csi-sidecars --controllers=...`; or the validator beside snapshot-controller. */
  readonly isCombined: boolean;
}

export type WorkloadKind = 'Deployment' | 'StatefulSet' | 'DaemonSet';

export interface WorkloadFacts {
  readonly object: ObjectName & { readonly kind: WorkloadKind; readonly namespace: string };
  readonly createdMs: number | undefined;
  /** The service account of its pods. */
  readonly account: string;
  /** Of a DaemonSet: 1. */
  readonly replicas: number;
  /** While it is changed, an old pod and a new one run at the same time. */
  readonly isSurging: boolean;
  readonly isRollingOut: boolean;
  /** Of a DaemonSet. */
  readonly scheduled: { readonly desired: number; readonly ready: number };
  readonly maxSurge: number | string | undefined;
  readonly spec: NonNullable<Pod['spec']>;
  readonly sidecars: readonly Sidecar[];
  /** The container that registers a driver with kubelet. */
  readonly registrar: Container | undefined;
}

/** A sidecar, and the workload that it is a container of. */
export interface Running {
  readonly workload: WorkloadFacts;
  readonly sidecar: Sidecar;
}

/** A sidecar that can be elected: it has a Lease. */
export function hasLease<T extends { readonly program: Program | Service }>(
  sidecar: T,
): sidecar is T & { readonly program: Program } {
  return sidecar.program !== 'csi-snapshot-metadata';
}

/** Upstream's releases before 0.19 write events in place of the health of claims. */
export function writesHealth({ program, flavour, version }: Sidecar): boolean {
  const isEarlier = flavour === 'upstream' && version !== undefined && !isAtLeast(version, 0, 19);
  return program === 'csi-external-health-monitor-controller' && !isEarlier;
}

export function running(
  workloads: readonly WorkloadFacts[],
  ...programs: readonly (Program | Service)[]
): readonly Running[] {
  return workloads.flatMap((workload) =>
    workload.sidecars.filter(({ program }) => programs.includes(program)).map((sidecar) => ({ workload, sidecar })),
  );
}

export function workloadFactsOf(kind: WorkloadKind, workload: Workload): WorkloadFacts | undefined {
  const spec = workload.spec?.template?.spec;
  if (spec === undefined) return undefined;
  const { status = {}, metadata } = workload;
  const { replicas = 1, strategy, updateStrategy } = workload.spec ?? {};
  const isDaemonSet = kind === 'DaemonSet';
  const maxSurge = (isDaemonSet ? updateStrategy : strategy)?.rollingUpdate?.maxSurge;
  const desired = isDaemonSet ? (status.desiredNumberScheduled ?? 0) : replicas;
  const updated = (isDaemonSet ? status.updatedNumberScheduled : status.updatedReplicas) ?? desired;
  return {
    object: { kind, namespace: metadata?.namespace ?? '', name: nameOf(workload), uid: metadata?.uid },
    createdMs: createdMs(workload),
    account: spec.serviceAccountName ?? 'default',
    replicas: isDaemonSet ? 1 : replicas,
    isSurging: kind === 'Deployment' && strategy?.type !== 'Recreate' && maxSurge !== 0 && maxSurge !== '0%',
    isRollingOut: updated < desired,
    scheduled: { desired, ready: status.numberReady ?? 0 },
    maxSurge,
    spec,
    sidecars: spec.containers.flatMap(sidecarsIn),
    registrar: registrarOf(spec),
  };
}

export function sidecarsIn(container: Container): readonly Sidecar[] {
  const programs = allPrograms.filter((program) => runsProgram(container, program));
  if (programs.length === 0) return [];
  const read = argumentsOf(container);
  const isCombined = read.values.has('controllers');
  const sidecarOf = (program: Program | Service): Sidecar => ({
    program,
    container,
    arguments: read,
    version: versionOf(container.image),
    flavour: flavourOf(container.image, isCombined),
    isCombined,
  });
  return programs.map(sidecarOf).flatMap((sidecar) => [sidecar, ...besideIt(sidecar)]);
}

/** The validator in the process of snapshot-controller. Only ours has the flag. */
function besideIt(sidecar: Sidecar): readonly Sidecar[] {
  const isBeside = sidecar.program === 'snapshot-controller' && isOn(sidecar, 'enable-data-source-validator');
  return isBeside ? [{ ...sidecar, program: 'volume-data-source-validator', flavour: 'ours', isCombined: true }] : [];
}

function versionOf(image = ''): Release | undefined {
  const tag = /:v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?(?:[.\-+][\w.+-]*)?(?:@.*)?$/;
  const [, major, minor, patch = '0'] = tag.exec(image) ?? [];
  return major === undefined ? undefined : { major: Number(major), minor: Number(minor), patch: Number(patch) };
}

function flavourOf(image = '', isCombined: boolean): Sidecar['flavour'] {
  if (isCombined || /(^|\/)csi-sidecars([/:@]|$)/.test(image)) return 'ours';
  return /(^|\/)sig-storage\//.test(image) ? 'upstream' : 'unknown';
}

export function isAtLeast(version: Version | undefined, major: number, minor = 0): boolean {
  return version !== undefined && (version.major > major || (version.major === major && version.minor >= minor));
}

/** The value of a flag; undefined: it is not given. In a combined process the flag of the program wins over that of all. */
export function flagOf({ program, arguments: { values }, isCombined }: Sidecar, name: string): string | undefined {
  const own = isCombined ? values.get(`${shortNameOf(program)}-${name}`) : undefined;
  return own ?? values.get(name);
}

export function isOn(sidecar: Sidecar, name: string, byDefault = false): boolean {
  const value = flagOf(sidecar, name);
  return value === undefined ? byDefault : /^(1|t|true)$/i.test(value);
}

/** The value of a feature gate; undefined: it is not given. */
export function gateOf(sidecar: Sidecar, gate: string): boolean | undefined {
  const gates = (flagOf(sidecar, 'feature-gates') ?? '').split(',').map((each) => each.split('='));
  const value = gates.findLast(([name]) => name?.trim() === gate)?.[1];
  return value === undefined ? undefined : /^(1|t|true)$/i.test(value.trim());
}

/** Replicas elect one of them. */
export function elects(sidecar: Sidecar): boolean {
  return isOn(sidecar, 'leader-election');
}

/** `--leader-election-namespace`, else `POD_NAMESPACE`, else that of the pod. */
export function electionNamespace(sidecar: Sidecar, { object }: WorkloadFacts): string {
  const variable = sidecar.container.env?.find(({ name }) => name === 'POD_NAMESPACE')?.value ?? '';
  return flagOf(sidecar, 'leader-election-namespace') || variable || object.namespace;
}
