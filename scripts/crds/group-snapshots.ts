// SPDX-License-Identifier: Apache-2.0
/** The three kinds of groupsnapshot.storage.k8s.io. v1 and v1beta2 are one schema; v1beta1 has fewer rules and another list of members. */
import type { Kind, Version } from './definition.ts';
import {
  boolean,
  exactlyOne,
  type Extras,
  type Fields,
  immutable,
  integer,
  list,
  notEmpty,
  object,
  type Rule,
  stays,
  string,
  stringMap,
  time,
} from './schema.ts';
import { errorField, policyField, referenceFields } from './snapshots.ts';

const group = 'groupsnapshot.storage.k8s.io';
const approved = '1337';
const optional = true;

type Generation = 'current' | 'v1beta1';

/** Rules that v1beta1 does not have. */
const since2 = (generation: Generation, ...rules: readonly Rule[]): Extras =>
  generation === 'current' ? { rules } : {};

const selector = object(
  'The claims, in the namespace of the group snapshot, of whose volumes snapshots are taken together.',
  {
    matchExpressions: list(
      'Conditions that all hold.',
      object('A condition on one label.', {
        key: string('The label.'),
        operator: string('In, NotIn, Exists or DoesNotExist.'),
        values: list('Values for In and NotIn.', string(undefined), { optional, 'x-kubernetes-list-type': 'atomic' }),
      }),
      { optional, 'x-kubernetes-list-type': 'atomic' },
    ),
    matchLabels: stringMap('Labels that all have these values.', { optional }),
  },
  { optional, 'x-kubernetes-map-type': 'atomic', rules: [immutable('selector is immutable')] },
);

function snapshotFields(generation: Generation): Fields {
  return {
    spec: object('What the user wants.', {
      source: object(
        'Where the group snapshot comes from. Exactly one of its fields is set, and it never changes.',
        {
          selector,
          volumeGroupSnapshotContentName: string('The content that stands for a group snapshot that exists already.', {
            optional,
            rules: [immutable('volumeGroupSnapshotContentName is immutable')],
          }),
        },
        {
          rules: [
            stays('selector'),
            stays('volumeGroupSnapshotContentName'),
            exactlyOne('selector', 'volumeGroupSnapshotContentName'),
          ],
        },
      ),
      volumeGroupSnapshotClassName: string(
        'The class of the group snapshot. Without it the default class of the driver is filled in.',
        { optional, rules: [notEmpty('volumeGroupSnapshotClassName')] },
      ),
    }),
    status: object(
      'What is known about the group snapshot.',
      {
        boundVolumeGroupSnapshotContentName: string(
          'The content that the group snapshot is bound to. The binding holds only if the content refers back to this object.',
          { optional, ...since2(generation, immutable('boundVolumeGroupSnapshotContentName is immutable once set')) },
        ),
        creationTime: time('When the data were cut.', { optional }),
        error: errorField,
        readyToUse: boolean('Whether all members can be restored. Absent: unknown.', { optional }),
      },
      { optional },
    ),
  };
}

function contentFields(generation: Generation): Fields {
  return {
    spec: object('What the content stands for.', {
      deletionPolicy: policyField(),
      driver: string(
        'Name of the CSI driver that made the group snapshot, or will make it.',
        since2(generation, immutable('driver is immutable once set')),
      ),
      source: object(
        'Where the group snapshot comes from. Exactly one of its fields is set, and it never changes.',
        {
          groupSnapshotHandles: object(
            'A group snapshot that exists already.',
            {
              volumeGroupSnapshotHandle: string('Its CSI group_snapshot_id.'),
              volumeSnapshotHandles: list('The CSI snapshot_id of each of its members.', string(undefined)),
            },
            { optional, rules: [immutable('groupSnapshotHandles is immutable')] },
          ),
          volumeHandles: list(
            'CSI volume_id of the volumes of which snapshots are taken together.',
            string(undefined),
            {
              optional,
              rules: [immutable('volumeHandles is immutable')],
            },
          ),
        },
        {
          rules: [
            stays('volumeHandles'),
            stays('groupSnapshotHandles'),
            exactlyOne('volumeHandles', 'groupSnapshotHandles'),
          ],
        },
      ),
      volumeGroupSnapshotClassName: string('The class that the group snapshot was made with. It may be gone by now.', {
        optional,
        ...since2(generation, immutable('volumeGroupSnapshotClassName is immutable once set')),
      }),
      volumeGroupSnapshotRef: object(
        'The VolumeGroupSnapshot that the content is bound to. Name and namespace must be set.',
        referenceFields,
        { 'x-kubernetes-map-type': 'atomic', rules: referenceRules(generation) },
      ),
    }),
    status: object(
      'What the CSI driver reports.',
      {
        creationTime: time('When the data were cut.', { optional }),
        error: errorField,
        readyToUse: boolean('Whether all members can be restored. Absent: unknown.', { optional }),
        volumeGroupSnapshotHandle: string('CSI group_snapshot_id. Absent until the group snapshot was made.', {
          optional,
          ...since2(generation, immutable('volumeGroupSnapshotHandle is immutable once set')),
        }),
        ...(generation === 'current' ? { volumeSnapshotInfoList: members } : { volumeSnapshotHandlePairList: pairs }),
      },
      { optional },
    ),
  };
}

function referenceRules(generation: Generation): readonly Rule[] {
  const named: Rule = {
    rule: 'has(self.name) && has(self.__namespace__)',
    message: 'both volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace must be set',
  };
  if (generation === 'v1beta1') return [named];
  return [
    named,
    {
      rule: 'self.name == oldSelf.name && self.__namespace__ == oldSelf.__namespace__',
      message: 'volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace are immutable',
    },
    {
      rule: '!has(oldSelf.uid) || (has(self.uid) && self.uid == oldSelf.uid)',
      message: 'volumeGroupSnapshotRef.uid is immutable once set',
    },
  ];
}

const members = list(
  'The members of the group snapshot.',
  object('A snapshot of one volume.', {
    creationTime: integer('When the data were cut, in nanoseconds since 1970.', { optional }),
    readyToUse: boolean('Whether the member can be restored.', { optional }),
    restoreSize: integer('The least size, in bytes, of a volume made from the member.', { optional }),
    snapshotHandle: string('CSI snapshot_id of the member.', { optional }),
    volumeHandle: string('CSI volume_id of its volume.', { optional }),
  }),
  { optional },
);

const pairs = list(
  'The members of the group snapshot.',
  object('A snapshot of one volume.', {
    snapshotHandle: string('CSI snapshot_id of the member.'),
    volumeHandle: string('CSI volume_id of its volume.'),
  }),
  { optional },
);

function classFields(generation: Generation): Fields {
  const once = (name: string, verb = 'is'): Extras =>
    since2(generation, immutable(`${name} ${verb} immutable once set`));
  return {
    deletionPolicy: policyField(once('deletionPolicy')),
    driver: string('Name of the CSI driver that the class is for.', once('driver')),
    parameters: stringMap('Parameters for the driver. Kubernetes does not look at them.', {
      optional,
      ...once('parameters', 'are'),
    }),
  };
}

function versions(fields: (generation: Generation) => Fields): readonly Version[] {
  return [
    { name: 'v1', served: true, fields: fields('current') },
    { name: 'v1beta1', served: true, deprecated: true, fields: fields('v1beta1') },
    { name: 'v1beta2', served: true, storage: true, fields: fields('current') },
  ];
}

export const groupSnapshotKinds: readonly Kind[] = [
  {
    group,
    kind: 'VolumeGroupSnapshot',
    shortNames: ['vgs'],
    scope: 'Namespaced',
    approved,
    description: 'Snapshots of several volumes, cut at the same time, as a user asks for them.',
    hasStatus: true,
    columns: [
      ['ReadyToUse', 'boolean', '.status.readyToUse', 'Whether all members can be restored.'],
      ['VolumeGroupSnapshotClass', 'string', '.spec.volumeGroupSnapshotClassName', 'Its class.'],
      [
        'VolumeGroupSnapshotContent',
        'string',
        '.status.boundVolumeGroupSnapshotContentName',
        'The content that it is bound to.',
      ],
      ['CreationTime', 'date', '.status.creationTime', 'When the data were cut.'],
    ],
    versions: versions(snapshotFields),
  },
  {
    group,
    kind: 'VolumeGroupSnapshotContent',
    shortNames: ['vgsc', 'vgscs'],
    scope: 'Cluster',
    approved,
    description: 'A group snapshot on the storage system.',
    hasStatus: true,
    columns: [
      ['ReadyToUse', 'boolean', '.status.readyToUse', 'Whether all members can be restored.'],
      [
        'DeletionPolicy',
        'string',
        '.spec.deletionPolicy',
        'What happens to the data when the group snapshot is deleted.',
      ],
      ['Driver', 'string', '.spec.driver', 'Its CSI driver.'],
      ['VolumeGroupSnapshotClass', 'string', '.spec.volumeGroupSnapshotClassName', 'Its class.'],
      [
        'VolumeGroupSnapshotNamespace',
        'string',
        '.spec.volumeGroupSnapshotRef.namespace',
        'The namespace of the VolumeGroupSnapshot that it is bound to.',
      ],
      [
        'VolumeGroupSnapshot',
        'string',
        '.spec.volumeGroupSnapshotRef.name',
        'The VolumeGroupSnapshot that it is bound to.',
      ],
    ],
    versions: versions(contentFields),
  },
  {
    group,
    kind: 'VolumeGroupSnapshotClass',
    shortNames: ['vgsclass', 'vgsclasses'],
    scope: 'Cluster',
    approved,
    description: 'How group snapshots of a driver are made. Its fields are not below spec.',
    hasStatus: false,
    columns: [
      ['Driver', 'string', '.driver', 'Its CSI driver.'],
      [
        'DeletionPolicy',
        'string',
        '.deletionPolicy',
        'What happens to the data when a group snapshot of the class is deleted.',
      ],
    ],
    versions: versions(classFields),
  },
];
