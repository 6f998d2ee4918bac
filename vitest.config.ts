import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  test: {
    include: [
      'packages/**/*.test.ts',
      'e2e/src/**/*.test.ts',
      'images/src/**/*.test.ts',
      'scripts/**/*.test.ts',
      'charts/**/*.test.ts',
      '*.test.ts',
    ],
    // A suite of its own, with helm and an API server.
    exclude: ['**/node_modules/**', '**/dist/**', 'e2e/src/charts/**'],
    // Generous: tests that start processes share two cores with an API server and its scenarios in a whole run.
    testTimeout: 30_000,
    // As patient as `until`: one second, the default, is a long break of a busy machine.
    expect: { poll: { timeout: 20_000 } },
    // A title is understood alone: values in it are not cut.
    taskTitleValueFormatTruncate: 0,
    // Processes, not threads: a thread that has held many HTTP/2 sessions may never end, and the run with it. Files share them, because
    // starting one for each file costs more than half of the time of a run.
    pool: 'forks',
    isolate: false,
  },
});
export default config;
