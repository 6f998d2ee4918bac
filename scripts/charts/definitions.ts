// SPDX-License-Identifier: Apache-2.0
/** What several keys of a values.yaml refer to as `#/definitions/...`. */

const durationPattern = '([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h))+';
const strings = { type: 'object', additionalProperties: { type: 'string' } } as const;
const name = { type: 'string', minLength: 1 } as const;
const nameFromHash = { type: 'boolean', description: 'The name gets a hash of the immutable fields.' } as const;

/** A secret that exists, or the data of one that the chart creates. */
const secretSource = {
  oneOf: [
    {
      type: 'object',
      additionalProperties: false,
      required: ['name', 'namespace'],
      properties: { name, namespace: name },
    },
    {
      type: 'object',
      additionalProperties: false,
      required: ['data'],
      properties: { data: { ...strings, minProperties: 1 } },
    },
  ],
};
const secretsOf = (...kinds: readonly string[]): object => ({
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(kinds.map((kind) => [kind, secretSource])),
});
/** Numbers and booleans are rendered as strings. */
const parameters = { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } };

function snapshotClassWith(...secretKinds: readonly string[]): object {
  return {
    type: 'object',
    additionalProperties: false,
    required: ['name', 'deletionPolicy'],
    properties: {
      name,
      default: { type: 'boolean' },
      deletionPolicy: { enum: ['Delete', 'Retain'] },
      parameters,
      secrets: secretsOf(...secretKinds),
      labels: strings,
      annotations: strings,
      nameSuffixFromHash: nameFromHash,
    },
  };
}

export const definitions: Readonly<Record<string, object>> = {
  duration: { type: 'string', pattern: `^${durationPattern}$` },
  optionalDuration: { type: ['string', 'null'], pattern: `^(${durationPattern})?$` },
  quantity: { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?([numkMGTPE]|[KMGTPE]i)?$' },
  port: { type: 'integer', minimum: 1, maximum: 65535 },
  optionalPort: { type: ['integer', 'null'], minimum: 1, maximum: 65535 },
  logLevel: { type: 'integer', minimum: 0, maximum: 10 },
  optionalLogLevel: { type: ['integer', 'null'], minimum: 0, maximum: 10 },
  /** The rest of it is Kubernetes' to check. */
  variable: { type: 'object', required: ['name'], properties: { name } },
  triState: { enum: [true, false, 'auto'] },
  pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
  pullSecret: {
    oneOf: [name, { type: 'object', additionalProperties: false, required: ['name'], properties: { name } }],
  },
  image: {
    type: 'object',
    additionalProperties: false,
    properties: {
      registry: { type: 'string' },
      repository: { type: 'string' },
      tag: { type: 'string' },
      digest: { type: 'string', pattern: '^(sha256:[a-f0-9]{64})?$' },
      pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
    },
  },
  policyRule: {
    type: 'object',
    additionalProperties: false,
    required: ['verbs'],
    properties: Object.fromEntries(
      ['apiGroups', 'resources', 'resourceNames', 'nonResourceURLs', 'verbs'].map((key) => [
        key,
        { type: 'array', items: { type: 'string' } },
      ]),
    ),
  },
  storageClass: {
    type: 'object',
    additionalProperties: false,
    required: ['name'],
    properties: {
      name,
      default: { type: 'boolean' },
      parameters,
      secrets: secretsOf(
        'provisioner',
        'controllerPublish',
        'nodeStage',
        'nodePublish',
        'controllerExpand',
        'nodeExpand',
      ),
      reclaimPolicy: { enum: ['Delete', 'Retain'] },
      volumeBindingMode: { enum: ['WaitForFirstConsumer', 'Immediate'] },
      allowVolumeExpansion: { type: 'boolean' },
      mountOptions: { type: 'array', items: { type: 'string' } },
      allowedTopologies: { type: 'array', items: { type: 'object' } },
      labels: strings,
      annotations: strings,
      nameSuffixFromHash: nameFromHash,
    },
  },
  snapshotClass: snapshotClassWith('snapshotter', 'snapshotterList'),
  /** The class of a chart that is not about one driver. */
  driverSnapshotClass: {
    type: 'object',
    additionalProperties: false,
    required: ['name', 'driver', 'deletionPolicy'],
    properties: {
      name,
      driver: { type: 'string', pattern: '^[A-Za-z0-9]([-A-Za-z0-9.]{0,61}[A-Za-z0-9])?$' },
      default: { type: 'boolean' },
      deletionPolicy: { enum: ['Delete', 'Retain'] },
      parameters,
      labels: strings,
      annotations: strings,
    },
  },
  groupSnapshotClass: snapshotClassWith('groupSnapshotter', 'groupSnapshotterGet'),
  attributesClass: {
    type: 'object',
    additionalProperties: false,
    required: ['name', 'parameters'],
    properties: {
      name,
      parameters: { ...parameters, minProperties: 1 },
      labels: strings,
      annotations: strings,
      nameSuffixFromHash: nameFromHash,
    },
  },
};
