// SPDX-License-Identifier: Apache-2.0
/** Where downloads and builds are kept between runs: outside of the repository, for all checkouts of it. */
import { homedir } from 'node:os';
import { join } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

export function cacheFolder(env: Environment): string {
  const own = env['CSI_SIDECARS_CACHE'];
  if (own !== undefined && own !== '') return own;
  const xdg = env['XDG_CACHE_HOME'];
  return join(xdg !== undefined && xdg !== '' ? xdg : join(homedir(), '.cache'), 'csi-sidecars');
}
