// SPDX-License-Identifier: Apache-2.0
/** What is known of releases: which are patched no more, and the oldest Kubernetes that each works with. */
import type { Program, Service } from '../../verdict.ts';
import { isAtLeast, type Sidecar, type Version } from './sidecars.ts';

/** `v1.37.2` and `v1.30.4-eks-abc`; undefined: it is no version. */
export function minorOf(text: string | undefined): Version | undefined {
  const [, major, minor] = /^v?(\d{1,3})\.(\d{1,3})(?:\D|$)/.exec(text ?? '') ?? [];
  return major === undefined ? undefined : { major: Number(major), minor: Number(minor) };
}

/** False as well if it is not known. */
export function isBelow(version: Version | undefined, { major, minor }: Version): boolean {
  return version !== undefined && !isAtLeast(version, major, minor);
}

export function versionText({ major, minor }: Version): string {
  return `${major}.${minor}`;
}

/** The oldest minor releases of upstream that still had patches in 2025: each minor release has them for a year. Absent: that is not known. */
export const oldestPatched: Readonly<Partial<Record<Program | Service, Version>>> = {
  'csi-provisioner': { major: 5, minor: 0 },
  'csi-attacher': { major: 4, minor: 6 },
  'csi-resizer': { major: 1, minor: 11 },
  'csi-snapshotter': { major: 8, minor: 0 },
  'snapshot-controller': { major: 8, minor: 0 },
};

/** The same as `kubeVersion` of the charts. */
export const oldestOfOurs: Version = { major: 1, minor: 30 };

/** The first Kubernetes whose claims have `status.healthStatus`. */
export const oldestWithHealth: Version = { major: 1, minor: 37 };

/** Of upstream, by major release, newest first: the minimum that its release notes name. */
const minimums: Readonly<
  Partial<Record<Program | Service, readonly { readonly from: number; readonly kubernetes: Version }[]>>
> = {
  'csi-provisioner': [
    { from: 6, kubernetes: { major: 1, minor: 34 } },
    { from: 3, kubernetes: { major: 1, minor: 20 } },
  ],
  'csi-attacher': [{ from: 3, kubernetes: { major: 1, minor: 17 } }],
  'csi-resizer': [{ from: 1, kubernetes: { major: 1, minor: 16 } }],
  'csi-snapshotter': [
    { from: 8, kubernetes: { major: 1, minor: 25 } },
    { from: 4, kubernetes: { major: 1, minor: 20 } },
  ],
  'snapshot-controller': [
    { from: 8, kubernetes: { major: 1, minor: 25 } },
    { from: 4, kubernetes: { major: 1, minor: 20 } },
  ],
};

/** Undefined: that is not known of this image. */
export function oldestKubernetes({ program, version, flavour }: Sidecar): Version | undefined {
  if (flavour === 'ours') return oldestOfOurs;
  if (flavour !== 'upstream' || version === undefined) return undefined;
  return minimums[program]?.find(({ from }) => version.major >= from)?.kubernetes;
}

const groupVersions = [
  { minor: 6, name: 'v1' },
  { minor: 4, name: 'v1beta2' },
  { minor: 2, name: 'v1beta1' },
];

/** The version of groupsnapshot.storage.k8s.io that csi-snapshotter or snapshot-controller asks for; undefined: not known. */
export function groupVersionOf({ version, flavour }: Sidecar): string | undefined {
  if (flavour === 'ours') return 'v1';
  if (flavour !== 'upstream') return undefined;
  return groupVersions.find(({ minor }) => isAtLeast(version, 8, minor))?.name;
}
