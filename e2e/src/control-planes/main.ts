// SPDX-License-Identifier: Apache-2.0
/** `npm run control-plane`: starts control plane `local` for people, says how to reach it, stops it on Ctrl-C. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@csi-sidecars/runtime';
import { startLocal } from './local/start-local.ts';

const clock = systemClock();
const interrupted = Promise.withResolvers<NodeJS.Signals>();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupted.resolve);

const folder = mkdtempSync(join(tmpdir(), 'csi-sidecars-local-'));
const startedMs = clock.monotonicMs();
await using controlPlane = await startLocal({ clock, folder });
const seconds = ((clock.monotonicMs() - startedMs) / 1000).toFixed(1);
process.stdout.write(`control plane ready in ${seconds} s; logs in ${folder}\n`);
process.stdout.write(`export KUBECONFIG=${controlPlane.adminKubeconfig}\n`);
// A signal handler alone does not keep the process alive.
await Promise.race([interrupted.promise, keepAlive()]);

async function keepAlive(): Promise<never> {
  for (;;) await clock.sleep(60_000);
}
