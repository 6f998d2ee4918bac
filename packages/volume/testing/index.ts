// SPDX-License-Identifier: Apache-2.0
/** The kinds of the snapshot API for the fake API server, as their definitions make them: custom resources without schema and CEL rules. */
import type { ResourceType } from '@csi-sidecars/runtime/testing';
import {
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../src/snapshots/resources.ts';

const custom = { custom: true, generation: true } as const;

export const snapshotTypes: readonly ResourceType[] = [
  { ...volumeSnapshots, ...custom, shortNames: ['vs'], status: 'statusOnly' },
  { ...volumeSnapshotContents, ...custom, shortNames: ['vsc', 'vscs'], status: 'statusOnly' },
  {
    ...volumeSnapshotClasses,
    ...custom,
    singular: 'volumesnapshotclass',
    shortNames: ['vsclass', 'vsclasses'],
    status: 'absent',
  },
];

export const groupSnapshotTypes: readonly ResourceType[] = [
  { ...volumeGroupSnapshots, ...custom, shortNames: ['vgs'], status: 'statusOnly' },
  { ...volumeGroupSnapshotContents, ...custom, shortNames: ['vgsc', 'vgscs'], status: 'statusOnly' },
  {
    ...volumeGroupSnapshotClasses,
    ...custom,
    singular: 'volumegroupsnapshotclass',
    shortNames: ['vgsclass', 'vgsclasses'],
    status: 'absent',
  },
];
