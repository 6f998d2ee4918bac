// SPDX-License-Identifier: Apache-2.0
import { runSmall } from '@csi-sidecars/sidecar';
import { livenessprobeProgram } from './flags.ts';
import { runLivenessprobeProgram } from './program.ts';

void runSmall(livenessprobeProgram.name, runLivenessprobeProgram);
