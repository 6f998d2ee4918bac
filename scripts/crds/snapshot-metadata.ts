// SPDX-License-Identifier: Apache-2.0
/** The kind by which the csi-snapshot-metadata of a driver is found by backup software. */
import type { Kind } from './definition.ts';
import { object, string } from './schema.ts';

export const snapshotMetadataKinds: readonly Kind[] = [
  {
    group: 'cbt.storage.k8s.io',
    kind: 'SnapshotMetadataService',
    shortNames: ['sms'],
    scope: 'Cluster',
    approved: 'https://github.com/kubernetes-csi/external-snapshot-metadata/pull/2',
    description: 'Says where the SnapshotMetadata service of a CSI driver is. The object is named like the driver.',
    hasStatus: false,
    columns: [],
    versions: [
      {
        name: 'v1beta1',
        served: true,
        storage: true,
        fields: {
          spec: object('The service.', {
            address: string('Host and port of the gRPC service. The host is what its certificate is issued for.'),
            audience: string('The audience that the token in a request must have.'),
            caCert: string('The authorities that may have issued the certificate, PEM in base64.', { format: 'byte' }),
          }),
        },
      },
    ],
  },
];
