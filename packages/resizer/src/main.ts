// SPDX-License-Identifier: Apache-2.0
import { runMain } from '@csi-sidecars/sidecar';
import { resizerProgram } from './flags.ts';
import { runResizer } from './program.ts';

void runMain(resizerProgram.name, runResizer);
