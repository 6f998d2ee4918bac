// SPDX-License-Identifier: Apache-2.0
import { runMain } from '@csi-sidecars/sidecar';
import { snapshotControllerProgram } from './flags.ts';
import { runSnapshotController } from './program.ts';

void runMain(snapshotControllerProgram.name, runSnapshotController);
