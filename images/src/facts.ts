// SPDX-License-Identifier: Apache-2.0
/** What a build says about itself, from the environment or from the commit, so that the same commit gives the same images. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../scripts/cache-folder.ts';
import { repositoryRoot } from './repository.ts';

export interface BuildFacts {
  /** Ours, without a leading v. */
  readonly version: string;
  /** ISO 8601, in seconds. */
  readonly created: string;
  /** The commit. */
  readonly revision: string;
  /** Where the sources are published; absent where that is not known. */
  readonly source?: string;
}

/** Ours, without a leading v. */
export function ownVersion(): string {
  return (JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as { version: string }).version;
}

export function factsOf(env: Environment): BuildFacts {
  const seconds = Number(env['SOURCE_DATE_EPOCH'] ?? git('log', '-1', '--format=%ct'));
  if (!Number.isSafeInteger(seconds)) throw new Error('SOURCE_DATE_EPOCH must be a number of seconds');
  const source = env['SOURCE_URL'];
  return {
    version: ownVersion(),
    created: new Date(seconds * 1000).toISOString().replace('.000Z', 'Z'),
    revision: env['SOURCE_REVISION'] ?? git('rev-parse', 'HEAD'),
    ...(source !== undefined && source !== '' && { source }),
  };
}

function git(...args: readonly string[]): string {
  try {
    return execFileSync('git', args, {
      cwd: repositoryRoot,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch (cause) {
    throw new Error('this is no git work tree: set SOURCE_DATE_EPOCH and SOURCE_REVISION', { cause });
  }
}
