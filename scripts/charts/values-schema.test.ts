// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { valuesTable } from './values-schema.ts';

const rowsOf = (values: string): readonly string[] => valuesTable(values).trimEnd().split('\n').slice(2);

it('given keys that have one text and one default, then they are one row, in the place of the first', () => {
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
  expect(rowsOf(values)).toEqual([
    '| `controller.podLabels`, `node.podLabels`: `{}` | Labels of the pods. |',
    '| `controller.replicas`: `2` | Replicas. |',
    '| `windows.podLabels`: `{"a":"b"}` | Labels of the pods. |',
  ]);
});

it('given a text above a map, then the map is one row, and its keys have none', () => {
  const values = `
# -- Ports of the pods.
ports:
  # -- Metrics.
  metrics: 80
`;
  expect(rowsOf(values)).toEqual(['| `ports`: `{"metrics":80}` | Ports of the pods. |']);
});
