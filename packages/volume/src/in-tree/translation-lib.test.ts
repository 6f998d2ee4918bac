// SPDX-License-Identifier: Apache-2.0
/** Our translation beside what k8s.io/csi-translation-lib made of the same classes and volumes (`testing/translations/main.go`). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PersistentVolume, StorageClass } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import type { Result } from '../result.ts';
import { inTreePluginOf, toCsiNodeAffinity, toDriverClass, toInTreeVolume, translateInTree } from './translate.ts';

type Given = { readonly case: string } & (
  | { readonly class: StorageClass }
  | { readonly made: PersistentVolume }
  | { readonly inTree: PersistentVolume }
);
interface Translated {
  readonly case: string;
  readonly result?: unknown;
  readonly error?: string;
}

const folder = join(import.meta.dirname, '../../testing/translations');
const read = <T>(name: string): readonly T[] => JSON.parse(readFileSync(join(folder, name), 'utf8')) as readonly T[];
const translated = new Map(read<Translated>('translated.json').map((each) => [each.case, each]));
const given = read<Given>('given.json');

/** The library prints the whole volume between these words, in Go's format. */
function withoutVolume(message: string): string {
  return message.replace(/PV:.*Error:/s, 'PV:... Error:');
}
function errorOf(result: Result<unknown>): string | undefined {
  return result.kind === 'error' ? withoutVolume(result.message) : undefined;
}
/** Go writes fields without a value, and null for an empty list. */
function plain(value: object): unknown {
  return JSON.parse(
    JSON.stringify({ value }, (_key, each: unknown) => {
      const isEmpty = each === null || (typeof each === 'object' && Object.keys(each).length === 0);
      return isEmpty ? undefined : each;
    }),
  );
}

const drivers = [
  'pd.csi.storage.gke.io',
  'ebs.csi.aws.com',
  'cinder.csi.openstack.org',
  'disk.csi.azure.com',
  'file.csi.azure.com',
  'csi.vsphere.vmware.com',
  'pxd.portworx.com',
];
function driverOf(plugin: string): string {
  return drivers.find((driver) => inTreePluginOf(driver) === plugin) ?? '';
}

describe('the same as the library of upstream', () => {
  it('given its table, then it has an answer for each case', () => {
    expect(given.length).toBeGreaterThan(100);
    expect([...translated.keys()]).toEqual(given.map((each) => each.case));
  });

  it.each(given.filter((each) => 'class' in each))('$case', ({ case: name, class: storageClass }) => {
    const expected = translated.get(name);
    const ours = toDriverClass(storageClass, driverOf(storageClass.provisioner));
    expect(errorOf(ours)).toBe(expected?.error);
    if (ours.kind === 'ok') expect(plain(ours.value)).toEqual(plain(expected?.result as object));
  });

  it.each(given.filter((each) => 'made' in each))('$case', ({ case: name, made }) => {
    const expected = translated.get(name);
    const ours = toInTreeVolume(made);
    expect(errorOf(ours)).toBe(expected?.error === undefined ? undefined : withoutVolume(expected.error));
    if (ours.kind === 'ok') expect(plain(ours.value)).toEqual(plain(expected?.result as object));
  });

  it.each(given.filter((each) => 'inTree' in each))('$case', ({ case: name, inTree }) => {
    const expected = translated.get(name);
    const ours = translateInTree(inTree) ?? { kind: 'error', message: 'not in tree' };
    expect(errorOf(ours)).toBe(expected?.error);
    if (ours.kind === 'error') return;
    const spec = (expected?.result as PersistentVolume | undefined)?.spec;
    const { driver, volumeHandle, volumeAttributes } = spec?.csi ?? {};
    expect(ours.value.csi).toMatchObject({ driver, volumeHandle, volumeAttributes: volumeAttributes ?? {} });
    expect(ours.value.accessModes).toEqual(spec?.accessModes);
    expect(plain({ is: toCsiNodeAffinity(inTree) })).toEqual(plain({ is: spec?.nodeAffinity }));
  });
});
