// SPDX-License-Identifier: Apache-2.0
/** The three kinds of snapshot.storage.k8s.io. Structure, rules and messages are a contract with other programs; the descriptions are ours. */
import type { Kind } from './definition.ts';
import {
  boolean,
  exactlyOne,
  type Extras,
  type Field,
  type Fields,
  immutable,
  integer,
  notEmpty,
  object,
  type Rule,
  stays,
  string,
  stringMap,
  time,
} from './schema.ts';

const group = 'snapshot.storage.k8s.io';
export const policies: readonly string[] = ['Delete', 'Retain'];
const optional = true;

export const errorField: Field = object(
  'The last error, if there was one. It is removed when a later attempt succeeds.',
  {
    message: string('What went wrong. It may be logged, so it holds nothing secret.', { optional }),
    time: time('When the error was seen.', { optional }),
  },
  { optional },
);

/** A core ObjectReference. */
export const referenceFields: Fields = {
  apiVersion: string('API version of the object.', { optional }),
  fieldPath: string('Part of the object, if not the whole object is meant. Not used.', { optional }),
  kind: string('Kind of the object.', { optional }),
  name: string('Name of the object.', { optional }),
  namespace: string('Namespace of the object.', { optional }),
  resourceVersion: string('Resource version of the object when the reference was made.', { optional }),
  uid: string('UID of the object. Empty in a pre-provisioned content until it is bound.', { optional }),
};

export const policyField = (extras: Extras = {}): Field =>
  string('Whether the data on the storage system are deleted (Delete) or kept (Retain) when the snapshot is deleted.', {
    enum: policies,
    ...extras,
  });

const quantityPattern =
  '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$';

/** v1 has the rules and the field of groups; v1beta1 has neither. */
function snapshotFields(version: 'v1' | 'v1beta1'): Fields {
  const isV1 = version === 'v1';
  const only = (rules: readonly Rule[]): Extras => (isV1 ? { rules } : {});
  return {
    spec: object('What the user wants.', {
      source: object(
        'Where the snapshot comes from. Exactly one of its fields is set, and it never changes.',
        {
          persistentVolumeClaimName: string(
            'The claim, in the namespace of the snapshot, of whose volume a snapshot is taken.',
            { optional, ...only([immutable('persistentVolumeClaimName is immutable')]) },
          ),
          volumeSnapshotContentName: string('The content that stands for a snapshot that exists already.', {
            optional,
            ...only([immutable('volumeSnapshotContentName is immutable')]),
          }),
        },
        only([
          stays('persistentVolumeClaimName'),
          stays('volumeSnapshotContentName'),
          exactlyOne('volumeSnapshotContentName', 'persistentVolumeClaimName'),
        ]),
      ),
      volumeSnapshotClassName: string(
        'The class of the snapshot. Without it the default class of the driver is filled in; a pre-provisioned snapshot needs none.',
        { optional, ...only([notEmpty('volumeSnapshotClassName')]) },
      ),
    }),
    status: object(
      'What is known about the snapshot.',
      {
        boundVolumeSnapshotContentName: string(
          'The content that the snapshot is bound to. The binding holds only if the content refers back to this object.',
          { optional },
        ),
        creationTime: time('When the data were cut.', { optional }),
        error: errorField,
        readyToUse: boolean('Whether a volume can be made from the snapshot. Absent: unknown.', { optional }),
        restoreSize: {
          isRequired: false,
          schema: {
            type: 'string',
            description: 'The least size of a volume made from the snapshot.',
            pattern: quantityPattern,
            'x-kubernetes-int-or-string': true,
          },
        },
        ...(isV1
          ? { volumeGroupSnapshotName: string('The group snapshot that the snapshot is a member of.', { optional }) }
          : {}),
      },
      { optional },
    ),
  };
}

function contentFields(version: 'v1' | 'v1beta1'): Fields {
  const isV1 = version === 'v1';
  const only = (rules: readonly Rule[]): Extras => (isV1 ? { rules } : {});
  return {
    spec: object(
      'What the content stands for.',
      {
        deletionPolicy: policyField(),
        driver: string('Name of the CSI driver that made the snapshot, or will make it.'),
        source: object(
          'Where the snapshot comes from. Exactly one of its fields is set, and it never changes.',
          {
            snapshotHandle: string('CSI snapshot_id of a snapshot that exists already.', {
              optional,
              ...only([immutable('snapshotHandle is immutable')]),
            }),
            volumeHandle: string('CSI volume_id of the volume of which a snapshot is taken.', {
              optional,
              ...only([immutable('volumeHandle is immutable')]),
            }),
          },
          only([stays('volumeHandle'), stays('snapshotHandle'), exactlyOne('volumeHandle', 'snapshotHandle')]),
        ),
        ...(isV1
          ? {
              sourceVolumeMode: string('Filesystem or Block: the mode of the source volume. Absent: unknown.', {
                optional,
                rules: [immutable('sourceVolumeMode is immutable')],
              }),
            }
          : {}),
        volumeSnapshotClassName: string('The class that the snapshot was made with. It may be gone by now.', {
          optional,
        }),
        volumeSnapshotRef: object(
          'The VolumeSnapshot that the content is bound to. Name and namespace must be set.',
          referenceFields,
          isV1
            ? {
                'x-kubernetes-map-type': 'atomic',
                rules: [
                  {
                    rule: 'has(self.name) && has(self.__namespace__)',
                    message: 'both spec.volumeSnapshotRef.name and spec.volumeSnapshotRef.namespace must be set',
                  },
                ],
              }
            : {},
        ),
      },
      only([stays('sourceVolumeMode')]),
    ),
    status: object(
      'What the CSI driver reports.',
      {
        creationTime: integer('When the data were cut, in nanoseconds since 1970.', { optional }),
        error: errorField,
        readyToUse: boolean('Whether a volume can be made from the snapshot. Absent: unknown.', { optional }),
        restoreSize: integer('The least size, in bytes, of a volume made from the snapshot.', { optional, minimum: 0 }),
        snapshotHandle: string('CSI snapshot_id on the storage system. Absent until the snapshot was made.', {
          optional,
        }),
        ...(isV1
          ? {
              volumeGroupSnapshotHandle: string(
                'CSI group_snapshot_id of the group snapshot that the snapshot is a member of.',
                { optional },
              ),
            }
          : {}),
      },
      { optional },
    ),
  };
}

const classFields: Fields = {
  driver: string('Name of the CSI driver that the class is for.'),
  deletionPolicy: policyField(),
  parameters: stringMap('Parameters for the driver. Kubernetes does not look at them.', { optional }),
};

function versions(kind: string, fields: (version: 'v1' | 'v1beta1') => Fields): Kind['versions'] {
  return [
    { name: 'v1', served: true, storage: true, fields: fields('v1') },
    {
      name: 'v1beta1',
      served: false,
      deprecated: true,
      deprecationWarning: `snapshot.storage.k8s.io/v1beta1 ${kind} is deprecated; use snapshot.storage.k8s.io/v1 ${kind}`,
      fields: fields('v1beta1'),
    },
  ];
}

export const snapshotKinds: readonly Kind[] = [
  {
    group,
    kind: 'VolumeSnapshot',
    shortNames: ['vs'],
    scope: 'Namespaced',
    approved: '814',
    description: 'A snapshot of a volume, as a user asks for it.',
    hasStatus: true,
    columns: [
      ['ReadyToUse', 'boolean', '.status.readyToUse', 'Whether it can be restored.'],
      ['SourcePVC', 'string', '.spec.source.persistentVolumeClaimName', 'The claim of which it was taken.'],
      [
        'SourceSnapshotContent',
        'string',
        '.spec.source.volumeSnapshotContentName',
        'The content of a snapshot that existed before.',
      ],
      ['RestoreSize', 'string', '.status.restoreSize', 'The least size of a restored volume.'],
      ['SnapshotClass', 'string', '.spec.volumeSnapshotClassName', 'Its class.'],
      ['SnapshotContent', 'string', '.status.boundVolumeSnapshotContentName', 'The content that it is bound to.'],
      ['CreationTime', 'date', '.status.creationTime', 'When the data were cut.'],
    ],
    versions: versions('VolumeSnapshot', snapshotFields),
  },
  {
    group,
    kind: 'VolumeSnapshotContent',
    shortNames: ['vsc', 'vscs'],
    scope: 'Cluster',
    approved: '955',
    description: 'A snapshot on the storage system.',
    hasStatus: true,
    columns: [
      ['ReadyToUse', 'boolean', '.status.readyToUse', 'Whether it can be restored.'],
      ['RestoreSize', 'integer', '.status.restoreSize', 'The least size of a restored volume, in bytes.'],
      ['DeletionPolicy', 'string', '.spec.deletionPolicy', 'What happens to the data when the snapshot is deleted.'],
      ['Driver', 'string', '.spec.driver', 'Its CSI driver.'],
      ['VolumeSnapshotClass', 'string', '.spec.volumeSnapshotClassName', 'Its class.'],
      ['VolumeSnapshot', 'string', '.spec.volumeSnapshotRef.name', 'The VolumeSnapshot that it is bound to.'],
      [
        'VolumeSnapshotNamespace',
        'string',
        '.spec.volumeSnapshotRef.namespace',
        'The namespace of that VolumeSnapshot.',
      ],
    ],
    versions: versions('VolumeSnapshotContent', contentFields),
  },
  {
    group,
    kind: 'VolumeSnapshotClass',
    shortNames: ['vsclass', 'vsclasses'],
    scope: 'Cluster',
    approved: '814',
    description: 'How snapshots of a driver are made. Its fields are not below spec.',
    hasStatus: false,
    columns: [
      ['Driver', 'string', '.driver', 'Its CSI driver.'],
      [
        'DeletionPolicy',
        'string',
        '.deletionPolicy',
        'What happens to the data when a snapshot of the class is deleted.',
      ],
    ],
    versions: versions('VolumeSnapshotClass', () => classFields),
  },
];
