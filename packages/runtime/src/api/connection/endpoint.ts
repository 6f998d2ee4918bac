// SPDX-License-Identifier: Apache-2.0
/** Where the API server is. */
export interface Endpoint {
  readonly scheme: 'https' | 'http';
  /** Name or address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** Put in front of every path, without a slash at its end. Empty but for servers behind a path of a gateway. */
  readonly basePath: string;
}

/** A server as a kubeconfig or `--master` names it: a URL, or host and port alone. */
export function parseEndpoint(server: string, schemeIfNone: 'https' | 'http'): Endpoint {
  const url = parseUrl(server) ?? parseUrl(`${schemeIfNone}://${server}`);
  if (url === undefined) throw new Error(`host must be a URL or a host:port pair: ${JSON.stringify(server)}`);
  return endpointOf(url);
}

/** Where a URL of http or https leads. */
export function endpointOf(url: URL): Endpoint {
  const scheme = url.protocol === 'https:' ? 'https' : 'http';
  return {
    scheme,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (scheme === 'https' ? 443 : 80) : Number(url.port),
    basePath: url.pathname.replace(/\/+$/, ''),
  };
}

/** Host and port as in a URL or a Host header. */
export function authorityOf({ scheme, host, port }: Endpoint): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return port === (scheme === 'https' ? 443 : 80) ? name : `${name}:${port}`;
}

function parseUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  return url !== null && ['http:', 'https:'].includes(url.protocol) ? url : undefined;
}
