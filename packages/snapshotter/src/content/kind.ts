// SPDX-License-Identifier: Apache-2.0
/** VolumeSnapshotContents among the kinds of content. */
import {
  snapshotAnnotations,
  snapshotFinalizers,
  volumeSnapshotClasses,
  volumeSnapshotContents,
} from '@csi-sidecars/volume';
import { readCreated } from './answer.ts';
import { deletedHandleOf } from './content.ts';
import { messages } from './messages.ts';
import type { SnapshotKind } from './state.ts';
import { clearedStatus, statusOf } from './status.ts';

export const snapshotKind: SnapshotKind = {
  resource: volumeSnapshotContents,
  classes: volumeSnapshotClasses,
  queueName: 'csi-snapshotter-content',
  finalizer: snapshotFinalizers.content,
  annotations: {
    beingCreated: snapshotAnnotations.beingCreated,
    beingDeleted: snapshotAnnotations.beingDeleted,
    secretName: snapshotAnnotations.deletionSecretName,
    secretNamespace: snapshotAnnotations.deletionSecretNamespace,
  },
  methods: {
    create: '/csi.v1.Controller/CreateSnapshot',
    query: '/csi.v1.Controller/ListSnapshots',
    delete: '/csi.v1.Controller/DeleteSnapshot',
  },
  rows: {
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
  takesSnapshotAlong: (content) => deletedHandleOf(content) !== undefined,
  statusOf,
  clearedStatus,
  readCreated,
};
