// SPDX-License-Identifier: Apache-2.0
/** `--via`: the addresses at which port-forwards of a person end. Only those of this machine are asked. */
import { isLoopbackHost } from '@csi-sidecars/runtime/internal';

export type Endpoints =
  | { readonly kind: 'endpoints'; readonly urls: readonly URL[] }
  | { readonly kind: 'mistake'; readonly message: string };

const most = 8;

/** URLs, separated by commas; none for an empty text. A controller pod has an endpoint for each of its sidecars. */
export function parseEndpoints(via: string): Endpoints {
  const texts = via.split(',').filter((text) => text !== '');
  if (texts.length > most) return { kind: 'mistake', message: `--via takes ${most} addresses at most` };
  const urls: URL[] = [];
  for (const text of texts) {
    const url = endpointOf(text);
    if (url === undefined)
      return { kind: 'mistake', message: '--via must be URLs of this machine, as in http://127.0.0.1:8080' };
    urls.push(url);
  }
  return { kind: 'endpoints', urls };
}

function endpointOf(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'http:' || url.username !== '' || url.password !== '') return undefined;
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || !isLoopbackHost(url.hostname)) return undefined;
  // The name may lead elsewhere.
  if (url.hostname === 'localhost') url.hostname = '127.0.0.1';
  return url;
}
