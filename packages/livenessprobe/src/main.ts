// SPDX-License-Identifier: Apache-2.0
import { runPlainProgram } from '@csi-sidecars/sidecar';
import { livenessprobeProgram } from './flags.ts';
import { runLivenessprobeProgram } from './program.ts';

void runPlainProgram(livenessprobeProgram.name, runLivenessprobeProgram);
