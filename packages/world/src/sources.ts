// SPDX-License-Identifier: Apache-2.0
/** Kinds of objects from which claims are to be filled. */

export interface SourceOfClaims {
  readonly group: string;
  readonly kind: string;
  /** `always` and `never`: through the whole story. `built-in`: no populator is needed. */
  readonly registered: 'always' | 'never' | 'sometimes' | 'built-in';
}

export const sourceKinds: readonly SourceOfClaims[] = [
  { group: 'example.com', kind: 'Backup', registered: 'always' },
  { group: 'example.com', kind: 'Image', registered: 'sometimes' },
  { group: 'example.com', kind: 'Bucket', registered: 'sometimes' },
  { group: 'other.example.com', kind: 'Tape', registered: 'never' },
  { group: '', kind: 'Secret', registered: 'never' },
  { group: '', kind: 'PersistentVolumeClaim', registered: 'built-in' },
  { group: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', registered: 'built-in' },
];

export function kindOfSource(kind: string): SourceOfClaims {
  const found = sourceKinds.find((each) => each.kind === kind);
  if (found === undefined) throw new Error(`unknown kind of sources ${kind}`);
  return found;
}
