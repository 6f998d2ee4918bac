// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { valuesList } from './values-schema.ts';

const entriesOf = (values: string): readonly string[] => valuesList(values).trimEnd().split('\n');

it('given keys that have one text and one default, then they are one entry, in the place of the first', () => {
  const values = `
controller:
  # -- Labels of the pods.
  podLabels: {}
  # -- Replicas.
  replicas: 2
node:
  # -- Labels of the pods.
  podLabels: {}
windows:
  # -- Labels of the pods.
  podLabels: {a: b}
`;
  expect(entriesOf(values)).toEqual([
    '- `controller.podLabels`, `node.podLabels`: `{}`. Labels of the pods.',
    '- `controller.replicas`: `2`. Replicas.',
    '- `windows.podLabels`: `{"a":"b"}`. Labels of the pods.',
  ]);
});

it('given a text above a map, then the map is one entry, and its keys have none', () => {
  const values = `
# -- Ports of the pods.
ports:
  # -- Metrics.
  metrics: 80
`;
  expect(entriesOf(values)).toEqual(['- `ports`: `{"metrics":80}`. Ports of the pods.']);
});
