// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aClaim } from '../../testing/builders.ts';
import { toDataSource } from './data-source.ts';

const book = { kind: 'Book', apiGroup: 'example.com', name: 'b' };
const populator = { kind: 'populator' };
const disabled = 'dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled';

it.each([
  { gate: false, namespace: undefined, then: populator },
  { gate: false, namespace: '', then: populator },
  { gate: false, namespace: 'team', then: { kind: 'refused', message: disabled } },
  { gate: true, namespace: 'team', then: populator },
  { gate: true, namespace: 'other', then: { kind: 'unsupported', what: 'Book other/b of another namespace' } },
])('given a source in namespace $namespace with the gate $gate, then $then.kind', ({ gate, namespace, then }) => {
  const dataSourceRef = namespace === undefined ? book : { ...book, namespace };
  const features = { crossNamespaceVolumeDataSource: gate };
  expect(toDataSource(aClaim({ spec: { dataSourceRef } }), features)).toEqual(then);
});
