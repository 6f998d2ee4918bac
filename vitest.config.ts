import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['packages/**/*.test.ts', 'e2e/src/**/*.test.ts', 'scripts/**/*.test.ts', '*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    testTimeout: 10_000,
    pool: 'threads',
  },
});
export default config;
