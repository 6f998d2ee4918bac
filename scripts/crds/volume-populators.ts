// SPDX-License-Identifier: Apache-2.0
/** The kind by which a populator registers the kind of objects from which it fills volumes. */
import type { Kind } from './definition.ts';
import { object, string } from './schema.ts';

export const volumePopulatorKinds: readonly Kind[] = [
  {
    group: 'populator.storage.k8s.io',
    kind: 'VolumePopulator',
    shortNames: [],
    scope: 'Cluster',
    approved: 'https://github.com/kubernetes/enhancements/pull/2934',
    description: 'Registers a kind of objects from which volumes are filled. Its fields are not below spec.',
    hasStatus: false,
    columns: [['SourceKind', 'string', '.sourceKind', 'The kind that it registers.']],
    versions: [
      {
        name: 'v1beta1',
        served: true,
        storage: true,
        fields: {
          sourceKind: object('The kind of objects from which the populator fills volumes.', {
            group: string('The API group of the kind. Empty: the core group.'),
            kind: string('The kind.'),
          }),
        },
      },
    ],
  },
];
