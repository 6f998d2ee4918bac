// SPDX-License-Identifier: Apache-2.0
/** Rows X10 to X31: a claim that is not bound. Read from top to bottom; the first row whose condition holds is the answer. */
import { type PersistentVolumeClaim, type StorageClass, storageClasses } from '@csi-sidecars/runtime';
import { valueOf } from '../cluster/reader.ts';
import { areEventsKnown } from '../facts/events.ts';
import {
  annotationOf,
  classNameOf,
  migratedTo,
  nameOf,
  objectName,
  provisionerOf,
  selectedNodeOf,
} from '../facts/objects.ts';
import type { Verdict } from '../verdict.ts';
import { attributesClass, missingClass, missingDriver, missingSecret, withoutClass } from './classes.ts';
import { byItself, change, type Context, describe, getYaml, onChange, sinceCreated, verdictOf } from './context.ts';
import { failedProvisioning } from './provisioning-failures.ts';
import { expectedVolume, namedVolume, recorded } from './records.ts';
import { scheduling, unreachableTopology } from './scheduling.ts';
import { sourceVerdict } from './sources.ts';

const inTree = /^kubernetes\.io\//;
export async function unbound(context: Context, claim: PersistentVolumeClaim): Promise<Verdict> {
  const { reader, options } = context;
  const named = claim.spec?.volumeName ?? '';
  if (named !== '') return await namedVolume(context, claim, named);
  const className = classNameOf(claim);
  if (className === undefined) return await withoutClass(context, claim);
  if (className === '') {
    return verdictOf(
      ['X12', 4, 'user', 'bind'],
      'the claim wants no class: it waits for a PersistentVolume that is made by hand',
      {
        changes: [
          change('make a PersistentVolume that fits the claim'),
          change(
            'make the claim again with a class',
            objectName('PersistentVolumeClaim', claim),
            'spec.storageClassName',
          ),
        ],
        retry: onChange('when a PersistentVolume fits'),
        next: { argv: ['kubectl', 'get', 'pv'], sentence: 'the PersistentVolumes that there are' },
      },
    );
  }
  const read = await reader.get(storageClasses, { name: className }, 'which driver makes the volume');
  if (read.kind === 'absent') return await missingClass(context, className);
  const storageClass = valueOf(read);
  const provisioner = provisionerOf(claim) ?? storageClass?.provisioner;
  const driver = driverOf(claim, storageClass);
  if (storageClass !== undefined && driver === undefined) {
    return verdictOf(['X3', 5, 'other', 'provision'], `no sidecar is involved: ${provisioner} is no CSI driver`, {
      next: getYaml('storageclass', className),
    });
  }
  if (driver !== undefined) {
    const unknownDriver = await missingDriver(context, driver, className);
    if (unknownDriver !== undefined) return unknownDriver;
  }
  if (storageClass?.volumeBindingMode === 'WaitForFirstConsumer' && selectedNodeOf(claim) === undefined) {
    return await scheduling(context, claim, storageClass);
  }
  if (provisionerOf(claim) === undefined && storageClass !== undefined) {
    return verdictOf(
      ['X20', 3, 'kube-controller-manager', 'provision'],
      'kube-controller-manager has not asked a provisioner for a volume yet',
      {
        since: sinceCreated(claim),
        retry: byItself('at each change of the claim'),
        next: describe('pvc', nameOf(claim), claim.metadata?.namespace),
      },
    );
  }
  const source = await sourceVerdict(context, claim);
  if (source !== undefined) return source;
  const secret = storageClass && (await missingSecret(context, claim, storageClass));
  if (secret !== undefined && secret !== 'unknown') return secret;
  const attributes = await attributesClass(context, claim, driver);
  if (attributes !== undefined) return attributes;
  const volume = await expectedVolume(context, claim, driver);
  if (volume.kind === 'found') return recorded(claim, volume.value);
  const topology = driver === undefined ? undefined : await unreachableTopology(context, claim, driver);
  if (topology !== undefined) return topology;
  const failed = await failedProvisioning(context, claim, { driver, storageClass });
  if (failed !== undefined) return failed;
  if (read.kind === 'unknown' && provisionerOf(claim) === undefined) {
    return verdictOf(
      ['X31', 5, 'other', 'class'],
      `class ${className} cannot be read, so it is not known which driver makes the volume`,
    );
  }
  // An event might name a failure, and a secret might be missing.
  const isOpen =
    secret === 'unknown' ||
    (options.hasEvents && !(await areEventsKnown(reader, objectName('PersistentVolumeClaim', claim))));
  return verdictOf(
    ['X31', isOpen ? 5 : 3, 'csi-provisioner', 'provision'],
    `csi-provisioner was asked for a volume; a call to the driver may be under way`,
    {
      since: sinceCreated(claim),
      retry: byItself('csi-provisioner goes on by itself'),
      next: describe('pvc', nameOf(claim), claim.metadata?.namespace),
    },
  );
}

/** Undefined: not a CSI driver. */
export function driverOf(claim: PersistentVolumeClaim, storageClass: StorageClass | undefined): string | undefined {
  const migrated = annotationOf(claim, migratedTo);
  if (migrated !== undefined) return migrated;
  const name = provisionerOf(claim) ?? storageClass?.provisioner;
  return name === undefined || inTree.test(name) ? undefined : name;
}
