// SPDX-License-Identifier: Apache-2.0
/** The endpoints that `--via` and `--via-pod` lead to. */
import { forScreen } from '../command/printable.ts';
import type { AskPod } from '../port-forward/pod-port.ts';
import type { ViaPorts } from './ask.ts';
import type { AskPorts, Endpoint } from './endpoint.ts';
import { parseEndpoints } from './endpoints.ts';
import { type AskHttp, askHttp } from './http.ts';
import { leaderPortOf, podEndpoint } from './via-pod.ts';

export interface ViaValues {
  readonly via: string;
  readonly 'via-pod': boolean;
}

export interface ViaAsking {
  /** Default: by HTTP. */
  readonly ask?: AskHttp | undefined;
  readonly askPod: AskPod;
}

/** Undefined: no leader is asked. Assumes a command line that is not refused. */
export function viaOf(ports: AskPorts, values: ViaValues, { ask = askHttp, askPod }: ViaAsking): ViaPorts | undefined {
  if (values['via-pod']) {
    const endpoints: ViaPorts['endpoints'] = async (reader, question) => {
      const found = await leaderPortOf(reader, question);
      if (found.kind === 'found') return [podEndpoint(askPod, found)];
      // The holder of a Lease is a text of the cluster.
      ports.note(forScreen(`--via-pod: ${found.because}`));
      return [];
    };
    return { ...ports, flag: '--via-pod', endpoints };
  }
  const parsed = parseEndpoints(values.via);
  if (parsed.kind === 'mistake' || parsed.urls.length === 0) return undefined;
  const known = parsed.urls.map((url) => urlEndpoint(ask, url));
  return { ...ports, flag: '--via', endpoints: async () => known };
}

/** Each line is written once, however often the leaders are asked. */
export function once(write: (line: string) => void): (line: string) => void {
  const written = new Set<string>();
  return (line) => {
    if (!written.has(line)) write(line);
    written.add(line);
  };
}

function urlEndpoint(ask: AskHttp, url: URL): Endpoint {
  return {
    name: `--via=${url.origin}`,
    get: (path, asking) => ask(new URL(path, url), asking),
    metricsPath: '/metrics',
  };
}
