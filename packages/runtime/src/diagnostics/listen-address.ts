// SPDX-License-Identifier: Apache-2.0
/** Go's forms of a listen address, and the options with which Node.js listens on the same sockets. */
import { isIP } from 'node:net';

export interface ListenAddress {
  /** Empty: all addresses of both families. */
  readonly host: string;
  readonly port: number;
}

/** The services that Go knows without a file, for TCP. */
const services: ReadonlyMap<string, number> = new Map(
  Object.entries({
    domain: 53,
    ftp: 21,
    ftps: 990,
    gopher: 70,
    http: 80,
    https: 443,
    imap2: 143,
    imap3: 220,
    imaps: 993,
    pop3: 110,
    pop3s: 995,
    smtp: 25,
    ssh: 22,
    submission: 587,
    telnet: 23,
  }),
);

/** `:8080`, `0.0.0.0:8080`, `[::]:8080`, `localhost:8080`, `host:0`, `:http`. Throws for anything else. */
export function parseListenAddress(address: string): ListenAddress {
  const match = /^(?:\[(?<bracketed>[^\]]*)\]|(?<plain>[^:[\]]*)):(?<port>\d+|[A-Za-z][\w-]*)$/.exec(address);
  const { bracketed, plain = '', port = '' } = match?.groups ?? {};
  const number = services.get(port.toLowerCase()) ?? Number(port);
  if (match === null || !(number <= 65_535)) throw new Error(`listen tcp: address ${address}: expected host:port`);
  return { host: bracketed ?? plain, port: number };
}

/**
 * The options for `server.listen`. Names resolve to IPv4 first, as in Go: `localhost` is 127.0.0.1, where a probe expects
 * it, while Node.js may listen on ::1 alone.
 */
export async function toListenOptions({
  host,
  port,
}: ListenAddress): Promise<{ readonly host?: string; readonly port: number }> {
  if (host === '') return { port };
  if (host === 'localhost') return { host: '127.0.0.1', port };
  if (isIP(host) !== 0) return { host, port };
  const { lookup } = await import('node:dns/promises');
  return { host: (await lookup(host, { order: 'ipv4first' })).address, port };
}
