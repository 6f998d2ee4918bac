// SPDX-License-Identifier: Apache-2.0
/** The query of `/debug/explain`: `kind=pvc&key=NAMESPACE/NAME`, `kind=pv&key=NAME`, `kind=va&uid=UID`; none at all asks for a summary. */
import { type ObjectKey, toObjectKey } from '../informer/key.ts';
import type { Subject } from './inspected-loop.ts';

export type AskedSubject =
  | { readonly kind: 'asked'; readonly subject: Subject | undefined }
  | { readonly kind: 'mistake' };

/** kubectl's short names. A controller of another kind is asked by its plural. */
const shortNames: Readonly<Record<string, string>> = {
  pvc: 'persistentvolumeclaims',
  pv: 'persistentvolumes',
  va: 'volumeattachments',
  vs: 'volumesnapshots',
  vsc: 'volumesnapshotcontents',
  vgs: 'volumegroupsnapshots',
  vgsc: 'volumegroupsnapshotcontents',
};

const mostBytes = 512;
const mistake: AskedSubject = { kind: 'mistake' };
/** Every name and uid of an object consists of these. */
const part = '[a-z0-9](?:[a-z0-9.:-]*[a-z0-9])?';
const isKey = new RegExp(`^(?:(${part})/)?(${part})$`, 'i');
const isUid = new RegExp(`^${part}$`, 'i');

export function parseSubject(query: URLSearchParams): AskedSubject {
  const names = [...query.keys()];
  if (names.length === 0) return { kind: 'asked', subject: undefined };
  const given = { kind: query.get('kind') ?? '', key: query.get('key'), uid: query.get('uid') };
  const isOnce = names.length === 2 && names.includes('kind') && (given.key === null) !== (given.uid === null);
  if (!isOnce || [...query.values()].some((value) => Buffer.byteLength(value) > mostBytes)) return mistake;
  if (!/^[a-z]+$/.test(given.kind)) return mistake;
  const plural = Object.hasOwn(shortNames, given.kind) ? shortNames[given.kind]! : given.kind;
  if (given.uid !== null) return isUid.test(given.uid) ? asked({ plural, by: { uid: given.uid } }) : mistake;
  const key = objectKeyOf(given.key ?? '');
  return key === undefined ? mistake : asked({ plural, by: { key } });
}

function asked(subject: Subject): AskedSubject {
  return { kind: 'asked', subject };
}

function objectKeyOf(text: string): ObjectKey | undefined {
  const [, namespace, name] = isKey.exec(text) ?? [];
  return name === undefined ? undefined : toObjectKey(namespace, name);
}
