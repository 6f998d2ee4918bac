// SPDX-License-Identifier: Apache-2.0
/** Which proxy leads to the API server: HTTPS_PROXY, HTTP_PROXY and NO_PROXY as Go reads them, CIDR blocks included. */
import { BlockList, isIP } from 'node:net';
import type { Endpoint } from './endpoint.ts';
import { isLoopbackAddress } from './loopback.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The proxy that the environment asks for; undefined for a direct connection. */
export function proxyFromEnvironment(endpoint: Endpoint, env: Environment): URL | undefined {
  const name = endpoint.scheme === 'https' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const proxy = either(env, name);
  if (proxy === '' || isLocal(endpoint.host) || isExcluded(endpoint, either(env, 'NO_PROXY'))) return undefined;
  return parseProxyUrl(proxy);
}

/** A URL, or host and port alone, which mean http. */
export function parseProxyUrl(text: string): URL {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  // The text may hold a password, so errors do not quote it.
  if (url === null) throw new Error('invalid proxy address');
  const type = url.protocol.slice(0, -1);
  if (!['http', 'https'].includes(type)) throw new Error(`proxies of type ${type} are not supported`);
  return url;
}

function either(env: Environment, name: string): string {
  const upper = env[name] ?? '';
  return upper === '' ? (env[name.toLowerCase()] ?? '') : upper;
}

function isLocal(host: string): boolean {
  return host === 'localhost' || isLoopbackAddress(host);
}

function isExcluded({ host, port }: Endpoint, noProxy: string): boolean {
  const name = host.replace(/\.$/, '');
  return noProxy
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => matches(entry, name, port));
}

/** One entry: `*`, a CIDR block, an address, a domain (with its subdomains) or `.domain` (those only); may end in a port. */
function matches(entry: string, host: string, port: number): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return isInBlock(entry, host);
  const parts = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(entry);
  if (parts?.[2] !== undefined && Number(parts[2]) !== port) return false;
  const pattern = (parts?.[1] ?? entry).replace(/^\[|\]$/g, '').replace(/^\*\./, '.');
  if (isIP(pattern) !== 0) return sameAddress(pattern, host);
  return pattern.startsWith('.') ? host.endsWith(pattern) : host === pattern || host.endsWith(`.${pattern}`);
}

function isInBlock(block: string, host: string): boolean {
  const [network = '', bits = ''] = block.split('/');
  const family = isIP(network);
  if (family === 0 || isIP(host) !== family || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128)) {
    return false;
  }
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  return list.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

function sameAddress(one: string, other: string): boolean {
  return isInBlock(`${one}/${isIP(one) === 4 ? 32 : 128}`, other);
}
