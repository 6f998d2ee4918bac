// SPDX-License-Identifier: Apache-2.0
/** Rows X11, X13, X14, X23 and X24: what the class of a claim names and does not exist, or does not fit. */
import { toSecretReference } from '@csi-sidecars/provisioner';
import {
  csiDrivers,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  secrets,
  type StorageClass,
  storageClasses,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import { nearest } from '@csi-sidecars/sidecar';
import { leaderOf } from '../actors/leader.ts';
import { valueOf } from '../cluster/reader.ts';
import { annotationOf, nameOf, objectName } from '../facts/objects.ts';
import type { Verdict } from '../verdict.ts';
import { byItself, change, type Context, getYaml, onChange, sinceCreated, verdictOf } from './context.ts';

const defaultClass = 'storageclass.kubernetes.io/is-default-class';

export async function withoutClass({ reader }: Context, claim: PersistentVolumeClaim): Promise<Verdict> {
  const all = await reader.list(storageClasses, { most: 1 }, 'whether a class is the default');
  const hasDefault = valueOf(all)?.some((each) => annotationOf(each, defaultClass) === 'true');
  if (hasDefault === false) {
    return verdictOf(['X11', 4, 'administrator', 'class'], 'the claim names no class, and no class is the default', {
      changes: [
        change(`annotate a class with ${defaultClass}=true`),
        change(
          'make the claim again with a class',
          objectName('PersistentVolumeClaim', claim),
          'spec.storageClassName',
        ),
      ],
      retry: onChange('when a class becomes the default'),
      findings: ['class-1'],
      next: { argv: ['kubectl', 'get', 'storageclass'], sentence: 'the classes that there are' },
    });
  }
  const exit = hasDefault === true ? 3 : 5;
  return verdictOf(
    ['X20', exit, 'kube-controller-manager', 'class'],
    'the claim names no class: kube-controller-manager gives it the default one',
    {
      since: sinceCreated(claim),
      next: { argv: ['kubectl', 'get', 'storageclass'], sentence: 'which class is the default' },
    },
  );
}

export async function missingClass({ reader }: Context, name: string): Promise<Verdict> {
  const all = valueOf(await reader.list(storageClasses, { most: 1 }, 'which classes there are')) ?? [];
  const meant = nearest(name, all.map(nameOf));
  const hint = meant === undefined ? '' : `; there is ${meant}`;
  return verdictOf(['X13', 4, 'user', 'class'], `class ${name} does not exist${hint}`, {
    changes: [
      {
        what: `make the class ${name}, or the claim again with another`,
        object: { kind: 'StorageClass', name },
        field: undefined,
      },
    ],
    retry: onChange('when the class exists'),
    next: { argv: ['kubectl', 'get', 'storageclass'], sentence: 'the classes that there are' },
  });
}

/** A provisioner without CSIDriver may still be one: its Lease, which the liveness of the actor shows, decides. */
export async function missingDriver(
  { reader }: Context,
  driver: string,
  className: string,
): Promise<Verdict | undefined> {
  const read = await reader.get(csiDrivers, { name: driver }, 'whether the driver is installed');
  if (read.kind !== 'absent') return undefined;
  const leader = await leaderOf(reader, { program: 'csi-provisioner', driver, namespace: '' });
  if (leader.kind !== 'none' && !(leader.kind === 'unknown' && !leader.isSearched)) return undefined;
  const all = valueOf(await reader.list(csiDrivers, { most: 1 }, 'which drivers there are')) ?? [];
  const meant = nearest(driver, all.map(nameOf));
  const hint = meant === undefined ? '' : `; there is ${meant}`;
  return verdictOf(
    ['X14', 4, 'administrator', 'class'],
    `the provisioner of class ${className}, ${driver}, is no CSI driver of this cluster${hint}`,
    {
      changes: [
        change(
          'make the class again with the name of a driver',
          { kind: 'StorageClass', name: className },
          'provisioner',
        ),
        change('install the driver'),
      ],
      retry: onChange('when a driver of this name is installed'),
      findings: ['driver-1'],
      next: { argv: ['kubectl', 'get', 'csidriver'], sentence: 'the drivers that there are' },
    },
  );
}

export async function missingSecret(
  { reader }: Context,
  claim: PersistentVolumeClaim,
  { parameters = {}, metadata }: StorageClass,
): Promise<Verdict | 'unknown' | undefined> {
  const { uid = '', name = '', namespace = '', annotations = {} } = claim.metadata ?? {};
  const subject = {
    volumeName: `pvc-${uid}`,
    claimName: name,
    claimNamespace: namespace,
    claimAnnotations: annotations,
  };
  const resolved = toSecretReference(parameters, 'provisioner', subject);
  // What cannot be resolved is an event of csi-provisioner.
  if (resolved.kind === 'error' || resolved.value === undefined) return undefined;
  const ref = resolved.value;
  const read = await reader.get(secrets, ref, `whether secret ${ref.namespace}/${ref.name} exists`);
  if (read.kind !== 'absent') return read.kind === 'unknown' ? 'unknown' : undefined;
  return verdictOf(
    ['X23', 4, 'administrator', 'provision'],
    `secret ${ref.namespace}/${ref.name}, which class ${metadata?.name} names, does not exist`,
    {
      changes: [change('make the secret', { kind: 'Secret', ...ref })],
      retry: byItself('csi-provisioner tries again after its backoff'),
      findings: ['class-3'],
      next: getYaml('storageclass', metadata?.name),
    },
  );
}

export async function attributesClass(
  { reader }: Context,
  claim: PersistentVolumeClaim,
  driver: string | undefined,
): Promise<Verdict | undefined> {
  const name = claim.spec?.volumeAttributesClassName ?? '';
  if (name === '') return undefined;
  const read = await reader.get(volumeAttributesClasses, { name }, `whether VolumeAttributesClass ${name} fits`);
  const wanted = change(
    'name another VolumeAttributesClass',
    objectName(persistentVolumeClaims.kind, claim),
    'spec.volumeAttributesClassName',
  );
  const extra = {
    changes: [wanted],
    retry: onChange('when the class fits'),
    next: { argv: ['kubectl', 'get', 'volumeattributesclass'], sentence: 'the classes that there are' },
  };
  if (read.kind === 'absent')
    return verdictOf(['X24', 4, 'user', 'provision'], `VolumeAttributesClass ${name} does not exist`, extra);
  if (read.kind === 'found' && driver !== undefined && read.value.driverName !== driver) {
    return verdictOf(
      ['X24', 4, 'user', 'provision'],
      `VolumeAttributesClass ${name} is of driver ${read.value.driverName}, and the volume of ${driver}`,
      extra,
    );
  }
  return undefined;
}
