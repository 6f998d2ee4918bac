// SPDX-License-Identifier: Apache-2.0
/** A sidecar that does nothing until it is stopped; see run-main.test.ts. */
import { runMain, runSidecarProgram } from '../src/index.ts';
import { sampleProgram } from './sample-program.ts';

await runMain(sampleProgram.name, (deps) =>
  runSidecarProgram(deps, {
    program: sampleProgram,
    driver: (values) => ({ probeTimeoutMs: values.timeout, nameTimeoutMs: 1000 }),
    prepare: async ({ name, log }) => ({
      lockName: name,
      assemble: () => ({
        run: (signal) =>
          new Promise((resolve) => {
            log.info(0, 'Working');
            signal.addEventListener('abort', () => resolve(), { once: true });
          }),
      }),
    }),
  }),
);
