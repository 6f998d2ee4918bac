// SPDX-License-Identifier: Apache-2.0
/** Which content belongs to which snapshot. The same for single and for group snapshots. */
import type { KubeObject } from '@csi-sidecars/runtime';
import type { ContentReference } from './objects.ts';

/** The content refers to exactly this object: name, namespace and UID. */
export function isBoundTo(reference: ContentReference | undefined, { metadata }: KubeObject): boolean {
  const uid = reference?.uid;
  return uid !== undefined && uid === metadata?.uid && refersTo(reference, metadata);
}

/** As `isBoundTo`, or bound to no object yet: a pre-provisioned content whose UID is still to be filled in. */
export function mayBindTo(reference: ContentReference | undefined, { metadata }: KubeObject): boolean {
  const uid = reference?.uid ?? '';
  return refersTo(reference, metadata) && (uid === '' || uid === metadata?.uid);
}

function refersTo(reference: ContentReference | undefined, metadata: KubeObject['metadata']): boolean {
  return reference !== undefined && reference.name === metadata?.name && reference.namespace === metadata?.namespace;
}
