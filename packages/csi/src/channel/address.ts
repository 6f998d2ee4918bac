// SPDX-License-Identifier: Apache-2.0
/**
 * Forms of `--csi-address`. As upstream, the loss of a driver can be detected only behind an absolute path and `unix://`:
 * a program that must not outlive its driver refuses the other forms.
 */
export type CsiAddress =
  | { readonly kind: 'unix'; readonly text: string; readonly path: string; readonly lossIsVisible: boolean }
  | {
      readonly kind: 'tcp';
      readonly text: string;
      readonly host: string;
      readonly port: number;
      readonly lossIsVisible: false;
    };

const defaultPort = 443;
const largestPort = 65_535;

/** Throws for an address that can never work. */
export function parseAddress(text: string): CsiAddress {
  if (text.startsWith('/')) return { kind: 'unix', text, path: text, lossIsVisible: true };
  if (text.startsWith('unix://')) {
    const path = text.slice('unix://'.length);
    const authority = path.split('/', 1)[0] ?? '';
    // `unix://C:\csi\csi.sock` is not a URL; everything after the slashes is the path.
    if (authority !== '' && !authority.includes('\\')) throw new Error(`invalid (non-empty) authority: ${authority}`);
    return unixAddress(text, path, true);
  }
  if (text.startsWith('unix:')) return unixAddress(text, text.slice('unix:'.length), false);
  // A relative path is taken for a host name, which is never found.
  const endpoint = text.replace(/^(?:dns|passthrough):(?:\/\/[^/]*\/)?/, '');
  const [, host = endpoint, port = ''] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(endpoint) ?? [];
  if (Number(port) > largestPort) throw new Error(`invalid address ${JSON.stringify(text)}: no port ${port}`);
  return { kind: 'tcp', text, host, port: port === '' ? defaultPort : Number(port), lossIsVisible: false };
}

function unixAddress(text: string, path: string, lossIsVisible: boolean): CsiAddress {
  if (path === '') throw new Error(`invalid address ${JSON.stringify(text)}: no path of a socket`);
  return { kind: 'unix', text, path, lossIsVisible };
}

/** The target in the form that grpc-js resolves. */
export function targetOf(address: CsiAddress): string {
  if (address.kind === 'unix') {
    return address.path.startsWith('/') ? `unix://${address.path}` : `unix:${address.path}`;
  }
  return `dns:${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
}
