// SPDX-License-Identifier: Apache-2.0
/**
 * Kinds of others that the charts can render: those of the Prometheus operator and of cert-manager. Their schemas are ours and have only
 * the fields that the charts write, because no Go module has the definitions of those projects as files; a field that is misspelt
 * is an error, a field that those projects do not know would not be found.
 */
import { kubectl } from './commands.ts';
import { untilEstablished } from './releases.ts';
import { othersSchemas } from '../tools/schemas/others.ts';

export async function installOthersKinds(): Promise<void> {
  const names: string[] = [];
  for (const { group, version, kind, schema } of othersSchemas) {
    const plural = `${kind.toLowerCase()}s`;
    const name = `${plural}.${group}`;
    names.push(name);
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name },
      spec: {
        group,
        names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
        scope: 'Namespaced',
        versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    };
    await kubectl(['apply', '--filename=-'], { input: JSON.stringify(definition) });
  }
  await untilEstablished(names);
}
