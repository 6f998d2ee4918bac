// SPDX-License-Identifier: Apache-2.0
/**
 * Where a tool is, or would be once built. An explicit `TEST_ASSET_*` wins, then `KUBEBUILDER_ASSETS`, then the cache
 * outside the repository, whose folder names carry a hash of everything that decides the program's content.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, type Environment } from '../../../scripts/cache-folder.ts';
import { moduleFolder, versionOf, type Family, type Tool } from './catalogue.ts';

export type { Environment };

export type Location =
  | { readonly kind: 'given'; readonly path: string; readonly variable: string }
  | { readonly kind: 'cached'; readonly path: string };

export function locate(tool: Tool, env: Environment): Location {
  const variable = `TEST_ASSET_${tool.name.toUpperCase().replaceAll(/[-.]/g, '_')}`;
  const explicit = env[variable];
  if (explicit !== undefined && explicit !== '') {
    if (!existsSync(explicit)) throw new Error(`${variable} names ${explicit}, which does not exist`);
    return { kind: 'given', path: explicit, variable };
  }
  const assets = env['KUBEBUILDER_ASSETS'];
  if (tool.inKubebuilderAssets && assets !== undefined && assets !== '') {
    const path = join(assets, tool.name);
    if (existsSync(path)) return { kind: 'given', path, variable: 'KUBEBUILDER_ASSETS' };
  }
  return {
    kind: 'cached',
    path: join(cacheFolder(env), 'tools', `${tool.family.name}-${cacheKey(tool.family)}`, tool.name),
  };
}

/** Flags of `go build` besides the output. Part of the cache key. */
export function buildFlags(family: Family): readonly string[] {
  const tags = family.tags === undefined ? [] : ['-tags', family.tags.join(',')];
  return ['-trimpath', ...tags, '-ldflags', family.ldflags(versionOf(family))];
}

function cacheKey(family: Family): string {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum', ...(family.sources ?? [])])
    hash.update(readFileSync(join(moduleFolder(family), file)));
  hash.update(JSON.stringify([buildFlags(family), process.platform, process.arch]));
  return hash.digest('hex').slice(0, 16);
}
