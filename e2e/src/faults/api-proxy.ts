// SPDX-License-Identifier: Apache-2.0
/**
 * Faults between one program and the API server: a proxy on loopback in front of a control plane. A program
 * behind it can be cut off alone, and chosen requests can fail, hang or come late; the program's own credentials are passed on.
 */
import type { Clock, Transport } from '@csi-sidecars/runtime';
import { script, serveOverHttp, withFaults, type FaultRule } from '@csi-sidecars/runtime/testing';
import type { ControlPlane } from '../control-planes/control-plane.ts';
import { directTransport } from '../suite-client/direct-transport.ts';
import { openFront } from './front.ts';

export interface ApiProxy extends AsyncDisposable {
  readonly url: string;
  /** The first rule that matches a request and is not used up applies. */
  addRule(rule: FaultRule): void;
  /** Connections are refused and open watches break, until `heal`. */
  cut(): Promise<void>;
  heal(): Promise<void>;
  /** Every request that came in, oldest first. */
  readonly requests: readonly ProxiedRequest[];
}

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly contentType: string | undefined;
  readonly atMs: number;
}

export interface ApiProxyOptions {
  /** Read again by each `heal`. Default: the control plane's. */
  readonly certificate?: ControlPlane['serverPair'];
  /** How far the time in its answers (`Date`) is ahead of the control plane's. Default: 0. */
  readonly aheadMs?: number;
}

export async function startApiProxy(
  controlPlane: ControlPlane,
  clock: Clock,
  { certificate = controlPlane.serverPair, aheadMs = 0 }: ApiProxyOptions = {},
): Promise<ApiProxy> {
  const { server, caFile } = controlPlane;
  const direct = directTransport({ server, caFile });
  const rules: FaultRule[] = [];
  const requests: ProxiedRequest[] = [];
  const faulty = withFaults(direct.transport, { clock, decide: script(rules) });
  const transport: Transport = async (request) => {
    const { method, path, headers } = request;
    requests.push({ method, path, contentType: headers['content-type'], atMs: clock.monotonicMs() });
    const answer = await faulty({ ...request, headers: withoutHopHeaders(headers) });
    return aheadMs === 0 ? answer : { ...answer, headers: later(answer.headers, aheadMs) };
  };
  const endpoint = await serveOverHttp(transport, { port: 0 });
  const front = await openFront({
    innerPort: Number(new URL(endpoint.url).port),
    certificate,
  });
  return {
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${front.port}`,
    requests,
    addRule: (rule) => void rules.push(rule),
    cut: () => front.close(),
    heal: () => front.open(),
    [Symbol.asyncDispose]: async () => {
      await front.close();
      await endpoint.close();
      direct[Symbol.dispose]();
    },
  };
}

/** A client that takes the server's time for the present sees all objects that much older than they are. */
function later(headers: Readonly<Record<string, string>>, ms: number): Readonly<Record<string, string>> {
  const { date } = headers;
  return date === undefined ? headers : { ...headers, date: new Date(Date.parse(date) + ms).toUTCString() };
}

/** They concern one connection, and there are two here. */
function withoutHopHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const {
    host: _host,
    connection: _connection,
    'transfer-encoding': _encoding,
    'content-length': _length,
    ...rest
  } = headers;
  return rest;
}
