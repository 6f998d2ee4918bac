// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { secretTemplateOf } from './secret-parameters.ts';

const keys = { label: 'Provisioner', names: ['name', 'oldName'], namespaces: ['namespace', 'oldNamespace'] };
const twice = 'Provisioner secrets specified in parameters with both "csi" and "csi.storage.k8s.io/" keys';
const half = 'either name and namespace for Provisioner secrets specified, Both must be specified';
const empty = 'Provisioner secrets specified in parameters but value of either namespace or name is empty';

it.each<{ parameters: Record<string, string>; expected: object }>([
  { parameters: {}, expected: { kind: 'ok', value: undefined } },
  { parameters: { type: 'fast' }, expected: { kind: 'ok', value: undefined } },
  { parameters: { name: 'a', namespace: 'b' }, expected: { kind: 'ok', value: { name: 'a', namespace: 'b' } } },
  { parameters: { oldName: 'a', oldNamespace: 'b' }, expected: { kind: 'ok', value: { name: 'a', namespace: 'b' } } },
  { parameters: { name: 'a', oldNamespace: 'b' }, expected: { kind: 'ok', value: { name: 'a', namespace: 'b' } } },
  { parameters: { name: 'a', oldName: 'a', namespace: 'b' }, expected: { kind: 'error', message: twice } },
  { parameters: { name: 'a', namespace: 'b', oldNamespace: 'c' }, expected: { kind: 'error', message: twice } },
  {
    parameters: { name: 'a', oldName: 'a', namespace: 'b', oldNamespace: 'c' },
    expected: { kind: 'error', message: twice },
  },
  { parameters: { name: 'a' }, expected: { kind: 'error', message: half } },
  { parameters: { namespace: 'b' }, expected: { kind: 'error', message: half } },
  { parameters: { name: '', namespace: 'b' }, expected: { kind: 'error', message: empty } },
  { parameters: { name: 'a', namespace: '' }, expected: { kind: 'error', message: empty } },
])('given the parameters $parameters, then the template is $expected', ({ parameters, expected }) => {
  expect(secretTemplateOf(parameters, keys)).toEqual(expected);
});

it('given a key that every object inherits, then it is no parameter', () => {
  expect(secretTemplateOf({}, { label: 'Provisioner', names: ['toString'], namespaces: ['valueOf'] })).toEqual({
    kind: 'ok',
    value: undefined,
  });
});
