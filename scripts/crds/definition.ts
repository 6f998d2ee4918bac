// SPDX-License-Identifier: Apache-2.0
/** From the description of a kind to its CustomResourceDefinition. */
import { type Fields, object, string } from './schema.ts';

/** What kubectl prints of an object, beside its age: title, type, path and description. */
type Column = readonly [
  name: string,
  type: 'boolean' | 'date' | 'integer' | 'string',
  path: string,
  description: string,
];

export interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly storage?: true;
  readonly deprecated?: true;
  readonly deprecationWarning?: string;
  /** Beside `apiVersion`, `kind` and `metadata`. */
  readonly fields: Fields;
}

export interface Kind {
  readonly group: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly scope: 'Cluster' | 'Namespaced';
  /** The pull request in which the API was approved: its number in external-snapshotter, or its URL. Without it no API server takes a kind of a `k8s.io` group. */
  readonly approved: string;
  readonly description: string;
  readonly hasStatus: boolean;
  readonly columns: readonly Column[];
  readonly versions: readonly Version[];
}

export interface Definition {
  /** `<plural>.<group>` */
  readonly name: string;
  readonly definition: object;
}

export function toDefinition(kind: Kind): Definition {
  const singular = kind.kind.toLowerCase();
  const plural = singular.endsWith('s') ? `${singular}es` : `${singular}s`;
  const name = `${plural}.${kind.group}`;
  return {
    name,
    definition: {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: {
        name,
        annotations: {
          'api-approved.kubernetes.io': approvalOf(kind),
          'controller-gen.kubebuilder.io/version': 'v0.15.0',
        },
      },
      spec: {
        group: kind.group,
        names: {
          kind: kind.kind,
          listKind: `${kind.kind}List`,
          plural,
          ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
          singular,
        },
        scope: kind.scope,
        versions: kind.versions.map((version) => toVersion(kind, version)),
      },
    },
  };
}

const approvalOf = ({ approved }: Kind): string =>
  approved.startsWith('https:') ? approved : `https://github.com/kubernetes-csi/external-snapshotter/pull/${approved}`;

function toVersion({ description, columns, hasStatus }: Kind, version: Version): object {
  const { name, served, storage, deprecated, deprecationWarning, fields } = version;
  return {
    name,
    ...(deprecated === undefined ? {} : { deprecated }),
    ...(deprecationWarning === undefined ? {} : { deprecationWarning }),
    additionalPrinterColumns: [
      ...columns.map(([title, type, jsonPath, text]) => ({ name: title, type, jsonPath, description: text })),
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ],
    schema: {
      openAPIV3Schema: object(description, {
        apiVersion: string('Version of the schema of this object.', { optional: true }),
        kind: string('Kind of this object, in CamelCase.', { optional: true }),
        ...(version.served ? { metadata: { schema: { type: 'object' }, isRequired: false } } : {}),
        ...fields,
      }).schema,
    },
    served,
    storage: storage ?? false,
    subresources: hasStatus ? { status: {} } : {},
  };
}
