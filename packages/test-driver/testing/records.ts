// SPDX-License-Identifier: Apache-2.0
/** The requests to API server and driver as one line each, short enough to compare whole lists. */
import type { KubeObject } from '@csi-sidecars/runtime';
import type { FakeApiServer } from '@csi-sidecars/runtime/testing';
import type { DriverModel, Outcome } from '../src/index.ts';

/** `patch persistentvolumeclaims/status team/data 200` */
export function writesOf(server: FakeApiServer): string[] {
  return server.writes().map(({ verb, resource, subresource, namespace, name, body, code }) => {
    const what = subresource === undefined ? resource : `${resource}/${subresource}`;
    const named = name ?? (body as KubeObject | undefined)?.metadata?.name ?? '';
    return [verb, what, namespace === undefined ? named : `${namespace}/${named}`, code].join(' ');
  });
}

/** `ControllerPublishVolume volume-1 id-of-node1 OK` */
export function callsOf({ calls }: DriverModel): string[] {
  return calls.map(({ method, request, outcome }) => {
    const { name, volume_id: volumeId, node_id: nodeId } = request as Readonly<Record<string, string>>;
    return [method.split('/').at(-1), name ?? volumeId, nodeId, said(outcome)]
      .filter((part) => part !== undefined && part !== '')
      .join(' ');
  });
}

export function requestsOf({ calls }: DriverModel, method: string): Readonly<Record<string, unknown>>[] {
  return calls
    .filter((call) => call.method.endsWith(`/${method}`))
    .map(({ request }) => request as Readonly<Record<string, unknown>>);
}

function said(outcome: Outcome | undefined): string {
  if (outcome?.kind === 'answered') return 'OK';
  return outcome?.kind === 'refused' ? outcome.code : 'no answer';
}
