// SPDX-License-Identifier: Apache-2.0
/** Which images exist: one per program under upstream's name and path, and one with all programs. */
import { manifests, type ProgramName } from '../../scripts/manifests.ts';

export interface ImageSpec {
  /** The last part of the reference, as upstream calls it. */
  readonly name: string;
  readonly programs: readonly ProgramName[];
  readonly entrypoint: `/${ProgramName}`;
  readonly description: string;
  /** The release of upstream that it can take the place of. None for the image that upstream does not have. */
  readonly upstream?: { readonly name: string; readonly version: string };
}

const combined = 'csi-sidecars';

type SingleName = Exclude<ProgramName, typeof combined>;

const about: Readonly<Record<SingleName, Required<Pick<ImageSpec, 'description' | 'upstream'>>>> = {
  'csi-provisioner': {
    description: 'CSI sidecar that provisions and deletes volumes',
    upstream: { name: 'external-provisioner', version: 'v6.4.0' },
  },
  'csi-attacher': {
    description: 'CSI sidecar that attaches volumes to nodes and detaches them',
    upstream: { name: 'external-attacher', version: 'v4.13.0' },
  },
  'csi-resizer': {
    description: 'CSI sidecar that expands and modifies volumes',
    upstream: { name: 'external-resizer', version: 'v2.3.0' },
  },
  'csi-snapshotter': {
    description: 'CSI sidecar that takes and deletes snapshots',
    upstream: { name: 'external-snapshotter', version: 'v8.7.0' },
  },
  'csi-external-health-monitor-controller': {
    description: 'CSI sidecar that shows the health of volumes in their claims',
    upstream: { name: 'external-health-monitor', version: 'v0.19.0' },
  },
  'snapshot-controller': {
    description: 'Controller of VolumeSnapshots and VolumeGroupSnapshots, one per cluster',
    upstream: { name: 'external-snapshotter', version: 'v8.7.0' },
  },
  'csi-snapshot-metadata': {
    description: 'CSI sidecar that answers which blocks of a snapshot hold data or differ',
    upstream: { name: 'external-snapshot-metadata', version: 'v1.1.0' },
  },
  'volume-data-source-validator': {
    description: 'Controller that warns of claims whose kind of data source is not registered, one per cluster',
    upstream: { name: 'volume-data-source-validator', version: 'v1.7.0' },
  },
  'snapshot-conversion-webhook': {
    description: 'Conversion webhook for the versions of VolumeGroupSnapshotContent',
    upstream: { name: 'external-snapshotter', version: 'v8.7.0' },
  },
  'csi-node-driver-registrar': {
    description: 'CSI sidecar that registers a driver with kubelet',
    upstream: { name: 'node-driver-registrar', version: 'v2.18.0' },
  },
  livenessprobe: {
    description: "CSI sidecar that offers a driver's health over HTTP",
    upstream: { name: 'livenessprobe', version: 'v2.20.0' },
  },
};

const isSingle = (name: ProgramName): name is SingleName => name !== combined;

/** A program with commands has a manifest for each. */
const names = [...new Set(manifests.map(({ name }) => name))];

export const imageSet: readonly ImageSpec[] = [
  ...names
    .filter(isSingle)
    .map((name): ImageSpec => ({ name, programs: [name], entrypoint: `/${name}`, ...about[name] })),
  {
    name: combined,
    programs: names,
    entrypoint: `/${combined}`,
    description: 'All CSI sidecars: several in one process, or each by its path',
  },
];

/** Kubernetes' convention: the version with a leading v. */
export function tagOf(version: string): string {
  return `v${version}`;
}

/** For tools that read upstream's version from the tag: `v6.4.0-0.1.0` is a version of semver before v6.4.0. */
export function compatibleTagOf({ upstream }: ImageSpec, version: string): string | undefined {
  return upstream === undefined ? undefined : `${upstream.version}-${version}`;
}
