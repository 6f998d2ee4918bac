// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { fromDefinitions } from './from-definitions.ts';
import { fromSwagger, objectMeta, type Swagger } from './from-swagger.ts';
import { fileOf } from './json-schema.ts';

const swagger: Swagger = {
  definitions: {
    [objectMeta]: { type: 'object', properties: { name: { type: 'string' } } },
    'io.k8s.api.apps.v1.Deployment': {
      description: 'A deployment.',
      type: 'object',
      properties: {
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata: { $ref: `#/definitions/${objectMeta}` },
        spec: { $ref: '#/definitions/Spec' },
      },
      'x-kubernetes-group-version-kind': [{ group: 'apps', version: 'v1', kind: 'Deployment' }],
    },
    Spec: {
      type: 'object',
      required: ['replicas'],
      properties: {
        replicas: { type: 'integer', format: 'int32' },
        maxSurge: { type: 'string', format: 'int-or-string' },
        nested: { $ref: '#/definitions/Spec' },
        limits: {
          type: 'object',
          additionalProperties: { $ref: '#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity' },
        },
      },
    },
    'io.k8s.apimachinery.pkg.api.resource.Quantity': { type: 'string' },
    Options: {
      type: 'object',
      'x-kubernetes-group-version-kind': [
        { group: '', version: 'v1', kind: 'DeleteOptions' },
        { group: 'apps', version: 'v1', kind: 'DeleteOptions' },
      ],
    },
  },
};

it('given a document of OpenAPI, then each kind is a schema that stands alone and refuses fields that it does not name', () => {
  const files = fromSwagger(swagger);
  expect([...files.keys()]).toEqual(['deployment-apps-v1.json']);
  expect(files.get('deployment-apps-v1.json')).toEqual({
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    required: ['apiVersion', 'kind'],
    properties: {
      apiVersion: { enum: ['apps/v1'] },
      kind: { enum: ['Deployment'] },
      metadata: { $ref: `#/definitions/${objectMeta}` },
      spec: { $ref: '#/definitions/Spec' },
    },
    additionalProperties: false,
    definitions: {
      [objectMeta]: { type: 'object', properties: { name: { type: 'string' } }, additionalProperties: false },
      Spec: {
        type: 'object',
        required: ['replicas'],
        properties: {
          replicas: { type: 'integer', format: 'int32' },
          maxSurge: { oneOf: [{ type: 'integer' }, { type: 'string' }] },
          nested: { $ref: '#/definitions/Spec' },
          limits: {
            type: 'object',
            additionalProperties: { $ref: '#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity' },
          },
        },
        additionalProperties: false,
      },
      'io.k8s.apimachinery.pkg.api.resource.Quantity': { oneOf: [{ type: 'string' }, { type: 'number' }] },
    },
  });
});

it('given a custom kind, then its schema has the metadata of the document, and what the API keeps stays open', () => {
  const kind = {
    group: 'snapshot.storage.k8s.io',
    version: 'v1',
    kind: 'VolumeSnapshot',
    schema: {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: {}, 'x-kubernetes-preserve-unknown-fields': true },
        size: { 'x-kubernetes-int-or-string': true, pattern: '^\\d+$' },
      },
    },
  };
  const [[file, schema] = []] = fromDefinitions([kind], swagger);
  expect(file).toBe('volumesnapshot-snapshot-v1.json');
  expect(schema).toMatchObject({
    properties: {
      spec: { type: 'object', properties: {} },
      size: { oneOf: [{ type: 'integer' }, { type: 'string', pattern: '^\\d+$' }] },
      metadata: { $ref: `#/definitions/${objectMeta}` },
    },
    definitions: { [objectMeta]: { additionalProperties: false } },
  });
  const properties = schema?.['properties'] as Record<string, object> | undefined;
  expect(properties?.['spec']).toBeDefined();
  expect(properties?.['spec']).not.toHaveProperty('additionalProperties');
});

it('given kinds of the core and of named groups, then files are called as kubeconform asks for them', () => {
  expect(fileOf({ group: '', version: 'v1', kind: 'Service' })).toBe('service-v1.json');
  expect(fileOf({ group: 'rbac.authorization.k8s.io', version: 'v1', kind: 'Role' })).toBe('role-rbac-v1.json');
});
