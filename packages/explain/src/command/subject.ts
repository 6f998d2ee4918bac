// SPDX-License-Identifier: Apache-2.0
/** Which object a command line asks for: `pvc/data`, `pvc data`, `persistentvolumeclaims/data`, `volumesnapshot.snapshot.storage.k8s.io/a`. */
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type Resource,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { isDnsSubdomain, volumeGroupSnapshots, volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';

export type SubjectKind =
  | 'PersistentVolumeClaim'
  | 'PersistentVolume'
  | 'Pod'
  | 'VolumeAttachment'
  | 'VolumeSnapshot'
  | 'VolumeSnapshotContent'
  | 'VolumeGroupSnapshot';

interface KnownKind {
  readonly kind: SubjectKind;
  readonly resource: Resource;
  /** kubectl's short names, and the singular. */
  readonly names: readonly string[];
}

const known: readonly KnownKind[] = [
  { kind: 'PersistentVolumeClaim', resource: persistentVolumeClaims, names: ['pvc', 'persistentvolumeclaim'] },
  { kind: 'PersistentVolume', resource: persistentVolumes, names: ['pv', 'persistentvolume'] },
  { kind: 'Pod', resource: pods, names: ['po', 'pod'] },
  { kind: 'VolumeAttachment', resource: volumeAttachments, names: ['va', 'volumeattachment'] },
  { kind: 'VolumeSnapshot', resource: volumeSnapshots, names: ['vs', 'volumesnapshot'] },
  { kind: 'VolumeSnapshotContent', resource: volumeSnapshotContents, names: ['vsc', 'volumesnapshotcontent'] },
  { kind: 'VolumeGroupSnapshot', resource: volumeGroupSnapshots, names: ['vgs', 'volumegroupsnapshot'] },
];

export interface Subject {
  readonly kind: SubjectKind;
  readonly resource: Resource;
  /** Undefined for a kind of the whole cluster. */
  readonly namespace: string | undefined;
  readonly name: string;
}

export type ParsedSubject =
  | { readonly kind: 'subject'; readonly subject: Subject }
  | { readonly kind: 'mistake'; readonly message: string };

const usage = 'name one object: KIND/NAME';

export function parseSubject(words: readonly string[], namespace: string): ParsedSubject {
  const [first = '', second] = words;
  const parts = second === undefined ? first.split('/') : [first, second];
  const isOne = words.length === (second === undefined ? 1 : 2) && parts.length === 2;
  const [word = '', name = ''] = parts;
  if (!isOne || word === '' || name === '') return mistake(usage);
  const found = known.find((kind) => isNameOf(kind, word.toLowerCase()));
  if (found === undefined) {
    return mistake(`unknown kind ${JSON.stringify(word)}; known are ${known.map(({ names }) => names[0]).join(', ')}`);
  }
  if (!isDnsSubdomain(name)) return mistake(`${JSON.stringify(name)} is no name of an object`);
  const { kind, resource } = found;
  return { kind: 'subject', subject: { kind, resource, namespace: resource.namespaced ? namespace : undefined, name } };
}

function isNameOf({ names, resource: { plural, group } }: KnownKind, word: string): boolean {
  const [plain = '', ...rest] = word.split('.');
  const isGroup = rest.length === 0 || rest.join('.') === group;
  return isGroup && (plain === plural || names.includes(plain));
}

function mistake(message: string): ParsedSubject {
  return { kind: 'mistake', message };
}
