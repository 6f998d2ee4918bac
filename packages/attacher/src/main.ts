// SPDX-License-Identifier: Apache-2.0
import { runMain } from '@csi-sidecars/sidecar';
import { attacherProgram } from './flags.ts';
import { runAttacher } from './program.ts';

void runMain(attacherProgram.name, runAttacher);
