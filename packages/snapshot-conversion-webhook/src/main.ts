// SPDX-License-Identifier: Apache-2.0
import { systemClock } from '@csi-sidecars/runtime';
import { keepHeapSmall, nodeHeap } from '@csi-sidecars/runtime/internal';
import { runPlainProgram } from '@csi-sidecars/sidecar';
import { webhookProgram } from './flags.ts';
import { runWebhookProgram } from './program.ts';

void run();

/** It needs no cluster, as the programs of the nodes, and works as hard as a controller when a whole list is converted. */
async function run(): Promise<void> {
  using _ = keepHeapSmall({ heap: nodeHeap(), clock: systemClock() });
  await runPlainProgram(webhookProgram.name, runWebhookProgram);
}
