// SPDX-License-Identifier: Apache-2.0
/** vitest of the mutation run: switches are put into the source files on their way to the worker, never on disk. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { ThreadsPoolWorker } from 'vitest/node';
import { instrument } from './instrument.ts';
import { findMutants } from './mutants.ts';
import type { Session } from './session-types.ts';

const session = JSON.parse(readFileSync(process.env['MUTATION_SESSION']!, 'utf8')) as Session;
const files = new Map(session.files.map((file) => [join(session.root, file.path), file]));

const config: ViteUserConfig = defineConfig({
  root: session.root,
  plugins: [
    {
      name: 'mutants',
      enforce: 'pre',
      transform: (source, id) => {
        const file = files.get(id.split('?')[0]!);
        if (file === undefined) return undefined;
        return { code: instrument(source, findMutants(file.path, source), file.firstId), map: null };
      },
    },
  ],
  test: {
    // The worker chooses the files; vitest is given one so that it starts a worker.
    include: ['packages/volume/src/quantity.test.ts'],
    watch: false,
    isolate: false,
    fsModuleCache: true,
    fsModuleCachePath: session.modulesFolder,
    maxWorkers: 1,
    bail: session.task.kind === 'baseline' ? 0 : 1,
    testTimeout: session.testTimeoutMs,
    hookTimeout: session.testTimeoutMs,
    setupFiles: [join(import.meta.dirname, 'setup.ts')],
    pool: {
      name: 'mutation',
      createPoolWorker: (options) => {
        const worker = new ThreadsPoolWorker(options);
        return Object.assign(worker, { name: 'mutation', entrypoint: join(import.meta.dirname, 'worker.ts') });
      },
    },
  },
});
export default config;
