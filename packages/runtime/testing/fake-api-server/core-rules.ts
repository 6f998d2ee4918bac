// SPDX-License-Identifier: Apache-2.0
/** Defaults of the core kinds that need no further rules. */
import { at, isObject } from './json.ts';
import type { StoredObject } from './store.ts';

/** `stringData` is write-only: it ends up base64 encoded in `data`, where it wins. */
export function secretDefaults(secret: StoredObject): StoredObject {
  const { stringData, ...rest } = secret;
  const typed = { ...rest, type: rest['type'] ?? 'Opaque' } as StoredObject;
  if (!isObject(stringData)) return typed;
  const encoded = Object.entries(stringData).map(([key, value]) => [
    key,
    Buffer.from(String(value)).toString('base64'),
  ]);
  return { ...typed, data: { ...(typed['data'] as object | undefined), ...Object.fromEntries(encoded) } };
}

export function namespaceDefaults(namespace: StoredObject): StoredObject {
  const labels = { ...namespace.metadata.labels, 'kubernetes.io/metadata.name': namespace.metadata.name };
  return { ...namespace, metadata: { ...namespace.metadata, labels } };
}

/** Finalizers of the spec are the namespace controller's; without that controller they are not set. */
export function isHeldNamespace(namespace: StoredObject): boolean {
  const finalizers = at(namespace, 'spec', 'finalizers');
  return Array.isArray(finalizers) && finalizers.length > 0;
}

export function terminatingNamespace(namespace: StoredObject): StoredObject {
  const { deletionGracePeriodSeconds: _, ...metadata } = namespace.metadata;
  return { ...namespace, metadata, status: { ...(namespace['status'] as object | undefined), phase: 'Terminating' } };
}

export function podDefaults(pod: StoredObject): StoredObject {
  const defaults = { restartPolicy: 'Always', terminationGracePeriodSeconds: 30, schedulerName: 'default-scheduler' };
  return { ...pod, spec: { ...defaults, ...(pod['spec'] as object | undefined) } };
}

export function podStatus(): object {
  return { phase: 'Pending', qosClass: 'BestEffort' };
}
