// SPDX-License-Identifier: Apache-2.0
import { runMain } from '@csi-sidecars/sidecar';
import { healthMonitorProgram } from './flags.ts';
import { runHealthMonitor } from './program.ts';

void runMain(healthMonitorProgram.name, runHealthMonitor, { lateCompilers: ['maglev', 'turbofan'] });
