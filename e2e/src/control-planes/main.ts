// SPDX-License-Identifier: Apache-2.0
/** `npm run control-plane`: starts control plane `local` for people, says how to reach it, stops it on Ctrl-C. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@csi-sidecars/runtime';
import { Interrupted, onInterrupt } from '../interruption.ts';
import { startLocal } from './local/start-local.ts';

const weekMs = 7 * 24 * 3_600_000;

const clock = systemClock();
const interrupted = onInterrupt();
const folder = mkdtempSync(join(tmpdir(), 'csi-sidecars-local-'));
const startedMs = clock.monotonicMs();
await using controlPlane = await startLocal({ clock, folder });
const seconds = ((clock.monotonicMs() - startedMs) / 1000).toFixed(1);
process.stdout.write(`control plane ready in ${seconds} s; logs in ${folder}\n`);
process.stdout.write(`export KUBECONFIG=${controlPlane.adminKubeconfig}\n`);
try {
  await clock.sleep(weekMs, interrupted);
} catch (error) {
  if (!(error instanceof Interrupted)) throw error;
}
