// SPDX-License-Identifier: Apache-2.0
/** Where images are pushed to, as a person names it: `ghcr.io/owner`, `localhost:5000`. */

export interface Target {
  /** In front of the names of images. */
  readonly name: string;
  /** For credentials: host and port. */
  readonly host: string;
  /** In front of the names of repositories: empty, or with a slash at its end. */
  readonly path: string;
  /** Where its API is, without a slash at the end. */
  readonly url: string;
}

export const dockerHub = 'docker.io';

const hostPattern = /^(?:localhost|[a-z0-9-]+(?:\.[a-z0-9-]+)+|\[[0-9a-f:]+\]|[a-z0-9.-]+(?=:))(?::\d+)?$/;
/** A part of a repository's name, in the words of the distribution specification. */
const partPattern = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const localPattern = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/;

/** `insecure`: no TLS. A registry on this machine is used without it anyway, as docker does. */
export function parseTarget(text: string, { insecure }: { readonly insecure: boolean }): Target {
  const refuse = (why: string): never => {
    throw new Error(`--push=${text}: ${why}, for example --push=ghcr.io/owner or --push=localhost:5000`);
  };
  if (text.includes('://')) refuse('give the registry without a scheme');
  if (text !== text.toLowerCase()) refuse('names in registries have small letters only');
  const [host = '', ...parts] = text.replace(/\/$/, '').split('/');
  if (!hostPattern.test(host)) refuse(`"${host}" is no host: begin with the address of the registry`);
  const wrong = parts.find((part) => !partPattern.test(part));
  if (wrong !== undefined) refuse(`"${wrong}" is no part of a repository's name; tags are not given here`);
  const address = host === dockerHub ? 'registry-1.docker.io' : host;
  return {
    name: [host, ...parts].join('/'),
    host,
    path: parts.map((part) => `${part}/`).join(''),
    url: `${insecure || localPattern.test(host) ? 'http' : 'https'}://${address}`,
  };
}
