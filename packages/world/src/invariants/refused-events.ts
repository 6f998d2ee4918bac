// SPDX-License-Identifier: Apache-2.0
/** Events that the API server refuses: their senders log that, and do not repeat them. */
import type { Event } from '@csi-sidecars/runtime';
import type { Fault, FaultTarget } from '@csi-sidecars/runtime/testing';

export function isRefusedEvent({ verb, resource }: FaultTarget, fault: Fault | undefined): boolean {
  const isRefused = fault?.kind === 'status' && fault.point === 'before' && (fault.code === 403 || fault.code === 409);
  return verb === 'create' && resource === 'events' && isRefused;
}

/** The UID of the object that a new event is about. */
export function aboutOf({ request }: FaultTarget): string {
  const { involvedObject } = JSON.parse(Buffer.from(request.body ?? []).toString()) as Event;
  return involvedObject.uid ?? '';
}
