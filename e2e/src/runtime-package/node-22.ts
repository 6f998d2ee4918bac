// SPDX-License-Identifier: Apache-2.0
/** The oldest Node.js that the package supports, from npm, kept between runs. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheFolder } from '../../../scripts/cache-folder.ts';
import { npm } from './install.ts';

/** The path of the program. An interrupted download leaves nothing that looks finished. */
export function node22(): string {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(cacheFolder(process.env), 'node-22');
  const path = join(folder, 'node_modules', name, 'bin', 'node');
  if (existsSync(path)) return path;
  const draft = `${folder}.${process.pid}.tmp`;
  try {
    mkdirSync(draft, { recursive: true });
    npm(['install', '--prefix', draft, `${name}@22`], dirname(draft));
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return path;
}
