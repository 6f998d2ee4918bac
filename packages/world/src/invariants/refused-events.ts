// SPDX-License-Identifier: Apache-2.0
/** Events that the API server refuses: their senders log that, and do not repeat them. */
import { type Event, persistentVolumeClaims } from '@csi-sidecars/runtime';
import type { Fault, FaultTarget, ObjectAccess } from '@csi-sidecars/runtime/testing';

export function isRefusedEvent({ verb, resource }: FaultTarget, fault: Fault | undefined): boolean {
  const isRefused = fault?.kind === 'status' && fault.point === 'before' && (fault.code === 403 || fault.code === 409);
  return (verb === 'create' || verb === 'patch') && resource === 'events' && isRefused;
}

/** The UID of the object that the event is about. A patch does not name it: the event is named after its claim. */
export function aboutOf({ request, namespace, name = '' }: FaultTarget, objects: ObjectAccess): string {
  const { involvedObject } = JSON.parse(Buffer.from(request.body ?? []).toString()) as Partial<Event>;
  const claim = objects.get(persistentVolumeClaims, { namespace, name: name.slice(0, name.lastIndexOf('.')) });
  return involvedObject?.uid ?? claim?.metadata?.uid ?? '';
}
