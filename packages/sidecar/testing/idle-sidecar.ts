// SPDX-License-Identifier: Apache-2.0
/** A sidecar that does nothing until it is stopped; see node-world.test.ts. */
import { attacherProgram, runMain, runSidecar } from '../src/index.ts';

await runMain('csi-attacher', (deps) =>
  runSidecar(deps, attacherProgram, {
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
