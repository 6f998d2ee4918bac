// SPDX-License-Identifier: Apache-2.0
/**
 * Since when upstream's programs use a right of our tables. Our tables are those of the newest releases; earlier ones did without these, and
 * their stock roles do not have them.
 */
import type { WantedRight } from '@csi-sidecars/sidecar';
import type { Program } from '../../verdict.ts';
import { isAtLeast, type Release, type Sidecar } from './sidecars.ts';

type First = readonly [major: number, minor: number, patch: number];

interface Step {
  readonly program: Program;
  readonly verbs: readonly string[];
  readonly resources: readonly string[];
  /** The first release of each branch that has it, oldest first; those after the last have it too. */
  readonly first: readonly [First, ...First[]];
}

const steps: readonly Step[] = [
  // A changed reclaim policy is followed.
  { program: 'csi-provisioner', verbs: ['patch'], resources: ['persistentvolumes'], first: [[5, 0, 0]] },
  // The source of a restore is protected.
  {
    program: 'csi-provisioner',
    verbs: ['update'],
    resources: ['volumesnapshots'],
    first: [
      [6, 0, 1],
      [6, 1, 1],
    ],
  },
  // Finalizers of sources that no claim needs are looked for.
  { program: 'csi-provisioner', verbs: ['list', 'watch'], resources: ['volumesnapshots'], first: [[6, 3, 0]] },
  { program: 'csi-attacher', verbs: ['patch'], resources: ['volumeattachments/status'], first: [[3, 0, 0]] },
  { program: 'csi-resizer', verbs: ['list', 'watch'], resources: ['pods'], first: [[1, 0, 0]] },
  // Health is stored in claims. Earlier releases wrote events.
  {
    program: 'csi-external-health-monitor-controller',
    verbs: ['patch'],
    resources: ['persistentvolumeclaims/status'],
    first: [[0, 19, 0]],
  },
  {
    program: 'csi-snapshotter',
    verbs: ['patch'],
    resources: ['volumesnapshotcontents', 'volumesnapshotcontents/status'],
    first: [[5, 0, 0]],
  },
  {
    program: 'snapshot-controller',
    verbs: ['patch'],
    resources: ['volumesnapshots', 'volumesnapshots/status', 'volumesnapshotcontents', 'volumesnapshotcontents/status'],
    first: [[5, 0, 0]],
  },
];

/** False: this release of upstream's program has no use for the right. Of an image without a version the newest is assumed. */
export function isUsedBy({ program, version, flavour }: Sidecar, { verb, resource }: WantedRight): boolean {
  if (flavour === 'ours' || version === undefined) return true;
  return steps
    .filter((step) => step.program === program && step.resources.includes(resource) && step.verbs.includes(verb))
    .every(({ first }) => isReached(version, first));
}

function isReached(version: Release, first: readonly First[]): boolean {
  const sameBranch = first.find(([major, minor]) => major === version.major && minor === version.minor);
  if (sameBranch !== undefined) return version.patch >= sameBranch[2];
  const [major = 0, minor = 0] = first.at(-1) ?? [];
  return isAtLeast(version, major, minor);
}
