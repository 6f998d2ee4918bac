// SPDX-License-Identifier: Apache-2.0
/** VolumeGroupSnapshotContents among the kinds of content. */
import { snapshotFinalizers, volumeGroupSnapshotClasses, volumeGroupSnapshotContents } from '@csi-sidecars/volume';
import type { ContentKind } from '../content-types.ts';
import { readCreated } from './answer.ts';
import { annotations, type GroupSnapshotTypes, isDeletable, volumesOf } from './group-content.ts';
import { messages } from './messages.ts';
import { planCreation, planDeletion, planQuery, volumeNamesOf } from './request.ts';
import { clearedStatus, statusOf } from './status.ts';

export const groupSnapshotKind: ContentKind<GroupSnapshotTypes> = {
  resource: volumeGroupSnapshotContents,
  classes: volumeGroupSnapshotClasses,
  queueName: 'csi-snapshotter-groupsnapshotcontent',
  finalizer: snapshotFinalizers.groupContent,
  annotations,
  methods: {
    create: '/csi.v1.GroupController/CreateVolumeGroupSnapshot',
    query: '/csi.v1.GroupController/GetVolumeGroupSnapshot',
    delete: '/csi.v1.GroupController/DeleteVolumeGroupSnapshot',
  },
  rows: {
    gone: 'G1',
    foreign: 'G2',
    otherClass: 'G3',
    noCredentials: 'G4',
    delete: 'G5',
    clear: 'G6',
    release: 'G7',
    ready: 'G8',
    noRequest: 'G9',
    secret: 'G10',
    mark: 'G11',
    withdrawn: 'G25',
    create: 'G12',
    refused: 'G13',
    open: 'G14',
    unusable: 'G15',
    noQuery: 'G16',
    querySecret: 'G17',
    query: 'G18',
    queryFailed: 'G19',
    save: 'G20',
    unmark: 'G21',
    deletedMeanwhile: 'G22',
    finished: 'G23',
    notReady: 'G24',
  },
  messages,
  classNameOf: ({ spec }) => spec?.volumeGroupSnapshotClassName,
  referenceOf: ({ spec }) => spec?.volumeGroupSnapshotRef,
  isPreProvisioned: ({ spec }) => spec?.source?.groupSnapshotHandles !== undefined,
  hasSource: (content) => content.spec?.source?.groupSnapshotHandles !== undefined || volumesOf(content).length > 0,
  wayOf: ({ spec }) => (spec?.source?.groupSnapshotHandles === undefined ? 'create' : 'query'),
  volumesOf: volumeNamesOf,
  planCreation,
  planQuery,
  planDeletion,
  takesSnapshotAlong: isDeletable,
  statusOf,
  clearedStatus,
  readCreated,
};
