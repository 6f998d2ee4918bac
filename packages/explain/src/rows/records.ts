// SPDX-License-Identifier: Apache-2.0
/** Rows X10 and X30: a claim and the PersistentVolume that it names, or that a provisioner has made for it. */
import { type PersistentVolume, type PersistentVolumeClaim, persistentVolumes } from '@csi-sidecars/runtime';
import { toVolumeName } from '@csi-sidecars/volume';
import { provisionerSettings } from '../actors/leader-settings.ts';
import type { Reading } from '../cluster/reader.ts';
import { classNameOf, nameOf, objectName } from '../facts/objects.ts';
import { compareSizes } from '../facts/quantities.ts';
import type { Verdict } from '../verdict.ts';
import { byItself, type Context, getYaml, onChange, sinceCreated, verdictOf } from './context.ts';

/** How csi-provisioner names the volume of a claim: by the options, else by the arguments of its leader, else by default. */
export async function volumeNameOf(
  { reader, options }: Context,
  claim: PersistentVolumeClaim,
  driver: string | undefined,
): Promise<string> {
  const uid = claim.metadata?.uid ?? '';
  const naming =
    options.volumeNaming ??
    (driver === undefined
      ? undefined
      : (await provisionerSettings(reader, { driver, namespace: options.driverNamespace })).naming);
  const name = naming && toVolumeName(uid, naming);
  return name?.kind === 'ok' ? name.value : `pvc-${uid}`;
}

/** The PersistentVolume that a provisioner makes for the claim. Its leader is looked for only if there is none of the usual name. */
export async function expectedVolume(
  context: Context,
  claim: PersistentVolumeClaim,
  driver: string | undefined,
): Promise<Reading<PersistentVolume>> {
  const read = (name: string): Promise<Reading<PersistentVolume>> =>
    context.reader.get(persistentVolumes, { name }, 'whether a PersistentVolume was made');
  const usual = await read(`pvc-${claim.metadata?.uid ?? ''}`);
  return usual.kind === 'found' ? usual : await read(await volumeNameOf(context, claim, driver));
}

export async function namedVolume({ reader }: Context, claim: PersistentVolumeClaim, name: string): Promise<Verdict> {
  const subject = objectName('PersistentVolumeClaim', claim);
  const field = 'spec.volumeName';
  const refuse = (why: string): Verdict =>
    verdictOf(['X10', 4, 'user', 'bind'], why, {
      changes: [{ what: 'make the claim again, with a PersistentVolume that fits', object: subject, field }],
      retry: onChange('when the PersistentVolume fits'),
      next: getYaml('pv', name) ?? getYaml('pvc', nameOf(claim), claim.metadata?.namespace),
    });
  const read = await reader.get(persistentVolumes, { name }, 'whether the PersistentVolume that the claim names fits');
  if (read.kind === 'absent') return refuse(`the claim names PersistentVolume ${name}, which does not exist`);
  if (read.kind === 'unknown') {
    return verdictOf(
      ['X30', 5, 'kube-controller-manager', 'bind'],
      `PersistentVolume ${name}, which the claim names, cannot be read`,
    );
  }
  const { claimRef, capacity = {}, volumeMode = 'Filesystem', storageClassName = '' } = read.value.spec ?? {};
  const isOthers =
    claimRef !== undefined &&
    (claimRef.name !== nameOf(claim) ||
      claimRef.namespace !== claim.metadata?.namespace ||
      (claimRef.uid !== undefined && claimRef.uid !== claim.metadata?.uid));
  if (isOthers) return refuse(`PersistentVolume ${name} belongs to claim ${claimRef.namespace}/${claimRef.name}`);
  const wanted = claim.spec?.resources?.requests?.['storage'];
  const has = capacity['storage'];
  if (wanted !== undefined && has !== undefined && compareSizes(has, wanted) < 0)
    return refuse(`PersistentVolume ${name} has ${has}, and the claim wants ${wanted}`);
  const mode = claim.spec?.volumeMode ?? 'Filesystem';
  if (mode !== volumeMode)
    return refuse(`PersistentVolume ${name} has mode ${volumeMode}, and the claim wants ${mode}`);
  const wantedClass = classNameOf(claim) ?? '';
  if (wantedClass !== storageClassName)
    return refuse(`PersistentVolume ${name} has class "${storageClassName}", and the claim wants "${wantedClass}"`);
  return recorded(claim, read.value);
}

export function recorded(claim: PersistentVolumeClaim, volume: PersistentVolume): Verdict {
  const owner = volume.spec?.claimRef;
  const isOthers = owner?.uid !== undefined && owner.uid !== claim.metadata?.uid;
  if (isOthers) {
    return verdictOf(
      ['X30', 4, 'user', 'bind'],
      `PersistentVolume ${nameOf(volume)} belongs to another claim: ${owner.namespace}/${owner.name} of UID ${owner.uid}`,
      {
        next: getYaml('pv', nameOf(volume)),
        related: [{ ...objectName('PersistentVolume', volume), why: 'has the name of the volume of this claim' }],
        retry: onChange('when the PersistentVolume is gone'),
      },
    );
  }
  return verdictOf(
    ['X30', 3, 'kube-controller-manager', 'bind'],
    `PersistentVolume ${nameOf(volume)} exists: kube-controller-manager binds the claim to it`,
    {
      since: sinceCreated(volume),
      retry: byItself('at each change of either object'),
      next: getYaml('pv', nameOf(volume)),
      related: [{ ...objectName('PersistentVolume', volume), why: 'the volume of this claim' }],
    },
  );
}
