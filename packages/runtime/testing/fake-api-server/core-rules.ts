// SPDX-License-Identifier: Apache-2.0
/** Defaults of the core kinds that need no further rules. */
import { isObject } from './json.ts';
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

export function podDefaults(pod: StoredObject): StoredObject {
  const defaults = { restartPolicy: 'Always', terminationGracePeriodSeconds: 30, schedulerName: 'default-scheduler' };
  return { ...pod, spec: { ...defaults, ...(pod['spec'] as object | undefined) } };
}

export function podStatus(): object {
  return { phase: 'Pending', qosClass: 'BestEffort' };
}
