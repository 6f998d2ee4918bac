// SPDX-License-Identifier: Apache-2.0
/** NamespaceLifecycle: objects cannot be created in a namespace that does not exist or is being deleted. */
import { namespaces } from '@csi-sidecars/runtime';
import { refusals, type Admission, type AdmittedWrite, type StoredObject } from '@csi-sidecars/runtime/testing';

export const namespaceLifecycle: Admission = { mutate: checkNamespace };

function checkNamespace({ operation, type, object, objects }: AdmittedWrite): StoredObject {
  const name = object.metadata.namespace;
  if (operation !== 'create' || name === undefined) return object;
  const namespace = objects.get(namespaces, { name });
  if (namespace === undefined) throw refusals.notFound(namespaces, name);
  if (namespace.metadata?.deletionTimestamp === undefined) return object;
  const why = `unable to create new content in namespace ${name} because it is being terminated`;
  const refusal = refusals.forbidden(type, object.metadata.name, why);
  const causes = [
    { reason: 'NamespaceTerminating', message: `namespace ${name} is being terminated`, field: 'metadata.namespace' },
  ];
  throw new refusals.Refusal({ ...refusal.facts, details: { ...refusal.facts.details, causes } });
}
