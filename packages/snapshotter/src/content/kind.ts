// SPDX-License-Identifier: Apache-2.0
/** VolumeSnapshotContents among the kinds of content. */
import {
  ok,
  snapshotFinalizers,
  type VolumeSnapshotContent,
  volumeSnapshotClasses,
  volumeSnapshotContents,
} from '@csi-sidecars/volume';
import type { ContentKind } from '../content-types.ts';
import { readCreated } from './answer.ts';
import {
  annotations,
  deletedHandleOf,
  isGrouped,
  isMember,
  type SnapshotTypes,
  statusHandleOf,
  volumeOf,
} from './content.ts';
import { messages } from './messages.ts';
import { snapshotPlaces } from './places.ts';
import { planCreation, planQuery } from './request.ts';
import { clearedStatus, statusOf } from './status.ts';

export const snapshotKind: ContentKind<SnapshotTypes> = {
  resource: volumeSnapshotContents,
  classes: volumeSnapshotClasses,
  queueName: 'csi-snapshotter-content',
  finalizer: snapshotFinalizers.content,
  annotations,
  methods: {
    create: '/csi.v1.Controller/CreateSnapshot',
    query: '/csi.v1.Controller/ListSnapshots',
    delete: '/csi.v1.Controller/DeleteSnapshot',
  },
  rows: {
    gone: 'C1',
    foreign: 'C2',
    otherClass: 'C3',
    noCredentials: 'C4',
    delete: 'C5',
    clear: 'C6',
    release: 'C7',
    ready: 'C8',
    noRequest: 'C10',
    secret: 'C11',
    mark: 'C12',
    withdrawn: 'C26',
    create: 'C13',
    refused: 'C14',
    open: 'C15',
    unusable: 'C16',
    noQuery: 'C17',
    querySecret: 'C18',
    query: 'C19',
    queryFailed: 'C20',
    save: 'C21',
    unmark: 'C22',
    deletedMeanwhile: 'C23',
    finished: 'C24',
    notReady: 'C25',
  },
  messages,
  classNameOf: ({ spec }) => spec?.volumeSnapshotClassName,
  referenceOf: ({ spec }) => spec?.volumeSnapshotRef,
  isPreProvisioned: ({ spec }) => spec?.source?.snapshotHandle !== undefined,
  hasSource: ({ spec }) => spec?.source?.volumeHandle !== undefined || spec?.source?.snapshotHandle !== undefined,
  wayOf: (content) => {
    if (content.spec?.source?.snapshotHandle !== undefined) return 'query';
    if (isGrouped(content) && statusHandleOf(content) !== undefined) return 'query';
    return isMember(content) ? 'group' : 'create';
  },
  volumesOf: volumeOf,
  planCreation,
  planQuery,
  planDeletion: (content) => ok({ snapshot_id: deletedHandleOf(content) ?? '' }),
  alsoMatters: memberGotHandle,
  takesSnapshotAlong: (content) => deletedHandleOf(content) !== undefined,
  places: snapshotPlaces,
  statusOf,
  clearedStatus,
  readCreated,
};

/** snapshot-controller filled in the status of a member, which this program never does. */
function memberGotHandle(previous: VolumeSnapshotContent, current: VolumeSnapshotContent): boolean {
  return isMember(current) && statusHandleOf(previous) === undefined && statusHandleOf(current) !== undefined;
}
