// SPDX-License-Identifier: Apache-2.0
import { runSmall } from '@csi-sidecars/sidecar';
import { webhookProgram } from './flags.ts';
import { runWebhookProgram } from './program.ts';

void runSmall(webhookProgram.name, runWebhookProgram);
