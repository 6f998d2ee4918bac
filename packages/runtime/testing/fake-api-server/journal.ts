// SPDX-License-Identifier: Apache-2.0
/** The record of all requests, as an audit log would have it. */
import type { Route } from './route.ts';
import type { TransportRequest } from '../../src/api/transport.ts';

/** One answered request. */
export interface RequestRecord {
  readonly verb: Route['verb'];
  readonly group: string;
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** With the query. */
  readonly path: string;
  readonly contentType: string | undefined;
  readonly accept: string | undefined;
  readonly userAgent: string;
  readonly user: string;
  /** As sent; undefined when there was none or it was no JSON. */
  readonly body: unknown;
  readonly code: number;
}

export interface Journal {
  readonly requests: readonly RequestRecord[];
  readonly record: (
    route: Route,
    request: TransportRequest,
    facts: Pick<RequestRecord, 'body' | 'code' | 'user'>,
  ) => void;
  readonly clear: () => void;
}

export function createJournal(limit: number): Journal {
  const requests: RequestRecord[] = [];
  return {
    requests,
    record(route, request, facts) {
      const { verb, group, resource, subresource, namespace, name } = route;
      const { 'content-type': contentType, 'user-agent': userAgent = '', accept } = request.headers;
      const place = { verb, group, resource, subresource, namespace, name };
      requests.push({ ...place, path: request.path, contentType, accept, userAgent, ...facts });
      if (requests.length > limit) requests.splice(0, Math.ceil(limit / 2));
    },
    clear: () => void requests.splice(0),
  };
}
