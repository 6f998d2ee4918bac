// SPDX-License-Identifier: Apache-2.0
/** ReferenceGrant of the Gateway API, as far as references to sources of data need it. */
import { isAlreadyExists, isNotFound } from '@csi-sidecars/runtime';
import { referenceGrants } from '@csi-sidecars/provisioner';
import { type Definition, definitions } from '../../snapshot-api/definitions.ts';
import type { ScenarioContext } from '../context.ts';

const ends = { type: 'array', items: { type: 'object', additionalProperties: { type: 'string' } } };
const schema = {
  openAPIV3Schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { from: ends, to: ends } } },
  },
};

const version = { name: referenceGrants.version, served: true, storage: true, schema };

const definition: Definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: `${referenceGrants.plural}.${referenceGrants.group}`,
    // An API server asks for it in groups of Kubernetes.
    annotations: { 'api-approved.kubernetes.io': 'unapproved, a part of the definition for tests' },
  },
  spec: {
    group: referenceGrants.group,
    scope: 'Namespaced',
    names: { kind: referenceGrants.kind, plural: referenceGrants.plural },
    versions: [version],
  },
};

/** Leaves a definition that is there alone, and returns when its kind is served. */
export async function installGrants(ctx: ScenarioContext): Promise<void> {
  const { api } = ctx;
  await api.create(definitions, definition).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  await ctx.eventually('ReferenceGrants are served', async () => {
    try {
      await api.list(referenceGrants, { limit: 1 });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  });
}
