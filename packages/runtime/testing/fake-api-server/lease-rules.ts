// SPDX-License-Identifier: Apache-2.0
/** Leases and events: the kinds whose MicroTime fields a real server refuses unless they have exactly six digits. */
import { at, textAt } from './json.ts';
import { badRequest, invalidValue, type FieldCause } from './status.ts';
import type { StoredObject } from './store.ts';

const microTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}(Z|[+-]\d{2}:\d{2})$/;

export function decodeLease(lease: object): void {
  for (const field of ['acquireTime', 'renewTime']) checkMicroTime('Lease', at(lease, 'spec', field));
}

export function decodeEvent(event: object): void {
  checkMicroTime('Event', at(event, 'eventTime'));
}

function checkMicroTime(kind: string, value: unknown): void {
  if (value === undefined || value === null) return;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (microTime.test(text)) return;
  const rest = JSON.stringify(text.slice('2006-01-02T15:04:05'.length));
  throw badRequest(
    `${kind} in version "v1" cannot be handled as a ${kind}: parsing time "${text}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ${rest} as ".000000"`,
  );
}

/** An event lives in the namespace of its object; that of a cluster-scoped one in `default`. */
export function eventCauses(event: StoredObject): readonly FieldCause[] {
  const involved = textAt(event, 'involvedObject', 'namespace');
  const { namespace = '' } = event.metadata;
  if (involved === namespace || (involved === '' && namespace === 'default')) return [];
  return [invalidValue('involvedObject.namespace', involved, 'does not match event.namespace')];
}

export function leaseCauses(lease: StoredObject): readonly FieldCause[] {
  const causes: FieldCause[] = [];
  const duration = at(lease, 'spec', 'leaseDurationSeconds');
  const transitions = at(lease, 'spec', 'leaseTransitions');
  if (typeof duration === 'number' && duration <= 0) {
    causes.push(invalidValue('spec.leaseDurationSeconds', duration, 'must be greater than 0'));
  }
  if (typeof transitions === 'number' && transitions < 0) {
    causes.push(invalidValue('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  }
  return causes;
}
