// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { deprecationWarnings, toDriverParameters, toFsType } from './class-parameters.ts';

const key = (name: string): string => `csi.storage.k8s.io/${name}`;
const purposes = ['', 'provisioner-', 'controller-publish-', 'node-stage-', 'node-publish-'];
const newerPurposes = ['controller-expand-', 'node-expand-', 'controller-modify-'];
const reserved = [
  key('fstype'),
  ...[...purposes, ...newerPurposes].flatMap((purpose) => [
    key(`${purpose}secret-name`),
    key(`${purpose}secret-namespace`),
  ]),
];
const deprecated = ['Provisioner', 'ControllerPublish', 'NodeStage', 'NodePublish'].flatMap((purpose) => [
  `csi${purpose}SecretName`,
  `csi${purpose}SecretNamespace`,
]);
const record = (keys: readonly string[]): Record<string, string> => Object.fromEntries(keys.map((name) => [name, 'v']));
const ok = (value: unknown): unknown => ({ kind: 'ok', value });

describe('parameters for the driver', () => {
  it('[provisioner#70,71] given no reserved key, when stripped, then all are passed, whatever their values', () => {
    const parameters = { size: 'big', hint: 'csi.storage.k8s.io/fstype' };
    expect(toDriverParameters(parameters)).toEqual(ok(parameters));
  });

  it('[provisioner#72] given all reserved keys, when stripped, then the driver gets none', () => {
    expect(reserved).toHaveLength(17);
    expect(toDriverParameters(record(reserved))).toEqual(ok({}));
  });

  it('[provisioner#73] given the deprecated keys, when stripped, then all are passed, each with a warning', () => {
    const parameters = record([...deprecated, 'FsType']);
    expect(toDriverParameters(parameters)).toEqual(ok(parameters));
    expect(deprecationWarnings(parameters)).toHaveLength(9);
    expect(deprecationWarnings({ fsType: 'xfs', other: '' })).toEqual([
      '"fsType" is deprecated and will be removed in a future release, please use "csi.storage.k8s.io/fstype" instead',
    ]);
  });

  it.each([key('bim'), key('resizer-secret-name')])(
    '[provisioner#74] given the unknown reserved key %s, when stripped, then it is refused',
    (unknown) => {
      expect(toDriverParameters({ [unknown]: '' })).toEqual({
        kind: 'error',
        message: `failed to strip CSI Parameters of prefixed keys: found unknown parameter key "${unknown}" with reserved namespace csi.storage.k8s.io/`,
      });
    },
  );

  it('[provisioner#83] given a key that --extra-create-metadata adds, when stripped, then it is refused', () => {
    expect(toDriverParameters({ [key('pvc/name')]: 'mine' }).kind).toBe('error');
  });
});

describe('the file system type', () => {
  it('[provisioner#75,76] given two keys for it in any spelling, when read, then it is refused even if they agree', () => {
    const refused = {
      kind: 'error',
      message: 'fstype specified in parameters with both "fstype" and "csi.storage.k8s.io/fstype" keys',
    };
    expect(toFsType({ fstype: 'ext4', [key('fstype')]: 'ext4' }, '')).toEqual(refused);
    expect(toFsType({ fsType: 'ext4', FSTYPE: 'ext4' }, '')).toEqual(refused);
  });

  it.each([
    { parameters: {}, fallback: 'ext4', fsType: 'ext4' },
    { parameters: {}, fallback: '', fsType: '' },
    { parameters: { [key('fstype')]: 'xfs' }, fallback: 'ext4', fsType: 'xfs' },
    { parameters: { FsType: 'xfs' }, fallback: '', fsType: 'xfs' },
    { parameters: { [key('fstype')]: '' }, fallback: 'ext4', fsType: 'ext4' },
    { parameters: { [key('FsType')]: 'xfs' }, fallback: 'ext4', fsType: 'ext4' },
  ])('given $parameters and the default "$fallback", when read, then "$fsType"', ({ parameters, fallback, fsType }) => {
    expect(toFsType(parameters, fallback)).toEqual(ok(fsType));
  });
});
