// SPDX-License-Identifier: Apache-2.0
/** The suite of the charts: real helm, one real control plane for all files. `npm run charts-on-local`. */
import { join } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  root: join(import.meta.dirname, '..', '..', '..'),
  test: {
    include: ['e2e/src/charts/*.test.ts'],
    globalSetup: [join(import.meta.dirname, 'start-cluster.ts')],
    // The files share cluster-wide objects.
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
});
export default config;
