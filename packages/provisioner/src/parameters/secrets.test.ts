// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { toSecretReference, type SecretPurpose } from './secrets.ts';

const key = (name: string): string => `csi.storage.k8s.io/${name}`;
const pair = (purpose: string, name: string, namespace: string): Record<string, string> => ({
  [key(`${purpose}secret-name`)]: name,
  [key(`${purpose}secret-namespace`)]: namespace,
});
const subject = {
  volumeName: 'pvc-1',
  claimName: 'data',
  claimNamespace: 'team',
  claimAnnotations: { akey: 'avalue' },
};
const resolve = (parameters: Record<string, string>, purpose: SecretPurpose = 'provisioner'): unknown => {
  const reference = toSecretReference(parameters, purpose, subject);
  if (reference.kind === 'error') return reference.message;
  return reference.value === undefined ? undefined : `${reference.value.namespace}/${reference.value.name}`;
};
const purposes: readonly (readonly [SecretPurpose, string])[] = [
  ['provisioner', 'provisioner-'],
  ['controllerPublish', 'controller-publish-'],
  ['nodeStage', 'node-stage-'],
  ['nodePublish', 'node-publish-'],
  ['controllerExpand', 'controller-expand-'],
  ['nodeExpand', 'node-expand-'],
  ['controllerModify', 'controller-modify-'],
];

describe('secret parameters', () => {
  it('[provisioner#93] given no keys, when resolved, then no secret of any purpose', () => {
    expect(purposes.map(([purpose]) => resolve({ other: 'x' }, purpose))).toEqual(purposes.map(() => undefined));
  });

  it.each(purposes)('given the keys of %s, when resolved, then that purpose alone', (purpose, prefix) => {
    const parameters = pair(prefix, 's', 'ns');
    expect(resolve(parameters, purpose)).toBe('ns/s');
    const others = purposes.filter(([other]) => other !== purpose);
    expect(others.map(([other]) => resolve(parameters, other))).toEqual(others.map(() => undefined));
  });

  it('[provisioner#94] given both values empty, when resolved, then it is refused', () => {
    expect(resolve(pair('provisioner-', '', ''))).toBe(
      'failed to get name and namespace template from params: Provisioner secrets specified in parameters but value of either namespace or name is empty',
    );
  });

  it.each([
    { [key('provisioner-secret-name')]: 's' },
    { [key('provisioner-secret-namespace')]: 'ns' },
    { csiProvisionerSecretName: 's' },
    { csiProvisionerSecretNamespace: 'ns' },
    { ...pair('provisioner-', 's', 'ns'), [key('provisioner-secret-name')]: 's', csiProvisionerSecretName: 's' },
  ])(
    '[provisioner#95,96] given half a pair or a key in both spellings: %j, when resolved, then it is refused',
    (keys) => {
      expect(resolve(keys)).toMatch(
        /^failed to get name and namespace template from params: (either name and namespace for Provisioner secrets specified, Both must be specified|Provisioner secrets specified in parameters with both "csi" and "csi.storage.k8s.io\/" keys)$/,
      );
    },
  );

  it('[provisioner#96] given the name, the namespace or both in both spellings, when resolved, then it is refused', () => {
    const modern = pair('provisioner-', 's', 'ns');
    const [name, namespace] = [{ csiProvisionerSecretName: 's' }, { csiProvisionerSecretNamespace: 'ns' }];
    const both =
      'failed to get name and namespace template from params: Provisioner secrets specified in parameters with both "csi" and "csi.storage.k8s.io/" keys';
    expect(
      [{ ...name }, { ...namespace }, { ...name, ...namespace }].map((old) => resolve({ ...modern, ...old })),
    ).toEqual([both, both, both]);
  });

  it('[provisioner#97] given a deprecated name and a prefixed namespace, when resolved, then accepted', () => {
    expect(resolve({ csiProvisionerSecretName: 's', [key('provisioner-secret-namespace')]: 'ns' })).toBe('ns/s');
  });

  it('[provisioner#98] given static values, when resolved, then they are used as they are', () => {
    expect(resolve(pair('node-stage-', 'a.secret', 'ns'), 'nodeStage')).toBe('ns/a.secret');
  });

  it('[provisioner#99] given an invalid name or namespace, when resolved, then it is refused', () => {
    expect(resolve(pair('provisioner-', 'bad name', 'ns'))).toBe('"bad name" is not a valid secret name');
    expect(resolve(pair('provisioner-', 's', 'bad ns'))).toBe('"bad ns" is not a valid namespace name');
  });

  it('[provisioner#100] given an annotation template without namespace key, when resolved, then it is refused', () => {
    expect(resolve({ [key('provisioner-secret-name')]: "${pvc.annotations['akey']}" })).toBe(
      'failed to get name and namespace template from params: either name and namespace for Provisioner secrets specified, Both must be specified',
    );
  });

  it('[provisioner#101,102] given templates, when resolved, then names, annotations and the volume name are filled in', () => {
    expect(
      resolve(pair('provisioner-', "static-${pvc.name}-${pvc.annotations['akey']}", 'static-${pvc.namespace}')),
    ).toBe('static-team/static-data-avalue');
    expect(resolve(pair('provisioner-', '${pv.name}', '${pv.name}'))).toBe('pvc-1/pvc-1');
  });

  it.each([
    [pair('provisioner-', 's', '${bar}'), 'error resolving value "${bar}": invalid tokens: ["bar"]'],
    [pair('provisioner-', '${foo}', 'ns'), 'error resolving value "${foo}": invalid tokens: ["foo"]'],
    [pair('provisioner-', 's', '${pvc.name}'), 'error resolving value "${pvc.name}": invalid tokens: ["pvc.name"]'],
  ])(
    '[provisioner#103,104] given tokens that are not allowed there: %j, when resolved, then it is refused',
    (keys, text) => {
      expect(resolve(keys)).toBe(text);
    },
  );

  it('[provisioner#105] given an annotation that the claim lacks, when resolved, then it is refused until the claim has it', () => {
    expect(resolve(pair('provisioner-', "${pvc.annotations['other']}", 'ns'))).toContain('invalid tokens');
  });

  it('[provisioner#108,109] given the default pair, when resolved, then it serves every purpose, per claim', () => {
    const parameters = pair('', '${pvc.name}', 'ns');
    expect(purposes.map(([purpose]) => resolve(parameters, purpose))).toEqual(purposes.map(() => 'ns/data'));
  });

  it('[provisioner#110] given a secret for one purpose beside the default, when resolved, then it replaces the default for that purpose only', () => {
    const parameters = { ...pair('', 'd', 'ns'), ...pair('provisioner-', 'own', 'ns') };
    expect([resolve(parameters), resolve(parameters, 'nodeStage')]).toEqual(['ns/own', 'ns/d']);
  });

  it('[provisioner#112] given a broken pair of its own or a broken default, when resolved, then the other does not mask it', () => {
    const half = { [key('provisioner-secret-name')]: 's' };
    expect(resolve({ ...pair('', 'd', 'ns'), ...half })).toContain('Both must be specified');
    expect(resolve(pair('', '${foo}', 'ns'))).toContain('invalid tokens');
    expect(resolve({ [key('secret-name')]: 'd' })).toBe(
      'failed to get default name and namespace template from params: either name and namespace for Default secrets specified, Both must be specified',
    );
  });
});
