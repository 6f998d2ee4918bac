// SPDX-License-Identifier: Apache-2.0
/** A sidecar that does nothing until it is stopped; see run-main.test.ts. */
import { runMain, runSidecar } from '../src/index.ts';
import { sampleProgram } from './sample-program.ts';

await runMain(sampleProgram.name, (deps) =>
  runSidecar(deps, sampleProgram, {
    driver: (values) => ({ probeTimeoutMs: values.timeout, nameTimeoutMs: 1000 }),
    prepare: async ({ name, log }) => ({
      lockName: name,
      run: (signal) =>
        new Promise((resolve) => {
          log.info(0, 'Working');
          signal.addEventListener('abort', () => resolve(), { once: true });
        }),
    }),
  }),
);
